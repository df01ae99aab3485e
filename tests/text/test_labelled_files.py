import gzip
import json

import pytest

from regard.errors import DataError
from regard.text.corpus_files import MALFORMED_ROW
from regard.text.labelled_files import HEADER_ROW, LabelledFiles, clean_label, clean_text


def read_labelled(path, content):
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return list(LabelledFiles(path).read_rows())


@pytest.mark.parametrize("name", ["x.tsv", "x.TSV.gz"])
def test_the_label_comes_first_in_a_tsv(tmp_path, name):
    content = b"good\tI like it\r\nbad\nbad\ta\ttab\n\t\n0\t1"
    expected = [(b"I like it", b"good"), MALFORMED_ROW, MALFORMED_ROW, (b"", b""), (b"1", b"0")]
    assert read_labelled(tmp_path / name, content) == expected


@pytest.mark.parametrize("header", [b"text\tlabel", b"Sentence\tLabel", b"\xef\xbb\xbfsentence\tlabel\r"])
def test_a_header_can_put_the_label_last(tmp_path, header):
    rows = read_labelled(tmp_path / "x.tsv", header + b"\nI like it\tgood\nno tab\n")
    assert rows == [HEADER_ROW, (b"I like it", b"good"), MALFORMED_ROW]


@pytest.mark.parametrize("header", [b"label\ttext", b"LABEL\tsentence"])
def test_a_header_can_name_the_default_order(tmp_path, header):
    assert read_labelled(tmp_path / "x.tsv", header + b"\ngood\tI like it") == [
        HEADER_ROW,
        (b"I like it", b"good"),
    ]


def test_only_the_first_line_can_be_a_header(tmp_path):
    assert read_labelled(tmp_path / "x.tsv", b"a\tb\ntext\tlabel\n") == [(b"b", b"a"), (b"label", b"text")]


def test_an_empty_file_has_no_rows(tmp_path):
    assert read_labelled(tmp_path / "x.tsv", b"") == []


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
    rows = read_labelled(tmp_path / "x.jsonl", content)
    assert rows[:3] == [("a\u2028".encode(), "é".encode()), (b"a", b"3"), (b"a", b"true")]
    assert rows[3:] == [MALFORMED_ROW] * 7


def test_texts_and_labels_may_be_in_two_files(tmp_path):
    (tmp_path / "texts").write_bytes(b"text\nb\n")
    (tmp_path / "labels").write_bytes(b"label\n")
    files = LabelledFiles(tmp_path / "texts", tmp_path / "labels")
    assert list(files.read_rows()) == [(b"text", b"label"), (b"b", None)]
    assert files.name == f"{tmp_path / 'texts'} and {tmp_path / 'labels'}"


def test_a_labelled_file_with_another_suffix_is_rejected(tmp_path):
    with pytest.raises(DataError, match="does not say how a line holds a text and its label; its name must"):
        LabelledFiles(tmp_path / "x.pdf").read_rows()


@pytest.mark.parametrize("header", ["text,label", "Category,Review", "id,class,sentence", '"label";"text"'])
def test_a_header_of_usual_names_tells_the_columns(tmp_path, header):
    delimiter = ";" if ";" in header else ","
    cells = {"text": "I like it", "label": "good", "id": "7"}
    roles = {"category": "label", "class": "label", "review": "text", "sentence": "text"}
    names = [name.strip('"').lower() for name in header.split(delimiter)]
    row = delimiter.join(cells[roles.get(name, name)] for name in names)
    rows = read_labelled(tmp_path / "x.csv", f"{header}\n{row}\n".encode())
    assert rows == [HEADER_ROW, (b"I like it", b"good")]
    rows = read_labelled(tmp_path / "x.tsv", f"{header}\n{row}\n".replace(delimiter, "\t").encode())
    assert len(rows) == 2


