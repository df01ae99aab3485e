"""The lines of a file: the bytes between newline bytes, and nothing else."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from regard.errors import DataError
from regard.text.compression import ChunkCallback, read_decompressed

MAX_CORPUS_LINE_BYTES = 2**24  # bytes; a longer line is not text, and could fill the memory
UTF8_BOM = b"\xef\xbb\xbf"  # what some editors put before the first line of UTF-8


def read_lines(path: Path, on_chunk: ChunkCallback | None = None) -> Iterator[bytes]:
    """The lines of a plain, .gz, .xz or .zst file, one in memory at a time.

    U+2028, form feeds and lone carriage returns are text; a final newline starts no line; the mark
    at the file's start and the carriage return that Windows leaves at a line's end are dropped.
    """
    for line in _split_lines(_strip_bom(read_decompressed(path, on_chunk)), path):
        yield line.removesuffix(b"\r")


def _strip_bom(pieces: Iterator[bytes]) -> Iterator[bytes]:
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= len(UTF8_BOM) or not UTF8_BOM.startswith(head):  # someone may wait for an answer
            break
    yield head.removeprefix(UTF8_BOM)
    yield from pieces


def _split_lines(pieces: Iterator[bytes], path: Path) -> Iterator[bytes]:
    begun: list[bytes] = []  # the parts of a line whose end has not been seen
    size, before = 0, 0
    for piece in filter(None, pieces):
        first, *others = piece.split(b"\n")
        begun.append(first)
        size += len(first)
        if size > MAX_CORPUS_LINE_BYTES:
            raise DataError(
                f"{path} line {before + 1} is longer than {MAX_CORPUS_LINE_BYTES >> 20} MiB; "
                "lines must end with a newline, and hold a sentence each"
            )
        if others:
            yield b"".join(begun)
            begun = [others.pop()]
            size, before = len(begun[0]), before + 1 + len(others)
            yield from others
    if size:
        yield b"".join(begun)


class InputLine(NamedTuple):
    """A line of any length; of one that could fill the memory, the beginning."""

    content: bytes
    truncated_bytes: int = 0
    """Bytes that were left out."""


def split_truncated_lines(chunks: Iterator[bytes], max_line_bytes: int) -> Iterator[list[InputLine]]:
    """The lines as `read_lines` has them, for each piece those that end in it; none is refused.

    Of a line with more than `longest` bytes only the first are kept.
    """
    begun, beyond = b"", 0  # a line whose end has not been seen
    for piece in filter(None, _strip_bom(chunks)):
        first, *others = piece.split(b"\n")
        room = max(max_line_bytes - len(begun), 0)
        begun, beyond = begun + first[:room], beyond + len(first[room:])
        ended = []
        for other in others:
            ended.append(_make_line(begun, beyond))
            begun, beyond = other[:max_line_bytes], len(other[max_line_bytes:])
        yield ended
    if begun or beyond:
        yield [_make_line(begun, beyond)]


def _make_line(content: bytes, beyond: int) -> InputLine:
    return InputLine(content if beyond else content.removesuffix(b"\r"), beyond)


class LineCount(NamedTuple):
    """How much text a file holds, unpacked."""

    lines: int
    bytes: int


def count_lines(path: Path, on_chunk: ChunkCallback | None = None) -> LineCount:
    """How many lines `read_lines` would give, sooner."""
    lines, size, last = 0, 0, b""
    for piece in filter(None, _strip_bom(read_decompressed(path, on_chunk))):
        lines += piece.count(b"\n")
        size, last = size + len(piece), piece
    return LineCount(lines + (size > 0 and not last.endswith(b"\n")), size)
