import gzip
import json

import pytest

from regard.errors import DataError
from regard.text.corpus_files import (
    MALFORMED_ROW,
    MAX_SHOWN_LINES,
    FileLines,
    merge_file_lines,
    normalize_text,
    read_texts,
)
from regard.text.pair_formats.pair_files import PairFiles


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
    for name in ("pairs.doc", "pairs", "pairs.gz"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(DataError, match="its name must end in .tsv, .csv, .jsonl, .parquet"):
            list(PairFiles(tmp_path / name).read_rows())


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
