"""Sampling sentences from patterns without repetition, by a Feistel permutation of their numbers."""

import math
from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import accumulate
from random import Random

from regard.demo.phrasebook.sentence_pattern import Pattern

ROUNDS = 4
_MASK = (1 << 64) - 1


def draw_sentences(patterns: Sequence[Pattern], seed: int) -> Iterator[tuple[str, str]]:
    """Yield every sentence once: choose a pattern by weight, then its next sentence in shuffled order.

    An exhausted pattern is dropped. Only `random()` and `getrandbits()` are used, which give the same
    numbers in every version of Python.
    """
    random = Random(seed)
    spoken = [(pattern, _shuffled_indices(pattern, random)) for pattern in patterns]
    while spoken:
        bounds = list(accumulate(pattern.weight for pattern, _ in spoken))
        choose, total = random.random, bounds[-1]
        while True:
            chosen = bisect(bounds, choose() * total, 0, len(spoken) - 1)
            pattern, order = spoken[chosen]
            index = next(order, None)
            if index is None:
                del spoken[chosen]
                break
            yield pattern.sentence(index)


class FeistelShuffle:
    """A permutation of range(size), by a Feistel network over a nearly square grid.

    Each round shifts one coordinate by a hash of the other, which is invertible, so the map is one to one.
    Results of at least `size` are mapped again until they fall below it (cycle walking).
    """

    def __init__(self, size: int, random: Random) -> None:
        self.size = size
        self._rows = math.isqrt(size) + 1
        self._columns = -(-size // self._rows)
        self._keys = tuple(random.getrandbits(64) | 1 for _ in range(ROUNDS))

    def __getitem__(self, index: int) -> int:
        """Return the number at this position of the permutation."""
        rows, columns = self._rows, self._columns
        first, second, third, fourth = self._keys
        while True:
            row, column = divmod(index, columns)
            row = (row + _scramble(column, first)) % rows
            column = (column + _scramble(row, second)) % columns
            row = (row + _scramble(column, third)) % rows
            column = (column + _scramble(row, fourth)) % columns
            index = row * columns + column
            if index < self.size:
                return index


def _shuffled_indices(pattern: Pattern, random: Random) -> Iterator[int]:
    shuffle = FeistelShuffle(pattern.size, random)
    return map(shuffle.__getitem__, range(pattern.size))


def _scramble(number: int, key: int) -> int:
    mixed = (number + key) * 0x9E3779B97F4A7C15 & _MASK
    return (mixed ^ mixed >> 29) * key >> 24 & 0xFFFFFFFF
