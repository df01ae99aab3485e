"""Streaming decompression of .gz, .xz and .zst files in constant memory."""

import importlib
import lzma
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import DataError

ChunkCallback = Callable[[bytes], object]
"""Receives each chunk of a file as it is on disk, to hash it or to show progress."""

COMPRESSED_SUFFIXES = (".gz", ".xz", ".zst")
CHUNK_BYTES = 2**14
"""Bytes read or decompressed at a time."""
ZSTD_INPUT_BYTES = 2**8
"""Input of one zstandard call, whose output has no limit."""
MAX_WINDOW_BYTES = 2**27
"""Memory that an archive may require; xz -9 and zstd --long need no more."""
ALWAYS_ALLOWED_BYTES = 2**21
"""Decompressed size up to which the compression ratio does not matter."""
MAX_COMPRESSION_RATIO = 100
"""No text compresses better."""
MAGIC_NUMBERS = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\x00": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}


def read_decompressed(path: Path, on_chunk: ChunkCallback | None = None) -> Iterator[bytes]:
    """Yield the decompressed chunks of a file; the suffix of its name decides: .gz, .xz, .zst, or plain."""
    file = _RawFile(path, on_chunk)
    compression = _detect_compression(path)
    if compression is None:
        return reject_compressed(path, iter(file))
    return _reject_bomb(file, _report_damage(path, compression, _decompress_members(compression, iter(file))))


@contextmanager
def wrap_read_errors(path: Path) -> Iterator[None]:
    """Raise a `DataError` of one line in place of an `OSError` about the file."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; give the path of a text file") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder; give the path of a text file") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None


class _RawFile:
    """Iterates over the chunks of a file as they are on disk, and counts the bytes read."""

    def __init__(self, path: Path, on_chunk: ChunkCallback | None) -> None:
        self.path, self.bytes_read, self._on_chunk = path, 0, on_chunk

    def __iter__(self) -> Iterator[bytes]:
        with wrap_read_errors(self.path), self.path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                self.bytes_read += len(chunk)
                if self._on_chunk is not None:
                    self._on_chunk(chunk)
                yield chunk


def reject_compressed(
    name: str | Path, chunks: Iterator[bytes], hint: str = "its name must end in {}"
) -> Iterator[bytes]:
    """Yield the chunks unless they are an archive; `hint` tells the user what to do, {} is the suffix."""
    first = next(chunks, b"")
    for magic, suffix in MAGIC_NUMBERS.items():
        if first.startswith(magic):
            raise DataError(f"{name} is compressed; {hint.format(suffix)}")
    if first.startswith(b"PK\x03\x04"):
        raise DataError(f"{name} is a zip archive; unpack it and give the text file inside")
    yield first
    yield from chunks


@dataclass(frozen=True)
class _Compression:
    """One format: how to decompress a member of an archive, and the error that damage raises."""

    name: str
    new_member: Callable[[], Any]
    feed: Callable[[Any, bytes], Generator[bytes, None, bytes]]
    """Yields the decompressed bytes, and returns the input after the end of the member."""
    error: type[Exception]


def _detect_compression(path: Path) -> _Compression | None:
    match path.suffix.lower():
        case ".gz":
            return _Compression("gzip", lambda: zlib.decompressobj(wbits=31), _feed_gzip, zlib.error)
        case ".xz":
            return _Compression(
                "xz", lambda: lzma.LZMADecompressor(memlimit=MAX_WINDOW_BYTES), _feed_xz, lzma.LZMAError
            )
        case ".zst":
            zstandard = _import_zstandard(path)
            decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
            return _Compression("zstd", decompressor.decompressobj, _feed_zstd, zstandard.ZstdError)
        case _:
            return None


def _import_zstandard(path: Path) -> Any:
    try:
        return importlib.import_module("zstandard")  # optional: few corpora come as .zst
    except ImportError:
        raise DataError(
            f'{path} cannot be read: it needs the package zstandard: pip install "regard[zst]"'
        ) from None


def _decompress_members(compression: _Compression, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress an archive: one member after another, possibly with zeros between them."""
    member = None
    for chunk in chunks:
        while chunk:
            member = member or compression.new_member()
            chunk = yield from compression.feed(member, chunk)  # noqa: PLW2901
            if member.eof:
                member, chunk = None, chunk.lstrip(b"\0")  # noqa: PLW2901
    if member is not None:
        raise EOFError


def _feed_gzip(member: Any, compressed: bytes) -> Generator[bytes, None, bytes]:
    while compressed and not member.eof:
        yield member.decompress(compressed, CHUNK_BYTES)
        compressed = member.unconsumed_tail
    return member.unused_data


def _feed_xz(member: Any, compressed: bytes) -> Generator[bytes, None, bytes]:
    yield member.decompress(compressed, CHUNK_BYTES)
    while not (member.eof or member.needs_input):
        yield member.decompress(b"", CHUNK_BYTES)
    return member.unused_data


def _feed_zstd(member: Any, compressed: bytes) -> Generator[bytes, None, bytes]:
    for start in range(0, len(compressed), ZSTD_INPUT_BYTES):
        yield member.decompress(compressed[start : start + ZSTD_INPUT_BYTES])
        if member.eof:
            return member.unused_data + compressed[start + ZSTD_INPUT_BYTES :]
    return b""


def _report_damage(path: Path, compression: _Compression, content: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from content
    except EOFError:
        raise DataError(
            f"{path} ends too early; the {compression.name} archive is cut off: copy it again"
        ) from None
    except compression.error as error:
        raise DataError(
            f"{path} is not a sound {compression.name} archive ({error}); copy it again"
        ) from None


def _reject_bomb(file: _RawFile, content: Iterator[bytes]) -> Iterator[bytes]:
    """Raise an error before a few compressed megabytes fill the memory or the disk."""
    size = 0
    for chunk in content:
        size += len(chunk)
        if size > max(ALWAYS_ALLOWED_BYTES, MAX_COMPRESSION_RATIO * file.bytes_read):
            raise DataError(
                f"{file.path} unpacks to more than {MAX_COMPRESSION_RATIO} times its size (seen after {size} "
                "bytes); no text does: unpack it yourself if you trust it"
            )
        yield chunk
