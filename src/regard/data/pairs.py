"""Pairs: sentences and their translations as ids, and how often an epoch shows each corpus of them."""

from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from jaxtyping import Int64

from regard.data.ids import Ids

Indexes = Int64[np.ndarray, " chosen"]
Lengths = Int64[np.ndarray, " chosen"]


@dataclass(frozen=True)
class Pairs:
    """Two sides, sentence by sentence; corpora lie one after the other."""

    source: Ids
    target: Ids
    sizes: tuple[int, ...]
    """Pairs of each corpus."""
    weights: tuple[float, ...]
    """A corpus of weight 2.5 is shown twice in an epoch and half of it a third time: the other half next."""
    ways: int = 1
    """How many times each pair stands there, cut into pieces in another way; epochs take them in turn."""
    lines: Int64[np.ndarray, " pairs"] = field(default_factory=lambda: np.zeros(0, np.int64))
    """The line that each pair comes from in its corpus, counted from 1; empty where nobody will ask."""

    def __len__(self) -> int:
        return len(self.source) // self.ways

    @property
    def mean_length(self) -> float:
        """Of the sentences of the longer side, end marks counted."""
        return max(len(side.flat) / len(side) + 1 for side in (self.source, self.target))

    @property
    def turns(self) -> int:
        """Pairs that an epoch shows, repeats counted."""
        return sum(self._turns)

    @property
    def _turns(self) -> tuple[int, ...]:
        """At least one of each corpus that has any."""
        weighted = zip(self.sizes, self.weights, strict=True)
        return tuple(max(min(1, size), round(size * weight)) for size, weight in weighted)

    def at(self, epoch: int, turns: Indexes) -> Indexes:
        """Where the pairs of those turns are; an epoch's first turn is what the last one stopped before."""
        corpus = np.searchsorted(np.array([*accumulate(self._turns)]), turns, side="right")
        sizes, shown = np.array(self.sizes, np.int64), np.array(self._turns, np.int64)
        first, first_turn = (np.cumsum(each) - each for each in (sizes, shown))
        size = sizes[corpus]
        pairs = first[corpus] + (turns - first_turn[corpus] + epoch * shown[corpus] % size) % size
        return pairs * self.ways + epoch % self.ways

    def lengths_of(self, indexes: Indexes) -> tuple[Lengths, Lengths]:
        """How long the two sides of those pairs are, end marks not counted."""
        return self.source.lengths_of(indexes), self.target.lengths_of(indexes)

    def lines_of(self, indexes: Indexes) -> dict[int, list[int]]:
        """The lines that those pairs come from, corpus by corpus; each once and in order."""
        pairs = indexes // self.ways
        corpora = np.searchsorted(np.cumsum(self.sizes), pairs, side="right")
        lines = self.lines[pairs]
        return {
            corpus: np.unique(lines[corpora == corpus]).tolist() for corpus in np.unique(corpora).tolist()
        }


def unweighted(source: Ids, target: Ids) -> Pairs:
    """One corpus, shown once in an epoch."""
    return Pairs(source, target, (len(source),), (1.0,))
