"""Detection of misaligned line ranges: two files that are shifted against each other from some line on."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Integer

MAX_OFFSET = 3
"""Lines up and down that are compared."""
OFFSETS = tuple(k for k in range(-MAX_OFFSET, MAX_OFFSET + 1) if k)
BLOCK_LINES = 50
"""Lines whose costs are summed."""
MIN_BLOCKS = 4
"""A shorter misalignment cannot be distinguished from chance."""
MAX_MISALIGNMENTS = 100
"""A file with more has other problems."""
MAX_LINE_COST = 1.0
"""Limit of the cost of a line, or one odd pair would outweigh many."""
MAX_COST_RATIO = 0.8
"""The other offset must leave at most this part of the cost..."""
MIN_STANDARD_ERRORS = 6.0
"""...and win by this many standard errors."""


@dataclass(frozen=True)
class Misalignment:
    """A range of lines, ends included, in which source lines fit targets `offset` lines further down."""

    first_line: int
    last_line: int
    offset: int


class MisalignmentDetector:
    """Compares the lengths of both sides; needs a few numbers of memory per block of lines.

    A translation is about as long as its source times a factor of the language pair (Gale and Church,
    1993). So the logarithms of the two lengths differ by about a constant where the files match, and
    by more where they do not.
    """

    def __init__(self) -> None:
        self._source = self._target = np.zeros(0)
        self._costs = [np.zeros((0, 1 + len(OFFSETS)))]

    def add_lengths(
        self, source: Integer[np.ndarray, " lines"], target: Integer[np.ndarray, " lines"]
    ) -> None:
        """Add the lengths of the next lines; an incomplete block waits for more."""
        self._source = np.concatenate([self._source, np.log(source + 1.0)])
        self._target = np.concatenate([self._target, np.log(target + 1.0)])
        blocks = max(0, len(self._source) - 2 * MAX_OFFSET) // BLOCK_LINES
        if blocks:
            self._costs.append(_block_costs(self._source, self._target, blocks))
            self._source = self._source[blocks * BLOCK_LINES :]
            self._target = self._target[blocks * BLOCK_LINES :]

    def find_misalignments(self) -> list[Misalignment]:
        """Return the line ranges in which another offset clearly fits better, in order."""
        costs = np.concatenate(self._costs)
        misalignments = []
        while len(misalignments) < MAX_MISALIGNMENTS and (best := _best_segment(costs)) is not None:
            begin, end, offset = best
            first_line = 1 + begin * BLOCK_LINES + MAX_OFFSET * (begin > 0)
            misalignments.append(Misalignment(first_line, end * BLOCK_LINES + MAX_OFFSET, offset))
            costs[begin:end] = 0
            costs[begin:end, 0] = -BLOCK_LINES * MAX_LINE_COST  # no other segment gains by crossing this one
        return sorted(misalignments, key=lambda each: each.first_line)


def _block_costs(
    source: Float[np.ndarray, " lines"], target: Float[np.ndarray, " lines"], blocks: int
) -> Float[np.ndarray, "blocks offsets"]:
    """Return the disagreement of the lengths per block: at offset 0, then at each of OFFSETS."""
    median_difference = np.median(target) - np.median(source)
    lines = slice(MAX_OFFSET, MAX_OFFSET + blocks * BLOCK_LINES)
    columns = [
        np.minimum(
            np.abs(target[lines.start + k : lines.stop + k] - source[lines] - median_difference),
            MAX_LINE_COST,
        )
        for k in (0, *OFFSETS)
    ]
    return np.stack(columns, axis=1).reshape(blocks, BLOCK_LINES, -1).sum(axis=1)


def _best_segment(costs: Float[np.ndarray, "blocks offsets"]) -> tuple[int, int, int] | None:
    """Return the first block, the end block and the offset of the segment that gains most, if any."""
    candidates = []
    for column, offset in enumerate(OFFSETS, start=1):
        begin, end = _max_sum_segment(costs[:, 0] - costs[:, column])
        if _is_significant(costs[begin:end, 0], costs[begin:end, column]):
            candidates.append((np.sum(costs[begin:end, 0] - costs[begin:end, column]), begin, end, offset))
    return max(candidates)[1:] if candidates else None


def _max_sum_segment(gains: Float[np.ndarray, " blocks"]) -> tuple[int, int]:
    """Return begin and end of the run of blocks with the largest sum."""
    total = np.concatenate([np.zeros(1), np.cumsum(gains)])
    end = int(np.argmax(total - np.minimum.accumulate(total)))
    return int(np.argmin(total[: end + 1])), end


def _is_significant(aligned: Float[np.ndarray, " blocks"], shifted: Float[np.ndarray, " blocks"]) -> bool:
    if len(aligned) < MIN_BLOCKS or np.sum(shifted) > MAX_COST_RATIO * np.sum(aligned):
        return False
    gains = aligned - shifted
    return bool(np.mean(gains) > MIN_STANDARD_ERRORS * np.std(gains) / np.sqrt(len(gains)))
