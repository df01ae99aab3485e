"""Text without end in windows: so many lines at a time as are translated together."""

import os
import select
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from regard.text.compression import read_decompressed, reject_compressed, wrap_read_errors
from regard.text.lines import InputLine, split_truncated_lines

MAX_KEPT_LINE_BYTES = 2**20
"""Bytes of a line that are kept: what is longer is no text that anyone wrote."""
READ_BYTES = 2**16


class LineBatchLimits(NamedTuple):
    """What a window holds at most: enough to find sentences of like length, and not more than may be lost."""

    lines: int
    bytes: int


CPU_BATCH_LIMITS = LineBatchLimits(512, 2**18)
GPU_BATCH_LIMITS = LineBatchLimits(8192, 2**22)


class LineBatch(NamedTuple):
    """Some lines in a row."""

    number: int
    """Of the window, from 0."""
    first_line: int
    """The number of its first line, from 1."""
    lines: list[InputLine]
    byte_offset: int
    """How far the file has been read, in bytes as they lie on disk."""


def batch_file_lines(path: Path, limits: LineBatchLimits) -> Iterator[LineBatch]:
    """The lines of a file, packed or not; the same windows each time."""
    read = _ByteCounter()
    return _group_lines(
        split_truncated_lines(read_decompressed(path, read.add), MAX_KEPT_LINE_BYTES),
        limits,
        read,
        lambda: True,
    )


def batch_stream_lines(
    descriptor: int, limits: LineBatchLimits, wait_until_full: bool, name: str = "stdin"
) -> Iterator[LineBatch]:
    """What arrives in a pipe or from a person: so much as is there, so that nobody waits for an answer.

    Where windows are to be `full` they wait until they are.
    """
    read = _ByteCounter()

    def pieces() -> Iterator[bytes]:
        while piece := os.read(descriptor, READ_BYTES):
            read.add(piece)
            yield piece

    text = reject_compressed(name, pieces(), "unpack it on the way (zcat, xzcat, zstdcat)")
    return _group_lines(
        split_truncated_lines(text, MAX_KEPT_LINE_BYTES),
        limits,
        read,
        lambda: wait_until_full or _has_input(descriptor),
    )


def batch_pipe_lines(path: Path, limits: LineBatchLimits, wait_until_full: bool) -> Iterator[LineBatch]:
    """The same of a pipe or a device that has a name; it can be read once, from its beginning."""
    with wrap_read_errors(path), path.open("rb", buffering=0) as pipe:
        yield from batch_stream_lines(pipe.fileno(), limits, wait_until_full, str(path))


def batch_texts(texts: Sequence[str], limits: LineBatchLimits) -> Iterator[LineBatch]:
    """Texts that are in memory, each as a line."""
    read = _ByteCounter()

    def lines() -> Iterator[list[InputLine]]:
        for text in texts:
            content = text.encode("utf-8")
            read.add(content)
            yield [InputLine(content)]

    return _group_lines(lines(), limits, read, lambda: True)


class _ByteCounter:
    """Bytes so far."""

    def __init__(self) -> None:
        self.bytes = 0

    def add(self, piece: bytes) -> None:
        self.bytes += len(piece)


def _group_lines(
    groups: Iterator[list[InputLine]], size: LineBatchLimits, read: _ByteCounter, more: Callable[[], bool]
) -> Iterator[LineBatch]:
    number, first, held, held_bytes = 0, 1, [], 0
    for group in groups:
        for line in group:
            held.append(line)
            held_bytes += len(line.content)
            if len(held) >= size.lines or held_bytes >= size.bytes:
                yield LineBatch(number, first, held, read.bytes)
                number, first, held, held_bytes = number + 1, first + len(held), [], 0
        if held and not more():
            yield LineBatch(number, first, held, read.bytes)
            number, first, held, held_bytes = number + 1, first + len(held), [], 0
    if held:
        yield LineBatch(number, first, held, read.bytes)


def _has_input(descriptor: int) -> bool:
    """Whether there is more to read at once."""
    if os.name == "nt":  # which cannot ask that of a pipe
        return False
    return bool(select.select([descriptor], [], [], 0)[0])
