"""Where two files that once matched line by line have slipped past each other."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Integer

MAX_OFFSET = 3  # lines that a slip is looked for up and down
OFFSETS = tuple(k for k in range(-MAX_OFFSET, MAX_OFFSET + 1) if k)
BLOCK_LINES = 50  # lines judged together
MIN_BLOCKS = 4  # blocks; a shorter slip cannot be told from chance
MAX_MISALIGNMENTS = 100  # slips named; a file with more has other troubles
MAX_LINE_COST = (
    1.0  # a pair's lengths can disagree by this much and no more, or one odd pair would outweigh many
)
MAX_COST_RATIO = 0.8  # the other offset must leave at most this part of the disagreement...
MIN_STANDARD_ERRORS = 6.0  # ...and win by this many standard errors


@dataclass(frozen=True)
class Misalignment:
    """Between two lines, ends included, each source line fits the target `offset` lines further down."""

    first_line: int
    last_line: int
    offset: int


class MisalignmentDetector:
    """Sees the lengths of both sides go by, and keeps a few numbers per block of lines.

    A translation is about as long as its source, times a factor that a language pair has (Gale and
    Church, 1993). So the logarithms of the two lengths differ by about a constant where the files
    match, and by more where they do not.
    """

    def __init__(self) -> None:
        self._source = self._target = np.zeros(0)
        self._costs = [np.zeros((0, 1 + len(OFFSETS)))]

    def add_lengths(
        self, source: Integer[np.ndarray, " lines"], target: Integer[np.ndarray, " lines"]
    ) -> None:
        """The lengths of the next lines; what makes no whole block yet waits for more."""
        self._source = np.concatenate([self._source, np.log(source + 1.0)])
        self._target = np.concatenate([self._target, np.log(target + 1.0)])
        blocks = max(0, len(self._source) - 2 * MAX_OFFSET) // BLOCK_LINES
        if blocks:
            self._costs.append(_block_costs(self._source, self._target, blocks))
            self._source, self._target = (
                self._source[blocks * BLOCK_LINES :],
                self._target[blocks * BLOCK_LINES :],
            )

    def find_misalignments(self) -> list[Misalignment]:
        """The stretches in which another line clearly fits better than the one beside, first to last."""
        costs = np.concatenate(self._costs)
        found = []
        while len(found) < MAX_MISALIGNMENTS and (best := _best_segment(costs)) is not None:
            begin, end, offset = best
            found.append(
                Misalignment(
                    1 + begin * BLOCK_LINES + MAX_OFFSET * (begin > 0), end * BLOCK_LINES + MAX_OFFSET, offset
                )
            )
            costs[begin:end] = 0
            costs[begin:end, 0] = -BLOCK_LINES * MAX_LINE_COST  # no other stretch gains by crossing this one
        return sorted(found, key=lambda shift: shift.first_line)


def _block_costs(
    source: Float[np.ndarray, " lines"], target: Float[np.ndarray, " lines"], blocks: int
) -> Float[np.ndarray, "blocks offsets"]:
    """How badly lengths agree, per block: with the line beside, then with the line at each of OFFSETS."""
    usual = np.median(target) - np.median(source)
    lines = slice(MAX_OFFSET, MAX_OFFSET + blocks * BLOCK_LINES)
    columns = [
        np.minimum(np.abs(target[lines.start + k : lines.stop + k] - source[lines] - usual), MAX_LINE_COST)
        for k in (0, *OFFSETS)
    ]
    return np.stack(columns, axis=1).reshape(blocks, BLOCK_LINES, -1).sum(axis=1)


def _best_segment(costs: Float[np.ndarray, "blocks offsets"]) -> tuple[int, int, int] | None:
    """The first block, the one after the last, and the offset of the stretch that gains most, if any does."""
    found = []
    for column, offset in enumerate(OFFSETS, start=1):
        begin, end = _max_sum_segment(costs[:, 0] - costs[:, column])
        if _is_significant(costs[begin:end, 0], costs[begin:end, column]):
            found.append((np.sum(costs[begin:end, 0] - costs[begin:end, column]), begin, end, offset))
    return max(found)[1:] if found else None


def _max_sum_segment(gains: Float[np.ndarray, " blocks"]) -> tuple[int, int]:
    """Where the run of blocks with the largest sum begins and ends."""
    total = np.concatenate([np.zeros(1), np.cumsum(gains)])
    end = int(np.argmax(total - np.minimum.accumulate(total)))
    return int(np.argmin(total[: end + 1])), end


def _is_significant(beside: Float[np.ndarray, " blocks"], other: Float[np.ndarray, " blocks"]) -> bool:
    if len(beside) < MIN_BLOCKS or np.sum(other) > MAX_COST_RATIO * np.sum(beside):
        return False
    gains = beside - other
    return bool(np.mean(gains) > MIN_STANDARD_ERRORS * np.std(gains) / np.sqrt(len(gains)))
