import json

import pytest

from regard.documents.formats import DocumentOptions, read_document
from sample_documents import JSONL


def upper(name, content, **reading):
    document = read_document(content.encode(), name, DocumentOptions(**reading))
    return document.render([text.upper() for text in document.segments]).decode()


def test_each_nonblank_line_of_a_text_file_is_a_segment():
    content = "one\r\n\n  two \u2028 2\n\x0c\nthree"
    assert upper("x.txt", content) == "ONE\r\n\n  TWO \u2028 2\n\x0c\nTHREE"


def test_jsonl_adds_one_field_and_keeps_the_rest():
    lines = upper("x.jsonl", JSONL).split("\n")
    assert lines[0] == '{"text": "Hello \\"you\\"", "id": 1, "translation": "HELLO \\"YOU\\""}\r'
    assert lines[1] == '{"source":"caf\\u00e9","translation":"CAF\\u00c9"}'
    assert lines[2:5] == ["", '{ "text" : "" }', '{"text": "a", "translation": "b"}']
    assert json.loads(lines[5]) == {"text": "你好\n🙂", "translation": "你好\n🙂"}


def test_jsonl_field_can_be_chosen_and_overwritten():
    content = '{"title": "a", "translation": "b", "n": 1.0}'
    assert upper("x.jsonl", content, column="title") == content
    assert upper("x.jsonl", content, column="title", overwrite=True) == content.replace('"b"', '"A"')


@pytest.mark.parametrize("blank", ["null", '""', '" \\n"'])
def test_a_null_or_blank_translation_is_filled_in_place(blank):
    content = '{"translation" :%s , "text": "a", "n": 1e5}'
    assert upper("x.jsonl", content % blank) == content % '"A"'


def test_replacing_a_value_keeps_every_other_byte():
    content = (
        ' { "translation":"x\\u0041\\"}", "n":[1e5, 1E999,{"translation": "y"}],"text" : "a" ,"t":{} } \r\n'
    )
    new = content.replace('"x\\u0041\\"}"', '"A"')
    assert upper("x.jsonl", content, overwrite=True) == new
    same = read_document(content.encode(), "x.jsonl", DocumentOptions(overwrite=True))
    assert same.render(['xA"}']) == content.encode()


def test_the_last_of_repeated_json_fields_counts():
    content = '{"translation": null, "text": "a", "translation": "b"}'
    assert upper("x.jsonl", content) == content
    content = '{"translation": "b", "text": "a", "translation": null}'
    assert upper("x.jsonl", content) == content.replace("null", '"A"')
