"""Characters that no text should have."""

import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from regard.corpus import findings as kinds
from regard.corpus.dedup import NO_HASH, HashFile, KnownHashes, is_known
from regard.corpus.findings import Finding, FindingKind
from regard.corpus.misalignment import MisalignmentDetector
from regard.text.corpus_files import MALFORMED_ROW, RawRow

CONTROL_PATTERN = re.compile(r"[\x01-\x08\x0a-\x1f\x7f-\x9f]")


def find_unprintable(*texts: str) -> FindingKind | None:
    """What is in one of the texts that prints nothing; a tab is fine."""
    if all(map(str.isprintable, texts)):  # quick, and true of nearly all lines
        return None
    if any("\0" in text for text in texts):
        return kinds.NUL_CHARACTER
    return kinds.CONTROL_CHARACTERS if any(map(CONTROL_PATTERN.search, texts)) else None


BLOCK_ROWS = 8192  # rows whose numbers are gathered before numpy looks at them

RowCheck = Callable[[bytes, bytes], tuple[int, int] | FindingKind]
"""The hashes of a row that may be learned from, or why it may not."""


@dataclass(frozen=True)
class RowFindingKinds:
    """What can be wrong with a single row."""

    by_priority: tuple[FindingKind, ...]
    """A row that is bad in several ways counts under the first of these."""
    malformed: FindingKind
    """The line does not hold both parts of a row."""
    shared: FindingKind
    """A hash of the row is known."""
    noun: str
    """What a row is called."""


class CorpusScan:
    """Gathers line numbers of bad rows, and the hashes of good ones."""

    def __init__(
        self,
        kinds: RowFindingKinds,
        check_row: RowCheck,
        hashes: HashFile,
        known: tuple[KnownHashes, KnownHashes] | None,
        shift: MisalignmentDetector | None = None,
    ) -> None:
        self._kinds, self._judge, self._hashes, self._known, self._shift = (
            kinds,
            check_row,
            hashes,
            known,
            shift,
        )
        self.row_count = 0
        self.line_counts = 0, 0
        """Of the first and of the second file, or twice those of the only one."""
        self._bad = {kind: array("q") for kind in kinds.by_priority}
        self._block = _RowBlock()

    def scan(self, rows: Iterable[RawRow]) -> None:
        """Takes in all of a corpus."""
        first_lines = second_lines = 0
        for row in rows:
            first, second = row
            first_lines += first is not None or row is MALFORMED_ROW
            second_lines += second is not None or row is MALFORMED_ROW
            if first is not None and second is not None:
                self._add(self._judge(first, second), len(first), len(second))
            elif row is MALFORMED_ROW:
                self._add(self._kinds.malformed, 0, 0)
        self._flush_block()
        self.line_counts = first_lines, second_lines

    @property
    def row_findings(self) -> list[Finding]:
        """All that was found in single rows, worst first."""
        return [Finding(kind, len(lines), lines) for kind, lines in self._bad.items() if lines]

    def fatal_findings(self, file_names: Sequence[str]) -> list[Finding]:
        """Why nothing can be learned from the files, if nothing can."""
        for name, count in zip(file_names, self.line_counts, strict=False):
            if count == 0:
                return [Finding(kinds.NOTHING_USABLE, 0, [], empty_file_message(name))]
        if self.line_counts[0] != self.line_counts[1]:
            said = line_count_mismatch(file_names, self.line_counts)
            missing = abs(self.line_counts[0] - self.line_counts[1])
            return [Finding(kinds.LINE_COUNTS, missing, [min(self.line_counts) + 1], said)]
        if self.row_count == sum(map(len, self._bad.values())):
            said = f"{' and '.join(file_names)}: no {self._kinds.noun} that could be used; most: {self._most_frequent_kind}"
            return [Finding(kinds.NOTHING_USABLE, self.line_counts[0], [], said)]
        return []

    @property
    def _most_frequent_kind(self) -> str:
        """The kind that most bad rows are of."""
        kind = max(self._bad, key=lambda kind: len(self._bad[kind]))
        return f"{kind.name} ({kind.meaning})"

    def _add(self, verdict: tuple[int, int] | FindingKind, first_length: int, second_length: int) -> None:
        self.row_count += 1
        slab = self._block
        if isinstance(verdict, FindingKind):
            self._bad[verdict].append(self.row_count)
            verdict = NO_HASH, NO_HASH
        slab.hashes.extend(verdict)
        slab.first_length.append(first_length)
        slab.second_length.append(second_length)
        if len(slab.first_length) == BLOCK_ROWS:
            self._flush_block()

    def _flush_block(self) -> None:
        """Looks at a whole slab at once, and begins the next."""
        slab, self._block = self._block, _RowBlock()
        if self._shift is not None:
            self._shift.add_lengths(int64_view(slab.first_length), int64_view(slab.second_length))
        hashes = int64_view(slab.hashes).reshape(-1, 2)
        self._hashes.add(hashes)
        if self._known is not None:
            shared = is_known(self._known[0], hashes[:, 0]) | is_known(self._known[1], hashes[:, 1])
            before = self.row_count - len(shared)
            self._bad[self._kinds.shared].extend((np.flatnonzero(shared) + before + 1).tolist())


class _RowBlock:
    """The lengths of some thousand rows, and the hashes of their parts, one after the other."""

    def __init__(self) -> None:
        self.first_length, self.second_length, self.hashes = array("q"), array("q"), array("q")


def line_count_mismatch(names: Sequence[str], line_counts: Sequence[int]) -> str:
    """What to say of two files that cannot match."""
    return f"{names[0]} has {line_counts[0]} lines and {names[1]} {line_counts[1]}; the two sides must pair line by line"


def empty_file_message(name: str) -> str:
    """What to say of a file with nothing in it."""
    return f"{name} is empty; it must hold one sentence per line"


def int64_view(values: array) -> Int64[np.ndarray, " int64_view"]:
    return np.frombuffer(values, dtype=np.int64)
