import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.text import lines as lines_module
from regard.text.lines import MAX_CORPUS_LINE_BYTES, count_lines, read_lines, split_truncated_lines

ODD = {
    "separators": "a\u2028b\u2029c\u0085d\n".encode(),
    "controls": b"a\x0bb\x0cc\x1cd\x1de\x1e\n",
    "lone cr": b"a\rb\nc\n",
    "crlf": b"a\r\nb\r\n",
    "two crs": b"a\r\r\nb\r\r\n",
    "byte order mark": b"\xef\xbb\xbfa\nb\n",
    "byte order mark alone": b"\xef\xbb\xbf",
    "byte order mark inside": b"a\n\xef\xbb\xbfb\n",
    "no final newline": b"a\nb",
    "blank lines": b"\n\na\n\n",
    "cr at the end": b"a\n\r",
    "newline": b"\n",
    "nothing": b"",
}


def reference_lines(content):
    """Split at newline bytes; drop the byte order mark and carriage returns at the end of lines."""
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [line.removesuffix(b"\r") for line in (lines if lines[-1] else lines[:-1])]


@pytest.mark.parametrize("content", ODD.values(), ids=ODD)
def test_lines_are_split_at_newline_bytes_only(tmp_path, content):
    (tmp_path / "text").write_bytes(content)
    (tmp_path / "text.gz").write_bytes(gzip.compress(content))
    for name in ("text", "text.gz"):
        lines = list(read_lines(tmp_path / name))
        assert lines == reference_lines(content)
        assert count_lines(tmp_path / name).lines == len(lines)


@given(st.lists(st.binary(max_size=9)))
def test_chunks_may_end_anywhere(chunks):
    lines = list(lines_module._split_lines(lines_module._strip_bom(iter(chunks)), Path("x")))
    expected = b"".join(chunks).removeprefix(b"\xef\xbb\xbf").split(b"\n")
    assert lines == (expected if expected[-1] else expected[:-1])


def test_a_line_may_be_as_long_as_the_limit_and_no_longer(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"a\n" + b"b" * MAX_CORPUS_LINE_BYTES + b"\nc\n")
    assert [len(line) for line in read_lines(path)] == [1, MAX_CORPUS_LINE_BYTES, 1]
    path.write_bytes(b"a\n" + b"b" * (MAX_CORPUS_LINE_BYTES + 1) + b"\nc\n")
    with pytest.raises(DataError, match="text line 2 is longer than 16 MiB"):
        list(read_lines(path))


CHUNKS = st.lists(st.lists(st.sampled_from(b"a\r\n\xef\xbb\xbf"), max_size=9).map(bytes), max_size=9)


@given(CHUNKS)
def test_lines_of_any_length_are_the_lines_of_the_file(tmp_path_factory, chunks):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(b"".join(chunks))
    groups = split_truncated_lines(iter(chunks), max_line_bytes=99)
    assert [line.content for group in groups for line in group] == list(read_lines(path))


@given(CHUNKS, st.integers(1, 5))
def test_a_line_that_is_too_long_is_truncated_and_the_rest_is_counted(chunks, max_bytes):
    expected = [line.content for group in split_truncated_lines(iter(chunks), 999) for line in group]
    lines = [line for group in split_truncated_lines(iter(chunks), max_bytes) for line in group]
    for line, content in zip(lines, expected, strict=True):
        assert content.startswith(line.content.removesuffix(b"\r"))
        surplus = len(line.content) + line.truncated_bytes - len(content)
        assert surplus in (0, 1)  # a carriage return may be counted
        assert len(line.content) <= max_bytes


def test_a_short_line_is_yielded_before_more_input_comes():
    def chunks():
        yield b"a\n"
        raise AssertionError("waits for more input")

    assert next(split_truncated_lines(chunks(), 99)) == [(b"a", 0)]
