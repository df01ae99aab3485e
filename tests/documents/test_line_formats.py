import json

import pytest

from regard.documents.formats import DocumentOptions, read_document
from regard.documents.line_formats import read_tsv
from regard.errors import DataError
from sample_documents import JSONL, TSV


def upper(name, content, **reading):
    document = read_document(content.encode(), name, DocumentOptions(**reading))
    return document.render([text.upper() for text in document.segments]).decode()


def test_each_nonblank_line_of_a_text_file_is_a_segment():
    content = "one\r\n\n  two \u2028 2\n\x0c\nthree"
    assert upper("x.txt", content) == "ONE\r\n\n  TWO \u2028 2\n\x0c\nTHREE"


def test_the_translation_becomes_the_last_column():
    assert upper("x.tsv", "a\tb\r\n \tc\n\nd\t") == "a\tb\tA\r\n \tc\t\n\nd\t\tD"
    assert upper("x.tsv", "a\tb\nc\td", column="2") == "a\tb\tB\nc\td\tD"


def test_a_named_column_needs_a_header_row():
    rows = [line.split("\t") for line in upper("x.tsv", TSV, column="text").split("\r\n")]
    assert rows[0] == ["id", "text", "note", "translation"]
    assert [row[3] for row in rows if len(row) > 3] == ["translation", "HELLO THERE", "", "你好 🙂"]
    without = ["\t".join(row[:3]) for row in rows]
    assert "\r\n".join(without) == TSV


def test_short_rows_are_padded_to_align_translations():
    content = "id\ttext\tnote\n1\tHello.\tx\r\n2\tGood night.\n"
    assert upper("x.tsv", content, column="text") == (
        "id\ttext\tnote\ttranslation\n1\tHello.\tx\tHELLO.\r\n2\tGood night.\t\tGOOD NIGHT.\n"
    )
    assert upper("x.tsv", "a\nb\tc\td\n") == "a\t\t\tA\nb\tc\td\tB\n"
    titles = upper("x.tsv", "text\na\tb\n", column="text")
    assert titles == "text\t\ttranslation\na\tb\tA\n"


def test_an_existing_translation_column_is_filled_in_place():
    content = "translation\ttext\tnote\nun\tone\tx\n \ttwo\r\n\t\ty\n\tthree\tz"
    wanted = "translation\ttext\tnote\nun\tone\tx\nTWO\ttwo\r\n\t\ty\nTHREE\tthree\tz"
    assert upper("x.tsv", content, column="text") == wanted
    assert upper("x.tsv", wanted, column="text") == wanted
    assert read_tsv(wanted, "x.tsv", "text", overwrite=True).render(["1", "2", "3"]) == (
        "translation\ttext\tnote\n1\tone\tx\n2\ttwo\r\n\t\ty\n3\tthree\tz"
    )
    short = "text\tnote\ttranslation\na\nb\tc\n"
    assert upper("x.tsv", short, column="text") == "text\tnote\ttranslation\na\t\tA\nb\tc\tB\n"
    assert upper("x.tsv", "translation\na\n", column="translation") == "translation\ttranslation\na\tA\n"


def test_translating_a_table_twice_is_idempotent():
    once = upper("x.tsv", TSV, column="text")
    assert upper("x.tsv", once, column="text") == once


def test_a_missing_column_is_named_in_the_error():
    with pytest.raises(DataError, match="x.tsv line 2 has 1 columns, and none with number 2"):
        upper("x.tsv", "a\tb\nc\n", column="2")
    with pytest.raises(DataError, match="x.tsv has no column 'text'; it has 'id', 'words'"):
        upper("x.tsv", "id\twords\n1\ta\n", column="text")


def test_tabs_and_newlines_in_a_translation_become_spaces():
    document = read_document(b"a\nb", "x.tsv", DocumentOptions())
    assert document.render(["x\ty", "p\nq\r\n"]) == b"a\tx y\nb\tp q"


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
