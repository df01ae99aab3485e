import gzip
import lzma
import os
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peak_memory import measure_peak_memory
from regard.errors import DataError
from regard.text import lines as lines_module
from regard.text.corpus_files import split_lines
from regard.text.lines import MAX_CORPUS_LINE_BYTES, count_lines, read_lines, split_truncated_lines

ODD = {
    "separators": "a\u2028b\u2029c\u0085d\n".encode(),
    "controls": b"a\x0bb\x0cc\x1cd\x1de\x1e\n",
    "lone cr": b"a\rb\nc\n",
    "crlf": b"a\r\nb\r\n",
    "two crs": b"a\r\r\nb\r\r\n",
    "mark": b"\xef\xbb\xbfa\nb\n",
    "mark alone": b"\xef\xbb\xbf",
    "mark inside": b"a\n\xef\xbb\xbfb\n",
    "no final newline": b"a\nb",
    "blank lines": b"\n\na\n\n",
    "cr at the end": b"a\n\r",
    "newline": b"\n",
    "nothing": b"",
}


def packed(path, content):
    """Writes the content the way the path's ending says."""
    match path.suffix:
        case ".gz":
            path.write_bytes(gzip.compress(content))
        case ".xz":
            path.write_bytes(lzma.compress(content))
        case ".zst":
            path.write_bytes(pytest.importorskip("zstandard").ZstdCompressor().compress(content))
        case _:
            path.write_bytes(content)
    return path


def refusal(path) -> str:
    with pytest.raises(DataError) as error:
        list(read_lines(path))
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".zst"])
@pytest.mark.parametrize("content", ODD.values(), ids=ODD)
def test_lines_are_the_same_however_the_file_is_packed(tmp_path, content, ending):
    path = packed(tmp_path / f"text{ending}", content)
    assert [line.decode() for line in read_lines(path)] == split_lines(content, "x")


@pytest.mark.parametrize("content", ODD.values(), ids=ODD)
def test_there_are_as_many_lines_as_newline_bytes(tmp_path, content):
    text = content.removeprefix(b"\xef\xbb\xbf")
    unfinished = bool(text) and not text.endswith(b"\n")
    path = packed(tmp_path / "text", content)
    assert len(list(read_lines(path))) == text.count(b"\n") + unfinished


@given(st.lists(st.binary(max_size=9)))
def test_pieces_may_end_anywhere(pieces):
    found = list(lines_module._split_lines(lines_module._strip_bom(iter(pieces)), Path("x")))
    whole = b"".join(pieces).removeprefix(b"\xef\xbb\xbf").split(b"\n")
    assert found == (whole if whole[-1] else whole[:-1])


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_archives_that_were_joined_are_read_to_the_end(tmp_path, ending):
    one = packed(tmp_path / f"one{ending}", b"a\nb").read_bytes()
    (tmp_path / f"two{ending}").write_bytes(one + one)
    assert list(read_lines(tmp_path / f"two{ending}")) == [b"a", b"ba", b"b"]


