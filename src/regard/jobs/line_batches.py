"""Text without end in windows: so many lines at a time as are translated together."""

import os
import select
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from regard.text.compression import plain, readable, unpacked
from regard.text.lines import Line, any_lines

LONGEST = 2**20
"""Bytes of a line that are kept: what is longer is no text that anyone wrote."""
PIECE = 2**16


class Size(NamedTuple):
    """What a window holds at most: enough to find sentences of like length, and not more than may be lost."""

    lines: int
    bytes: int


SIZE = Size(512, 2**18)
GPU_SIZE = Size(8192, 2**22)


class Window(NamedTuple):
    """Some lines in a row."""

    number: int
    """Of the window, from 0."""
    first: int
    """The number of its first line, from 1."""
    lines: list[Line]
    position: int
    """How far the file has been read, in bytes as they lie on disk."""


def file_windows(path: Path, size: Size) -> Iterator[Window]:
    """The lines of a file, packed or not; the same windows each time."""
    read = _Counter()
    return _windows(any_lines(unpacked(path, read.add), LONGEST), size, read, lambda: True)


def stream_windows(descriptor: int, size: Size, full: bool, name: str = "stdin") -> Iterator[Window]:
    """What arrives in a pipe or from a person: so much as is there, so that nobody waits for an answer.

    Where windows are to be `full` they wait until they are.
    """
    read = _Counter()

    def pieces() -> Iterator[bytes]:
        while piece := os.read(descriptor, PIECE):
            read.add(piece)
            yield piece

    text = plain(name, pieces(), "unpack it on the way (zcat, xzcat, zstdcat)")
    return _windows(any_lines(text, LONGEST), size, read, lambda: full or _waits(descriptor))


def pipe_windows(path: Path, size: Size, full: bool) -> Iterator[Window]:
    """The same of a pipe or a device that has a name; it can be read once, from its beginning."""
    with readable(path), path.open("rb", buffering=0) as pipe:
        yield from stream_windows(pipe.fileno(), size, full, str(path))


def text_windows(texts: Sequence[str], size: Size) -> Iterator[Window]:
    """Texts that are in memory, each as a line."""
    read = _Counter()

    def lines() -> Iterator[list[Line]]:
        for text in texts:
            content = text.encode("utf-8")
            read.add(content)
            yield [Line(content)]

    return _windows(lines(), size, read, lambda: True)


class _Counter:
    """Bytes so far."""

    def __init__(self) -> None:
        self.bytes = 0

    def add(self, piece: bytes) -> None:
        self.bytes += len(piece)


def _windows(
    groups: Iterator[list[Line]], size: Size, read: _Counter, more: Callable[[], bool]
) -> Iterator[Window]:
    number, first, held, held_bytes = 0, 1, [], 0
    for group in groups:
        for line in group:
            held.append(line)
            held_bytes += len(line.content)
            if len(held) >= size.lines or held_bytes >= size.bytes:
                yield Window(number, first, held, read.bytes)
                number, first, held, held_bytes = number + 1, first + len(held), [], 0
        if held and not more():
            yield Window(number, first, held, read.bytes)
            number, first, held, held_bytes = number + 1, first + len(held), [], 0
    if held:
        yield Window(number, first, held, read.bytes)


def _waits(descriptor: int) -> bool:
    """Whether there is more to read at once."""
    if os.name == "nt":  # which cannot ask that of a pipe
        return False
    return bool(select.select([descriptor], [], [], 0)[0])
