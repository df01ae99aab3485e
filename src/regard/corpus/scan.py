"""Characters that no text should have."""

import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from regard.corpus import findings as kinds
from regard.corpus.dedup import NONE, HashFile, Known, among
from regard.corpus.findings import Finding, Kind
from regard.corpus.misalignment import ShiftWatch
from regard.text.corpus_files import NO_PAIR, Row

CONTROL = re.compile(r"[\x01-\x08\x0a-\x1f\x7f-\x9f]")


def no_print(*texts: str) -> Kind | None:
    """What is in one of the texts that prints nothing; a tab is fine."""
    if all(map(str.isprintable, texts)):  # quick, and true of nearly all lines
        return None
    if any("\0" in text for text in texts):
        return kinds.NUL
    return kinds.CONTROL if any(map(CONTROL.search, texts)) else None


SLAB = 8192  # rows whose numbers are gathered before numpy looks at them

Judge = Callable[[bytes, bytes], tuple[int, int] | Kind]
"""The hashes of a row that may be learned from, or why it may not."""


@dataclass(frozen=True)
class Kinds:
    """What can be wrong with a single row."""

    every: tuple[Kind, ...]
    """A row that is bad in several ways counts under the first of these."""
    missing: Kind
    """The line does not hold both parts of a row."""
    shared: Kind
    """A hash of the row is known."""
    noun: str
    """What a row is called."""


class Examination:
    """Gathers line numbers of bad rows, and the hashes of good ones."""

    def __init__(
        self,
        kinds: Kinds,
        judge: Judge,
        hashes: HashFile,
        known: tuple[Known, Known] | None,
        shift: ShiftWatch | None = None,
    ) -> None:
        self._kinds, self._judge, self._hashes, self._known, self._shift = kinds, judge, hashes, known, shift
        self.rows = 0
        self.lines = 0, 0
        """Of the first and of the second file, or twice those of the only one."""
        self._bad = {kind: array("q") for kind in kinds.every}
        self._slab = _Slab()

    def read(self, rows: Iterable[Row]) -> None:
        """Takes in all of a corpus."""
        first_lines = second_lines = 0
        for row in rows:
            first, second = row
            first_lines += first is not None or row is NO_PAIR
            second_lines += second is not None or row is NO_PAIR
            if first is not None and second is not None:
                self._add(self._judge(first, second), len(first), len(second))
            elif row is NO_PAIR:
                self._add(self._kinds.missing, 0, 0)
        self._turn()
        self.lines = first_lines, second_lines

    @property
    def bad(self) -> list[Finding]:
        """All that was found in single rows, worst first."""
        return [Finding(kind, len(lines), lines) for kind, lines in self._bad.items() if lines]

    def fatal(self, names: Sequence[str]) -> list[Finding]:
        """Why nothing can be learned from the files, if nothing can."""
        for name, count in zip(names, self.lines, strict=False):
            if count == 0:
                return [Finding(kinds.EMPTY, 0, [], empty(name))]
        if self.lines[0] != self.lines[1]:
            said = differing(names, self.lines)
            missing = abs(self.lines[0] - self.lines[1])
            return [Finding(kinds.LINE_COUNTS, missing, [min(self.lines) + 1], said)]
        if self.rows == sum(map(len, self._bad.values())):
            said = f"{' and '.join(names)}: no {self._kinds.noun} that could be used; most: {self._worst}"
            return [Finding(kinds.EMPTY, self.lines[0], [], said)]
        return []

    @property
    def _worst(self) -> str:
        """The kind that most bad rows are of."""
        kind = max(self._bad, key=lambda kind: len(self._bad[kind]))
        return f"{kind.name} ({kind.meaning})"

    def _add(self, verdict: tuple[int, int] | Kind, first_length: int, second_length: int) -> None:
        self.rows += 1
        slab = self._slab
        if isinstance(verdict, Kind):
            self._bad[verdict].append(self.rows)
            verdict = NONE, NONE
        slab.hashes.extend(verdict)
        slab.first_length.append(first_length)
        slab.second_length.append(second_length)
        if len(slab.first_length) == SLAB:
            self._turn()

    def _turn(self) -> None:
        """Looks at a whole slab at once, and begins the next."""
        slab, self._slab = self._slab, _Slab()
        if self._shift is not None:
            self._shift.add(numbers(slab.first_length), numbers(slab.second_length))
        hashes = numbers(slab.hashes).reshape(-1, 2)
        self._hashes.add(hashes)
        if self._known is not None:
            shared = among(self._known[0], hashes[:, 0]) | among(self._known[1], hashes[:, 1])
            before = self.rows - len(shared)
            self._bad[self._kinds.shared].extend((np.flatnonzero(shared) + before + 1).tolist())


class _Slab:
    """The lengths of some thousand rows, and the hashes of their parts, one after the other."""

    def __init__(self) -> None:
        self.first_length, self.second_length, self.hashes = array("q"), array("q"), array("q")


def differing(names: Sequence[str], lines: Sequence[int]) -> str:
    """What to say of two files that cannot match."""
    return f"{names[0]} has {lines[0]} lines and {names[1]} {lines[1]}; the two sides must pair line by line"


def empty(name: str) -> str:
    """What to say of a file with nothing in it."""
    return f"{name} is empty; it must hold one sentence per line"


def numbers(numbers: array) -> Int64[np.ndarray, " numbers"]:
    return np.frombuffer(numbers, dtype=np.int64)