def test_a_gzip_archive_may_be_padded_with_zeros(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"a\n") + bytes(512))
    assert list(read_lines(tmp_path / "a.gz")) == [b"a"]


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_an_archive_cut_anywhere_is_refused(tmp_path, ending):
    whole = packed(tmp_path / f"a{ending}", os.urandom(3000)).read_bytes()
    cut = tmp_path / f"cut{ending}"
    for size in (1, 5, 12, 100, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        cut.write_bytes(whole[:size])
        assert f"cut{ending} ends too early" in refusal(cut)


@pytest.mark.parametrize("ending", [".gz", ".xz"])
def test_a_flipped_byte_in_an_archive_is_refused(tmp_path, ending):
    path = packed(tmp_path / f"a{ending}", os.urandom(3000))
    content = bytearray(path.read_bytes())
    for place in (1, len(content) // 2, len(content) - 5):
        path.write_bytes(bytes((*content[:place], content[place] ^ 0x55, *content[place + 1 :])))
        assert f"a{ending} is not a sound" in refusal(path)


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_text_that_calls_itself_an_archive_is_refused(tmp_path, ending):
    if ending == ".zst":
        pytest.importorskip("zstandard")
    (tmp_path / f"a{ending}").write_bytes(b"plain text\n" * 9)
    assert f"a{ending} is not a sound" in refusal(tmp_path / f"a{ending}")


def test_an_archive_that_calls_itself_text_is_refused(tmp_path):
    (tmp_path / "a.txt").write_bytes(gzip.compress(b"a\n"))
    assert "a.txt is packed; a name that ends in .gz would say so" in refusal(tmp_path / "a.txt")
    (tmp_path / "a.txt").write_bytes(b"PK\x03\x04 and so on")
    assert "a.txt is a zip archive; unpack it" in refusal(tmp_path / "a.txt")


def test_what_cannot_be_read_is_told_in_one_line(tmp_path):
    assert "none.gz does not exist" in refusal(tmp_path / "none.gz")
    (tmp_path / "folder.xz").mkdir()
    assert "folder.xz is a folder" in refusal(tmp_path / "folder.xz")
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert "loop cannot be read: " in refusal(loop)


def test_zst_without_its_package_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert "pip install zstandard" in refusal(tmp_path / "a.zst")


def test_a_line_may_be_as_long_as_the_cap_and_no_longer(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"a\n" + b"b" * MAX_CORPUS_LINE_BYTES + b"\nc\n")
    assert [len(line) for line in read_lines(path)] == [1, MAX_CORPUS_LINE_BYTES, 1]
    path.write_bytes(b"a\n" + b"b" * (MAX_CORPUS_LINE_BYTES + 1) + b"\nc\n")
    assert "text line 2 is longer than 16 MiB" in refusal(path)


def test_the_reader_sees_the_file_as_it_lies_on_disk(tmp_path):
    path = packed(tmp_path / "a.gz", b"a\nb\n" * 50_000)
    seen = []
    assert sum(1 for _ in read_lines(path, seen.append)) == 100_000
    assert b"".join(seen) == path.read_bytes()


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".zst"])
@pytest.mark.parametrize("content", ODD.values(), ids=ODD)
def test_lines_are_counted_as_they_are_read(tmp_path, content, ending):
    path = packed(tmp_path / f"text{ending}", content)
    assert count_lines(path).lines == len(list(read_lines(path)))


@pytest.mark.parametrize("line", [b"", b"a" * 99 + b"\n"], ids=["one line", "many lines"])
def test_a_bomb_is_refused_in_little_memory(tmp_path, line):
    unpacked = 30 * 2**20
    squeeze = zlib.compressobj(9, wbits=31)
    content = (line or b"a" * 100) * (unpacked // 100)
    (tmp_path / "bomb.gz").write_bytes(squeeze.compress(content) + squeeze.flush())
    code = (
        "import sys; from pathlib import Path; from regard.text.lines import read_lines\n"
        "try: print(sum(1 for _ in read_lines(Path(sys.argv[1]))))\n"
        "except Exception as error: print(error)\n"
    )
    [said], megabytes = measure_peak_memory(code, tmp_path / "bomb.gz")
    assert "bomb.gz unpacks to more than 100 times its size" in said
    assert megabytes < 60


PIECES = st.lists(st.lists(st.sampled_from(b"a\r\n\xef\xbb\xbf"), max_size=9).map(bytes), max_size=9)


@given(PIECES)
def test_lines_of_any_length_are_the_lines_of_the_file(tmp_path_factory, pieces):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(b"".join(pieces))
    groups = split_truncated_lines(iter(pieces), max_line_bytes=99)
    assert [line.content for group in groups for line in group] == list(read_lines(path))


@given(PIECES, st.integers(1, 5))
def test_of_a_line_too_long_the_beginning_is_kept_and_the_rest_counted(pieces, longest):
    whole = [line.content for group in split_truncated_lines(iter(pieces), 999) for line in group]
    found = [line for group in split_truncated_lines(iter(pieces), longest) for line in group]
    for line, content in zip(found, whole, strict=True):
        assert content.startswith(line.content.removesuffix(b"\r"))
        assert len(line.content) + line.truncated_bytes - len(content) in (
            0,
            1,
        )  # a carriage return may be counted
        assert len(line.content) <= longest


def test_a_short_line_is_given_at_once():
    def pieces():
        yield b"a\n"
        raise AssertionError("it waits for more")

    assert next(split_truncated_lines(pieces(), 99)) == [(b"a", 0)]
