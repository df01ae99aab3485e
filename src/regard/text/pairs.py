"""Where pairs of sentences lie: in two files, line by line, or in one with both sides on each line."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from regard.errors import DataError
from regard.text.lines import read_lines
from regard.text.unpack import PACKED, Seen

Row = tuple[bytes | None, bytes | None]
NO_PAIR: Row = (None, None)
"""What a line gives that does not hold a pair."""


@dataclass(frozen=True)
class PairFiles:
    """A source and its target, or one .tsv or .jsonl file; each plain, .gz, .xz or .zst."""

    source: Path
    target: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.source,) if self.target is None else (self.source, self.target)

    @property
    def name(self) -> str:
        return " and ".join(map(str, self.files))

    def rows(self, seen: Seen | None = None) -> Iterator[Row]:
        """Both sides of each line as bytes; a side is None past the end of its file."""
        if self.target is not None:
            return zip_longest(read_lines(self.source, seen), read_lines(self.target, seen))
        parse = _parser(self.source)
        return (parse(line) for line in read_lines(self.source, seen))


def _parser(path: Path) -> Callable[[bytes], Row]:
    name = path.with_suffix("") if path.suffix.lower() in PACKED else path
    match name.suffix.lower():
        case ".tsv":
            return _columns
        case ".jsonl":
            return _document
        case _:
            raise DataError(
                f"{path} does not say how a line holds a pair; its name must end in .tsv or .jsonl, "
                "and then perhaps .gz, .xz or .zst"
            )


def _columns(line: bytes) -> Row:
    """source<TAB>target"""
    match line.split(b"\t"):
        case [source, target]:
            return source, target
        case _:
            return NO_PAIR


def _document(line: bytes) -> Row:
    """{"source": ..., "target": ...}, and whatever else beside them."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return NO_PAIR
    match document:
        case {"source": str(source), "target": str(target)}:  # half a surrogate pair is found as not UTF-8
            return source.encode("utf-8", "surrogatepass"), target.encode("utf-8", "surrogatepass")
        case _:
            return NO_PAIR
