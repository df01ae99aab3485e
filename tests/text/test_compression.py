import gzip
import lzma
import os
import sys
import zlib

import pytest

from peak_memory import measure_peak_memory
from regard.errors import DataError
from regard.text.lines import read_lines


def write_compressed(path, content):
    """Write the content in the format of the suffix."""
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


def read_error(path) -> str:
    """Return the error of reading the lines, which must be one line."""
    with pytest.raises(DataError) as error:
        list(read_lines(path))
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_concatenated_archives_are_read_to_the_end(tmp_path, suffix):
    one = write_compressed(tmp_path / f"one{suffix}", b"a\nb").read_bytes()
    (tmp_path / f"two{suffix}").write_bytes(one + one)
    assert list(read_lines(tmp_path / f"two{suffix}")) == [b"a", b"ba", b"b"]


def test_a_gzip_archive_may_be_padded_with_zeros(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"a\n") + bytes(512))
    assert list(read_lines(tmp_path / "a.gz")) == [b"a"]


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_an_archive_cut_off_anywhere_is_rejected(tmp_path, suffix):
    whole = write_compressed(tmp_path / f"a{suffix}", os.urandom(3000)).read_bytes()
    cut = tmp_path / f"cut{suffix}"
    for size in (1, 5, 12, 100, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        cut.write_bytes(whole[:size])
        assert f"cut{suffix} ends too early" in read_error(cut)


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_a_flipped_byte_in_an_archive_is_rejected(tmp_path, suffix):
    path = write_compressed(tmp_path / f"a{suffix}", os.urandom(3000))
    content = bytearray(path.read_bytes())
    for place in (1, len(content) // 2, len(content) - 5):
        path.write_bytes(bytes((*content[:place], content[place] ^ 0x55, *content[place + 1 :])))
        assert f"a{suffix} is not a sound" in read_error(path)


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_text_with_the_suffix_of_an_archive_is_rejected(tmp_path, suffix):
    if suffix == ".zst":
        pytest.importorskip("zstandard")
    (tmp_path / f"a{suffix}").write_bytes(b"plain text\n" * 9)
    assert f"a{suffix} is not a sound" in read_error(tmp_path / f"a{suffix}")


def test_an_archive_without_its_suffix_is_rejected(tmp_path):
    (tmp_path / "a.txt").write_bytes(gzip.compress(b"a\n"))
    assert "a.txt is compressed; its name must end in .gz" in read_error(tmp_path / "a.txt")
    (tmp_path / "a.txt").write_bytes(b"PK\x03\x04 and so on")
    assert "a.txt is a zip archive; unpack it" in read_error(tmp_path / "a.txt")


def test_a_file_that_cannot_be_read_is_an_error_of_one_line(tmp_path):
    assert "none.gz does not exist" in read_error(tmp_path / "none.gz")
    (tmp_path / "folder.xz").mkdir()
    assert "folder.xz is a folder" in read_error(tmp_path / "folder.xz")
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert "loop cannot be read: " in read_error(loop)


def test_zst_without_its_package_tells_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert 'pip install "regard[zst]"' in read_error(tmp_path / "a.zst")


def test_the_callback_receives_the_file_as_it_is_on_disk(tmp_path):
    path = write_compressed(tmp_path / "a.gz", b"a\nb\n" * 50_000)
    chunks = []
    assert sum(1 for _ in read_lines(path, chunks.append)) == 100_000
    assert b"".join(chunks) == path.read_bytes()


@pytest.mark.parametrize("line", [b"", b"a" * 99 + b"\n"], ids=["one line", "many lines"])
def test_a_bomb_is_rejected_in_little_memory(tmp_path, line):
    size = 30 * 2**20
    compressor = zlib.compressobj(9, wbits=31)
    content = (line or b"a" * 100) * (size // 100)
    (tmp_path / "bomb.gz").write_bytes(compressor.compress(content) + compressor.flush())
    code = (
        "import sys; from pathlib import Path; from regard.text.lines import read_lines\n"
        "try: print(sum(1 for _ in read_lines(Path(sys.argv[1]))))\n"
        "except Exception as error: print(error)\n"
    )
    [message], megabytes = measure_peak_memory(code, tmp_path / "bomb.gz")
    assert "bomb.gz unpacks to more than 100 times its size" in message
    assert megabytes < 60
