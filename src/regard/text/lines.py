"""Lines of text files as bytes: split at newline bytes and nothing else."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from regard.errors import DataError
from regard.text.compression import ChunkCallback, read_decompressed
from regard.text.file_types import reject_other_types

MAX_CORPUS_LINE_BYTES = 2**24
"""A longer line is not text, and could fill the memory."""
UTF8_BOM = b"\xef\xbb\xbf"
"""Byte order mark, which some editors write at the beginning of a file."""


def read_lines(path: Path, on_chunk: ChunkCallback | None = None) -> Iterator[bytes]:
    """Yield the lines of a plain, .gz, .xz or .zst file, one in memory at a time.

    U+2028, form feeds and lone carriage returns are text, and a final newline starts no line. A byte
    order mark at the beginning and the carriage return of Windows at the end of a line are dropped.
    """
    return _split_chunks(path, read_decompressed(path, on_chunk))


def read_sentence_lines(path: Path, on_chunk: ChunkCallback | None = None) -> Iterator[bytes]:
    """Yield the lines of a file as `read_lines` does; reject a table, a document and binary data."""
    return _split_chunks(path, reject_other_types(path, read_decompressed(path, on_chunk)))


def _split_chunks(path: Path, chunks: Iterator[bytes]) -> Iterator[bytes]:
    for line in _split_lines(_strip_bom(chunks), path):
        yield line.removesuffix(b"\r")


def _strip_bom(chunks: Iterator[bytes]) -> Iterator[bytes]:
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= len(UTF8_BOM) or not UTF8_BOM.startswith(head):  # on a pipe, more may be slow to come
            break
    yield head.removeprefix(UTF8_BOM)
    yield from chunks


def _split_lines(chunks: Iterator[bytes], path: Path) -> Iterator[bytes]:
    parts: list[bytes] = []  # of a line whose end has not been read
    size, complete_lines = 0, 0
    for chunk in filter(None, chunks):
        first, *others = chunk.split(b"\n")
        parts.append(first)
        size += len(first)
        if size > MAX_CORPUS_LINE_BYTES:
            raise DataError(
                f"{path} line {complete_lines + 1} is longer than {MAX_CORPUS_LINE_BYTES >> 20} MiB; "
                "lines must end with a newline, and hold a sentence each"
            )
        if others:
            yield b"".join(parts)
            parts = [others.pop()]
            size, complete_lines = len(parts[0]), complete_lines + 1 + len(others)
            yield from others
    if size:
        yield b"".join(parts)


class InputLine(NamedTuple):
    """A line of input, cut off where it is too long."""

    content: bytes
    truncated_bytes: int = 0
    """Number of bytes that were cut off."""


def split_truncated_lines(chunks: Iterator[bytes], max_line_bytes: int) -> Iterator[list[InputLine]]:
    """Yield for each chunk the lines that end in it; keep the first `max_line_bytes` of each line.

    Lines are split as `read_lines` splits them, but none is too long.
    """
    content, truncated = b"", 0  # of a line whose end has not been read
    for chunk in filter(None, _strip_bom(chunks)):
        first, *others = chunk.split(b"\n")
        remaining_bytes = max(max_line_bytes - len(content), 0)
        content, truncated = content + first[:remaining_bytes], truncated + len(first[remaining_bytes:])
        lines = []
        for other in others:
            lines.append(_make_line(content, truncated))
            content, truncated = other[:max_line_bytes], len(other[max_line_bytes:])
        yield lines
    if content or truncated:
        yield [_make_line(content, truncated)]


def _make_line(content: bytes, truncated_bytes: int) -> InputLine:
    return InputLine(content if truncated_bytes else content.removesuffix(b"\r"), truncated_bytes)


class LineCount(NamedTuple):
    """Size of the text in a file."""

    lines: int
    bytes: int
    """Decompressed."""


def count_lines(path: Path, on_chunk: ChunkCallback | None = None) -> LineCount:
    """Count the lines that `read_lines` yields, faster."""
    lines, size, last = 0, 0, b""
    for chunk in filter(None, _strip_bom(read_decompressed(path, on_chunk))):
        lines += chunk.count(b"\n")
        size, last = size + len(chunk), chunk
    return LineCount(lines + (size > 0 and not last.endswith(b"\n")), size)
