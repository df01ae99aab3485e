import gzip
import json

import pytest

from regard.errors import DataError
from regard.text.corpus_files import HEADER_ROW, MALFORMED_ROW, LabelledFiles


def rows(path, content):
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return list(LabelledFiles(path).read_rows())


@pytest.mark.parametrize("name", ["x.tsv", "x.TSV.gz"])
def test_the_label_comes_first_in_a_tsv(tmp_path, name):
    content = b"good\tI like it\r\nbad\nbad\ta\ttab\n\t\n0\t1"
    expected = [(b"I like it", b"good"), MALFORMED_ROW, MALFORMED_ROW, (b"", b""), (b"1", b"0")]
    assert rows(tmp_path / name, content) == expected


@pytest.mark.parametrize("header", [b"text\tlabel", b"Sentence\tLabel", b"\xef\xbb\xbfsentence\tlabel\r"])
def test_a_header_can_say_that_the_label_comes_last(tmp_path, header):
    found = rows(tmp_path / "x.tsv", header + b"\nI like it\tgood\nno tab\n")
    assert found == [HEADER_ROW, (b"I like it", b"good"), MALFORMED_ROW]


@pytest.mark.parametrize("header", [b"label\ttext", b"LABEL\tsentence"])
def test_a_header_can_say_what_is_so_anyway(tmp_path, header):
    assert rows(tmp_path / "x.tsv", header + b"\ngood\tI like it") == [HEADER_ROW, (b"I like it", b"good")]


def test_only_the_first_line_can_be_a_header(tmp_path):
    assert rows(tmp_path / "x.tsv", b"a\tb\ntext\tlabel\n") == [(b"b", b"a"), (b"label", b"text")]


def test_an_empty_file_has_no_rows(tmp_path):
    assert rows(tmp_path / "x.tsv", b"") == []


def test_a_json_line_has_a_text_and_a_label_of_any_plain_kind(tmp_path):
    lines = [
        {"text": "a\u2028", "label": "é", "id": 3},
        {"text": "a", "label": 3},
        {"text": "a", "label": True},
        {"text": "a", "label": 0.5},
        {"text": "a", "label": None},
        {"text": 1, "label": "a"},
        {"text": "a"},
        ["a", "b"],
    ]
    content = "".join(json.dumps(line) + "\n" for line in lines).encode() + b"{\n\xff\n"
    found = rows(tmp_path / "x.jsonl", content)
    assert found[:3] == [("a\u2028".encode(), "é".encode()), (b"a", b"3"), (b"a", b"true")]
    assert found[3:] == [MALFORMED_ROW] * 7


def test_texts_and_labels_may_lie_in_two_files(tmp_path):
    (tmp_path / "texts").write_bytes(b"text\nb\n")
    (tmp_path / "labels").write_bytes(b"label\n")
    files = LabelledFiles(tmp_path / "texts", tmp_path / "labels")
    assert list(files.read_rows()) == [(b"text", b"label"), (b"b", None)]
    assert files.name == f"{tmp_path / 'texts'} and {tmp_path / 'labels'}"


def test_a_name_that_does_not_say_how_is_refused(tmp_path):
    with pytest.raises(DataError, match="does not say how a line holds a text and its label; its name must"):
        LabelledFiles(tmp_path / "x.csv").read_rows()
