"""The bytes of a plain or packed file, piece by piece, in flat memory."""

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
"""Is told each piece of a file as it lies on disk: to hash it, or to show how far the reading is."""

COMPRESSED_SUFFIXES = (".gz", ".xz", ".zst")
"""Endings of names that say how a file is packed."""
CHUNK_BYTES = 2**14  # bytes, read or unpacked at a time
ZSTD_INPUT_BYTES = (
    2**8
)  # zstandard has no limit on what one call unpacks: so little in, or too much could come out
MAX_WINDOW_BYTES = (
    2**27
)  # bytes an archive may ask for to be unpacked; xz -9 and zstd --long take as much or less
ALWAYS_ALLOWED_BYTES = 2**21  # bytes that any archive may unpack to
MAX_COMPRESSION_RATIO = 100  # beyond SMALL, what unpacks to more than this many times its size is no text
MAGIC_NUMBERS = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\x00": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}


def read_decompressed(path: Path, on_chunk: ChunkCallback | None = None) -> Iterator[bytes]:
    """What the file holds once unpacked; its ending (.gz, .xz, .zst, or any other: plain) says how."""
    disk = _RawFile(path, on_chunk)
    packing = _detect_compression(path)
    if packing is None:
        return reject_compressed(path, iter(disk))
    return _reject_bomb(disk, _report_damage(path, packing, _decompress_members(packing, iter(disk))))


@contextmanager
def wrap_read_errors(path: Path) -> Iterator[None]:
    """Says in one line why a file cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; give the path of a text file") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder; give the path of a text file") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None


class _RawFile:
    """The pieces of a file as it lies on disk, and how many of its bytes have been read."""

    def __init__(self, path: Path, seen: ChunkCallback | None) -> None:
        self.path, self.bytes_read, self._seen = path, 0, seen

    def __iter__(self) -> Iterator[bytes]:
        with wrap_read_errors(self.path), self.path.open("rb") as file:
            while piece := file.read(CHUNK_BYTES):
                self.bytes_read += len(piece)
                if self._seen is not None:
                    self._seen(piece)
                yield piece


def reject_compressed(
    name: str | Path, chunks: Iterator[bytes], hint: str = "a name that ends in {} would say so"
) -> Iterator[bytes]:
    """The pieces themselves, unless they are an archive under another name; `right` says what would help."""
    first = next(chunks, b"")
    for magic, ending in MAGIC_NUMBERS.items():
        if first.startswith(magic):
            raise DataError(f"{name} is packed; {hint.format(ending)}")
    if first.startswith(b"PK\x03\x04"):
        raise DataError(f"{name} is a zip archive; unpack it and give the text file inside")
    yield first
    yield from chunks


@dataclass(frozen=True)
class _Compression:
    """A way to pack: how a member of the archive is begun and fed, and how a damaged one shows."""

    name: str
    new_member: Callable[[], Any]
    feed: Callable[[Any, bytes], Generator[bytes, None, bytes]]
    """Yields what the bytes unpack to, and returns those beyond the member's end."""
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
            unpacker = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
            return _Compression("zstd", unpacker.decompressobj, _feed_zstd, zstandard.ZstdError)
        case _:
            return None


def _import_zstandard(path: Path) -> Any:
    try:
        return importlib.import_module("zstandard")  # optional: few corpora come as .zst
    except ImportError:
        raise DataError(f"{path} needs a package to be unpacked: pip install zstandard") from None


def _decompress_members(packing: _Compression, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """An archive is one member after another, perhaps with zeros between them."""
    member = None
    for piece in pieces:
        while piece:
            member = member or packing.new_member()
            piece = yield from packing.feed(member, piece)  # noqa: PLW2901
            if member.eof:
                member, piece = None, piece.lstrip(b"\0")  # noqa: PLW2901
    if member is not None:
        raise EOFError


def _feed_gzip(member: Any, packed: bytes) -> Generator[bytes, None, bytes]:
    while packed and not member.eof:
        yield member.decompress(packed, CHUNK_BYTES)
        packed = member.unconsumed_tail
    return member.unused_data


def _feed_xz(member: Any, packed: bytes) -> Generator[bytes, None, bytes]:
    yield member.decompress(packed, CHUNK_BYTES)
    while not (member.eof or member.needs_input):
        yield member.decompress(b"", CHUNK_BYTES)
    return member.unused_data


def _feed_zstd(member: Any, packed: bytes) -> Generator[bytes, None, bytes]:
    for start in range(0, len(packed), ZSTD_INPUT_BYTES):
        yield member.decompress(packed[start : start + ZSTD_INPUT_BYTES])
        if member.eof:
            return member.unused_data + packed[start + ZSTD_INPUT_BYTES :]
    return b""


def _report_damage(path: Path, packing: _Compression, content: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from content
    except EOFError:
        raise DataError(
            f"{path} ends too early; the {packing.name} archive is cut off: copy it again"
        ) from None
    except packing.error as error:
        raise DataError(f"{path} is not a sound {packing.name} archive ({error}); copy it again") from None


def _reject_bomb(disk: _RawFile, content: Iterator[bytes]) -> Iterator[bytes]:
    """A few packed megabytes can unpack to more than any memory or disk."""
    given = 0
    for piece in content:
        given += len(piece)
        if given > max(ALWAYS_ALLOWED_BYTES, MAX_COMPRESSION_RATIO * disk.bytes_read):
            raise DataError(
                f"{disk.path} unpacks to more than {MAX_COMPRESSION_RATIO} times its size (seen after {given} bytes); "
                "no text does: unpack it yourself if you trust it"
            )
        yield piece
