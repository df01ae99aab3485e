import pytest

from regard.errors import DataError
from regard.text.corpus_files import normalize_text, read_texts, split_lines


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\n", ["a\rb"]),
        ("a\u2028b\u2029c\u0085d\n".encode(), ["a\u2028b\u2029c\u0085d"]),
        (b"a\x0bb\x0cc\x1cd\x1de\x1e\n", ["a\x0bb\x0cc\x1cd\x1de\x1e"]),
        (b"\xef\xbb\xbfa\n", ["a"]),
        (b"\n", [""]),
        (b"", []),
    ],
)
def test_a_line_is_what_lies_between_newline_bytes(content, lines):
    assert split_lines(content, "x") == lines


def test_invalid_utf8_is_named_by_file_line_and_byte():
    with pytest.raises(DataError, match=r"bad.en line 2 is not UTF-8 \(byte 3 is 0xff\)"):
        split_lines(b"fine\nno\xfft\n", "bad.en")


def test_two_spellings_of_one_sentence_are_one():
    assert normalize_text(" e\u0301t\u00e9") == normalize_text("\u00e9te\u0301\t") == "été"


def test_missing_empty_and_folder_are_told_apart(tmp_path):
    with pytest.raises(DataError, match="none.en does not exist"):
        read_texts(tmp_path / "none.en")
    with pytest.raises(DataError, match="is empty"):
        read_texts(written(tmp_path / "empty.en", b""))
    with pytest.raises(DataError, match="is a folder"):
        read_texts(tmp_path)
