import gzip
import json

import pytest

from regard.errors import DataError
from regard.text.corpus_files import (
    HEADER_ROW,
    MALFORMED_ROW,
    MAX_SHOWN_LINES,
    FileLines,
    LabelledFiles,
    PairFiles,
    merge_file_lines,
    normalize_text,
    read_texts,
)


def test_invalid_utf8_is_an_error_with_file_line_and_byte(tmp_path):
    (tmp_path / "bad.en").write_bytes(b"fine\nno\xfft\n")
    with pytest.raises(DataError, match=r"bad.en line 2 is not UTF-8 \(byte 3 is 0xff\)"):
        read_texts(tmp_path / "bad.en")


def test_blank_lines_are_texts(tmp_path):
    (tmp_path / "text").write_bytes("a\u2028b\n\n c\r\n".encode())
    assert read_texts(tmp_path / "text") == ["a\u2028b", "", " c"]


def test_composed_and_decomposed_letters_are_the_same_text():
    assert normalize_text(" e\u0301t\u00e9") == normalize_text("\u00e9te\u0301\t") == "été"


def test_missing_files_empty_files_and_folders_have_different_errors(tmp_path):
    with pytest.raises(DataError, match="none.en does not exist"):
        read_texts(tmp_path / "none.en")
    (tmp_path / "empty.en").write_bytes(b"")
    with pytest.raises(DataError, match="is empty"):
        read_texts(tmp_path / "empty.en")
    with pytest.raises(DataError, match="is a folder"):
        read_texts(tmp_path)


def read_pairs(path, content, suffix=""):
    path = path.with_name(path.name + suffix)
    path.write_bytes(gzip.compress(content) if suffix == ".gz" else content)
    return list(PairFiles(path).read_rows())


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_tsv_line_of_pairs_has_two_columns(tmp_path, suffix):
    content = b"a\tb\r\nno tab\none\ttwo\tthree\n\t\n\n"
    rows = read_pairs(tmp_path / "x.tsv", content, suffix)
    assert rows == [(b"a", b"b"), MALFORMED_ROW, MALFORMED_ROW, (b"", b""), MALFORMED_ROW]


def test_a_json_line_of_pairs_has_two_texts(tmp_path):
    lines = [
        {"source": "a\u2028", "target": "é", "id": 3},
        {"source": "a"},
        {"source": 1, "target": "b"},
        ["a", "b"],
    ]
    content = "".join(json.dumps(line) + "\n" for line in lines).encode() + b"{\n\xff\n" + b"[" * 100_000
    rows = read_pairs(tmp_path / "x.JSONL", content)
    assert rows == [("a\u2028".encode(), "é".encode()), *[MALFORMED_ROW] * 6]


def test_two_files_are_paired_by_line_to_the_end_of_the_longer(tmp_path):
    (tmp_path / "a").write_bytes(b"a\nb\n")
    (tmp_path / "b").write_bytes(b"c\n")
    assert list(PairFiles(tmp_path / "a", tmp_path / "b").read_rows()) == [(b"a", b"c"), (b"b", None)]


def test_a_pair_file_with_another_suffix_is_rejected(tmp_path):
    for name in ("pairs.csv", "pairs", "pairs.gz"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(DataError, match="its name must end in .tsv or .jsonl"):
            PairFiles(tmp_path / name).read_rows()


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
        LabelledFiles(tmp_path / "x.csv").read_rows()


def test_a_message_lists_the_first_twenty_lines():
    assert str(FileLines(("a.tsv",), (1034,))) == "a.tsv line 1034"
    assert str(FileLines(("a.en", "a.fr"), (12, 77))) == "a.en and a.fr lines 12, 77"
    assert str(FileLines(("a",), tuple(range(1, MAX_SHOWN_LINES + 1)))).endswith(", 19, 20")
    assert str(FileLines(("a",), tuple(range(1, MAX_SHOWN_LINES + 2)))).endswith(", 19, 20 and 1 more")


def test_merging_lists_each_file_and_line_once():
    a, b = ("a.en", "a.fr"), ("b.tsv",)
    assert merge_file_lines([FileLines(a, (3, 9)), FileLines(b, (1,)), FileLines(a, (2, 9))]) == [
        FileLines(a, (2, 3, 9)),
        FileLines(b, (1,)),
    ]