def test_quoted_fields_of_a_csv_hold_delimiters_quotes_and_line_breaks(tmp_path):
    content = b'label,text\ngood,"one, ""two""\n\nthree"\n"a\tb",5" pipe\n\n\xff,"x"\nlast,"",\n'
    assert read_labelled(tmp_path / "x.csv", content) == [
        HEADER_ROW,
        (b'one, "two"\n\nthree', b"good"),
        (b'5" pipe', b"a\tb"),
        MALFORMED_ROW,
        (b"x", b"\xff"),
        MALFORMED_ROW,
    ]


def test_a_quote_that_is_never_closed_is_an_error_with_its_line(tmp_path):
    (tmp_path / "x.csv").write_bytes(b'a,b\nc,"d\n' + b"e,f\n" * 9)
    with pytest.raises(DataError, match=r"x.csv line 2 has an opening quote without a closing one"):
        list(LabelledFiles(tmp_path / "x.csv").read_rows())


@pytest.mark.parametrize(("text", "label"), [("body", "kind"), ("3", "2"), ("body", "2")])
def test_columns_are_named_by_name_or_number(tmp_path, text, label):
    (tmp_path / "x.csv").write_bytes(b"id,kind,body\n1,good,I like it\n")
    rows = list(LabelledFiles(tmp_path / "x.csv", None, text, label).read_rows())
    is_header = "body" in (text, label)
    assert rows == [HEADER_ROW if is_header else (b"body", b"kind"), (b"I like it", b"good")]


def test_of_two_columns_one_has_to_be_named(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"body,kind\nI like it,good\n")
    expected = [HEADER_ROW, (b"I like it", b"good")]
    assert list(LabelledFiles(tmp_path / "x.csv", None, None, "kind").read_rows()) == expected
    assert list(LabelledFiles(tmp_path / "x.csv", None, "body").read_rows()) == expected
    rows = list(LabelledFiles(tmp_path / "x.csv", None, None, "2").read_rows())
    assert rows == [(b"body", b"kind"), (b"I like it", b"good")]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            (None, None),
            "has the columns 'id', 'kind', 'body'; name the one with the labels with --label-column",
        ),
        (("body", None), "name the one with the labels with --label-column"),
        (("bodi", "kind"), "has no column 'bodi'; it has 'id', 'kind', 'body'"),
        (("4", "1"), "has 3 columns, and none with number 4"),
        (("3", "body"), "--text-column and --label-column name the same column"),
    ],
)
def test_columns_that_cannot_be_told_are_asked_for(tmp_path, columns, message):
    (tmp_path / "x.csv").write_bytes(b"id,kind,body\n1,good,I like it\n")
    with pytest.raises(DataError, match=message):
        list(LabelledFiles(tmp_path / "x.csv", None, *columns).read_rows())


def test_the_fields_of_json_lines_can_be_named(tmp_path):
    (tmp_path / "x.jsonl").write_text(json.dumps({"body": "I like it", "kind": 3}) + "\n")
    rows = list(LabelledFiles(tmp_path / "x.jsonl", None, "body", "kind").read_rows())
    assert rows == [(b"I like it", b"3")]


def test_control_characters_are_read_as_spaces_and_a_label_has_one_line():
    assert clean_text(" caf\x85e\u0301\tau\nlait\x9f") == "caf é\tau\nlait".replace("\n", " ")
    assert clean_label(" very\tgood \n\u2028 film\x92 🙂 ") == "very good film 🙂"


@pytest.mark.parametrize("content", ["good\tI like it\n".encode("utf-16"), bytes(500), b"PAR1" + bytes(500)])
def test_binary_data_and_utf_16_are_rejected_by_their_first_bytes(tmp_path, content):
    (tmp_path / "a.tsv").write_bytes(content)
    with pytest.raises(
        DataError, match=r"a.tsv is (UTF-16 text|binary data or UTF-16 text|a Parquet file); convert it"
    ):
        LabelledFiles(tmp_path / "a.tsv").reject_other_content()
    (tmp_path / "a.tsv").write_text("good\t<p>I like it</p>\n")
    LabelledFiles(tmp_path / "a.tsv").reject_other_content()
