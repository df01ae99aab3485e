"""Batches of input lines from a file, a pipe or memory: as many lines as are translated at once."""

import os
import select
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from regard.text.compression import read_decompressed, reject_compressed, wrap_read_errors
from regard.text.file_types import inspect_head
from regard.text.lines import InputLine, split_truncated_lines

MAX_KEPT_LINE_BYTES = 2**20
"""Bytes kept of one line; the rest of a longer line is dropped while it is read."""
READ_BYTES = 2**16
StreamInspector = Callable[[bytes], object]
"""Sees the first bytes of a stream before they are used, and may raise an error."""


class LineBatchLimits(NamedTuple):
    """The size of a batch: enough lines to group by length, few enough to lose when a job is killed."""

    lines: int
    bytes: int


CPU_BATCH_LIMITS = LineBatchLimits(512, 2**18)
GPU_BATCH_LIMITS = LineBatchLimits(8192, 2**22)


class LineBatch(NamedTuple):
    """Consecutive lines of the input."""

    number: int
    """Of the batch, from 0."""
    first_line: int
    """Number of its first line, from 1."""
    lines: list[InputLine]
    byte_offset: int
    """How much of the input has been read, in bytes on disk."""


def batch_file_lines(path: Path, limits: LineBatchLimits) -> Iterator[LineBatch]:
    """Yield the lines of a file, compressed or not, in batches; the batches are the same each time."""
    counter = _ByteCounter()
    lines = split_truncated_lines(read_decompressed(path, counter.add), MAX_KEPT_LINE_BYTES)
    return _group_lines(lines, limits, counter, lambda: True)


def batch_stream_lines(
    descriptor: int,
    limits: LineBatchLimits,
    wait_until_full: bool,
    name: str = "stdin",
    inspect: StreamInspector | None = None,
) -> Iterator[LineBatch]:
    """Yield the lines of a pipe or terminal, in batches of the lines that have arrived.

    With `wait_until_full` a batch waits until it is full. `inspect` may reject the stream.
    """
    counter = _ByteCounter()

    def read_chunks() -> Iterator[bytes]:
        while chunk := os.read(descriptor, READ_BYTES):
            counter.add(chunk)
            yield chunk

    text = reject_compressed(name, read_chunks(), "unpack it on the way (zcat, xzcat, zstdcat)")
    text = text if inspect is None else inspect_head(text, inspect)
    lines = split_truncated_lines(text, MAX_KEPT_LINE_BYTES)
    return _group_lines(lines, limits, counter, lambda: wait_until_full or _has_input(descriptor))


def batch_pipe_lines(
    path: Path, limits: LineBatchLimits, wait_until_full: bool, inspect: StreamInspector | None = None
) -> Iterator[LineBatch]:
    """Yield the lines of a named pipe or device, which can be read once, from its beginning."""
    with wrap_read_errors(path), path.open("rb", buffering=0) as pipe:
        yield from batch_stream_lines(pipe.fileno(), limits, wait_until_full, str(path), inspect)


def batch_texts(texts: Sequence[str], limits: LineBatchLimits) -> Iterator[LineBatch]:
    """Yield texts in memory in batches, each text as one line."""
    counter = _ByteCounter()

    def encode_lines() -> Iterator[list[InputLine]]:
        for text in texts:
            content = text.encode("utf-8")
            counter.add(content)
            yield [InputLine(content)]

    return _group_lines(encode_lines(), limits, counter, lambda: True)


class _ByteCounter:
    """Counts the bytes read so far."""

    def __init__(self) -> None:
        self.bytes = 0

    def add(self, chunk: bytes) -> None:
        self.bytes += len(chunk)


def _group_lines(
    groups: Iterator[list[InputLine]],
    limits: LineBatchLimits,
    counter: _ByteCounter,
    has_more: Callable[[], bool],
) -> Iterator[LineBatch]:
    """Yield a batch when it is full, or when no more lines have arrived."""
    number, first_line = 0, 1
    lines: list[InputLine] = []
    size = 0
    for group in groups:
        for line in group:
            lines.append(line)
            size += len(line.content)
            if len(lines) >= limits.lines or size >= limits.bytes:
                yield LineBatch(number, first_line, lines, counter.bytes)
                number, first_line, lines, size = number + 1, first_line + len(lines), [], 0
        if lines and not has_more():
            yield LineBatch(number, first_line, lines, counter.bytes)
            number, first_line, lines, size = number + 1, first_line + len(lines), [], 0
    if lines:
        yield LineBatch(number, first_line, lines, counter.bytes)


def _has_input(descriptor: int) -> bool:
    """Return whether the next read would not block."""
    if os.name == "nt":  # has no way to ask that of a pipe
        return False
    return bool(select.select([descriptor], [], [], 0)[0])
