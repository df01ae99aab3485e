import json

import pytest

from documents import JSONL, TSV
from regard.errors import DataError
from regard.text.documents.document import Reading, read_document


def upper(name, content, **reading):
    document = read_document(content.encode(), name, Reading(**reading))
    return document.written([text.upper() for text in document.segments]).decode()


def test_each_line_of_a_text_file_is_a_text():
    content = "one\r\n\n  two \u2028 2\n\x0c\nthree"
    assert upper("x.txt", content) == "ONE\r\n\n  TWO \u2028 2\n\x0c\nTHREE"


def test_a_translation_becomes_the_last_column_of_every_row():
    assert upper("x.tsv", "a\tb\r\n \tc\n\nd") == "a\tb\tA\r\n \tc\t\n\nd\tD"
    assert upper("x.tsv", "a\tb\nc\td", column="2") == "a\tb\tB\nc\td\tD"


def test_a_column_with_a_name_is_below_a_row_of_names():
    rows = [line.split("\t") for line in upper("x.tsv", TSV, column="text").split("\r\n")]
    assert rows[0] == ["id", "text", "note", "translation"]
    assert [row[3] for row in rows if len(row) > 3] == ["translation", "HELLO THERE", "", "你好 🙂"]
    without = ["\t".join(row[:3]) for row in rows]
    assert "\r\n".join(without) == TSV


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(DataError, match="x.tsv line 2 has 1 columns, and none with number 2"):
        upper("x.tsv", "a\tb\nc\n", column="2")
    with pytest.raises(DataError, match="x.tsv has no column 'text'; it has 'id', 'words'"):
        upper("x.tsv", "id\twords\n1\ta\n", column="text")


def test_a_translation_with_tabs_and_newlines_stays_in_its_cell():
    document = read_document(b"a\nb", "x.tsv", Reading())
    assert document.written(["x\ty", "p\nq\r\n"]) == b"a\tx y\nb\tp q"


def test_a_json_object_gets_one_more_field_and_nothing_else_changes():
    lines = upper("x.jsonl", JSONL).split("\n")
    assert lines[0] == '{"text": "Hello \\"you\\"", "id": 1, "translation": "HELLO \\"YOU\\""}\r'
    assert lines[1] == '{"source":"caf\\u00e9","translation":"CAF\\u00c9"}'
    assert lines[2:5] == ["", '{ "text" : "" }', '{"text": "a", "translation": "b"}']
    assert json.loads(lines[5]) == {"text": "你好\n🙂", "translation": "你好\n🙂"}


def test_a_field_can_be_named_and_what_is_there_can_be_replaced():
    content = '{"title": "a", "translation": "b", "n": 1.0}'
    assert upper("x.jsonl", content, column="title") == content
    assert upper("x.jsonl", content, column="title", overwrite=True) == content.replace('"b"', '"A"')
