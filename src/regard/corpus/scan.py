"""One pass over the rows of a corpus: collects the lines of bad rows and the hashes of good ones."""

import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64

from regard.corpus import findings as kinds
from regard.corpus.dedup import NO_HASH, HashFile, KnownHashes, is_known
from regard.corpus.findings import Finding, FindingKind
from regard.corpus.misalignment import MisalignmentDetector
from regard.text.corpus_files import MALFORMED_ROW, RawRow

BLOCK_ROWS = 8192
"""Rows whose lengths and hashes are collected before numpy processes them."""
CONTROL_PATTERN = re.compile(r"[\x01-\x08\x0a-\x1f\x7f-\x9f]")


class NotedRow(NamedTuple):
    """A usable row that a note reports."""

    kind: FindingKind
    hashes: tuple[int, int]


RowCheck = Callable[[bytes, bytes], tuple[int, int] | NotedRow | FindingKind]
"""Returns the hashes of a usable row, or the kind of its first defect."""


@dataclass(frozen=True)
class RowFindingKinds:
    """The defects that a single row can have."""

    by_priority: tuple[FindingKind, ...]
    """A row with several defects counts under the first of these."""
    malformed: FindingKind
    """The line does not hold both sides of a row."""
    shared: FindingKind
    """A hash of the row is known from another corpus."""
    noun: str
    """Name of a row in messages."""


class CorpusScan:
    """Collects the line numbers of bad rows, and the hashes of good ones."""

    def __init__(
        self,
        kinds: RowFindingKinds,
        check_row: RowCheck,
        hashes: HashFile,
        known: tuple[KnownHashes, KnownHashes] | None,
        misalignment: MisalignmentDetector | None = None,
    ) -> None:
        self._kinds, self._check_row, self._hashes = kinds, check_row, hashes
        self._known, self._misalignment = known, misalignment
        self.row_count = 0
        self.line_counts = 0, 0
        """Lines of the first and of the second file, or twice those of the only one."""
        self._lines_by_kind = {kind: array("q") for kind in kinds.by_priority}
        self._block = _RowBlock()

    def scan(self, rows: Iterable[RawRow]) -> None:
        """Read all rows of a corpus."""
        first_lines = second_lines = 0
        for row in rows:
            first, second = row
            first_lines += first is not None or row is MALFORMED_ROW
            second_lines += second is not None or row is MALFORMED_ROW
            if first is not None and second is not None:
                self._add(self._check_row(first, second), len(first), len(second))
            elif row is MALFORMED_ROW:
                self._add(self._kinds.malformed, 0, 0)
        self._flush_block()
        self.line_counts = first_lines, second_lines

    @property
    def row_findings(self) -> list[Finding]:
        """The defects of single rows by priority."""
        return [Finding(kind, len(lines), lines) for kind, lines in self._lines_by_kind.items() if lines]

    def fatal_findings(self, file_names: Sequence[str]) -> list[Finding]:
        """Return the reason why the files cannot be used for training at all, if there is one."""
        for name, count in zip(file_names, self.line_counts, strict=False):
            if count == 0:
                return [Finding(kinds.NOTHING_USABLE, 0, [], empty_file_message(name))]
        if self.line_counts[0] != self.line_counts[1]:
            detail = line_count_mismatch(file_names, self.line_counts)
            missing = abs(self.line_counts[0] - self.line_counts[1])
            return [Finding(kinds.LINE_COUNTS, missing, [min(self.line_counts) + 1], detail)]
        if self.row_count == sum(
            len(lines) for kind, lines in self._lines_by_kind.items() if kind.excludes_line
        ):
            names = " and ".join(file_names)
            detail = (
                f"{names}: no usable {self._kinds.noun}; most frequent defect: {self._most_frequent_kind}"
            )
            return [Finding(kinds.NOTHING_USABLE, self.line_counts[0], [], detail)]
        return []

    @property
    def _most_frequent_kind(self) -> str:
        excluding = [kind for kind in self._lines_by_kind if kind.excludes_line]
        kind = max(excluding, key=lambda kind: len(self._lines_by_kind[kind]))
        return f"{kind.name} ({kind.meaning})"

    def _add(
        self, result: tuple[int, int] | NotedRow | FindingKind, first_length: int, second_length: int
    ) -> None:
        self.row_count += 1
        block = self._block
        if isinstance(result, NotedRow):
            self._lines_by_kind[result.kind].append(self.row_count)
            result = result.hashes
        if isinstance(result, FindingKind):
            self._lines_by_kind[result].append(self.row_count)
            result = NO_HASH, NO_HASH
        block.hashes.extend(result)
        block.first_lengths.append(first_length)
        block.second_lengths.append(second_length)
        if len(block.first_lengths) == BLOCK_ROWS:
            self._flush_block()

    def _flush_block(self) -> None:
        """Process the collected block and start the next."""
        block, self._block = self._block, _RowBlock()
        if self._misalignment is not None:
            self._misalignment.add_lengths(int64_view(block.first_lengths), int64_view(block.second_lengths))
        hashes = int64_view(block.hashes).reshape(-1, 2)
        self._hashes.add(hashes)
        if self._known is not None:
            shared = is_known(self._known[0], hashes[:, 0]) | is_known(self._known[1], hashes[:, 1])
            before = self.row_count - len(shared)
            self._lines_by_kind[self._kinds.shared].extend((np.flatnonzero(shared) + before + 1).tolist())


class _RowBlock:
    """The lengths of the sides of some rows, and their hashes, interleaved."""

    def __init__(self) -> None:
        self.first_lengths, self.second_lengths, self.hashes = array("q"), array("q"), array("q")


def find_unprintable(*texts: str) -> FindingKind | None:
    """Return the kind of a NUL or control character in one of the texts; tabs are allowed."""
    if all(map(str.isprintable, texts)):  # fast, and true of nearly all lines
        return None
    if any("\0" in text for text in texts):
        return kinds.NUL_CHARACTER
    return kinds.CONTROL_CHARACTERS if any(map(CONTROL_PATTERN.search, texts)) else None


def line_count_mismatch(names: Sequence[str], line_counts: Sequence[int]) -> str:
    """Return the message about two files of different length."""
    return (
        f"{names[0]} has {line_counts[0]} lines and {names[1]} {line_counts[1]}; "
        "the two sides must pair line by line"
    )


def empty_file_message(name: str) -> str:
    """Return the message about an empty file."""
    return f"{name} is empty; it must hold one sentence per line"


def int64_view(values: array) -> Int64[np.ndarray, " numbers"]:
    """Return the array without copying it."""
    return np.frombuffer(values, dtype=np.int64)
