"""Where pairs of sentences lie: in two files, line by line, or in one with both sides on each line."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from regard.text.lines import read_lines
from regard.text.rows import NO_PAIR, Row, as_bytes, parser
from regard.text.unpack import Seen


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
        parse = parser(self.source, _sides, "a pair")
        return (parse(line) for line in read_lines(self.source, seen))


def _sides(document: Any) -> Row:
    """{"source": ..., "target": ...}, and whatever else beside them."""
    match document:
        case {"source": str(source), "target": str(target)}:
            return as_bytes(source), as_bytes(target)
        case _:
            return NO_PAIR
