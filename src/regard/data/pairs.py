"""Token ids of many sentences in one flat array: small, quick to slice, easy to keep on disk."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from jaxtyping import Int64, Integer


@dataclass(frozen=True)
class RaggedIds:
    """Sentence i is flat[starts[i]:starts[i + 1]]."""

    flat: Integer[np.ndarray, " tokens"]
    starts: Int64[np.ndarray, " sentences_and_one"]
    compact_lengths: Integer[np.ndarray, " sentences"] | None = None
    """The lengths once more, in few bytes: where all this is mapped from files, they lie on fewer pages."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> Integer[np.ndarray, " length"]:
        return self.flat[self.starts[index] : self.starts[index + 1]]

    @property
    def lengths(self) -> Int64[np.ndarray, " sentences"]:
        return np.diff(self.starts)

    def lengths_of(self, indexes: Int64[np.ndarray, " chosen"]) -> Int64[np.ndarray, " chosen"]:
        """The lengths of those sentences, without a look at the others."""
        if self.compact_lengths is not None:
            return self.compact_lengths[indexes].astype(np.int64)
        return self.starts[indexes + 1] - self.starts[indexes]

    def take(self, indexes: Int64[np.ndarray, " chosen"]) -> "RaggedIds":
        """Those sentences, in that order."""
        return concatenate_rows([self[i] for i in indexes.tolist()])


def concatenate_rows(rows: Sequence[Sequence[int] | Integer[np.ndarray, " _"]]) -> RaggedIds:
    """Rows of ids, laid end to end."""
    lengths = np.fromiter((len(row) for row in rows), np.int64, len(rows))
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    flat = np.concatenate([np.asarray(row, np.int32) for row in rows]) if rows else np.zeros(0, np.int32)
    return RaggedIds(flat, starts)


Indexes = Int64[np.ndarray, " chosen"]
Lengths = Int64[np.ndarray, " chosen"]


@dataclass(frozen=True)
class PairDataset:
    """Two sides, sentence by sentence; corpora lie one after the other."""

    source: RaggedIds
    target: RaggedIds
    corpus_sizes: tuple[int, ...]
    """Pairs of each corpus."""
    weights: tuple[float, ...]
    """A corpus of weight 2.5 is shown twice in an epoch and half of it a third time: the other half next."""
    variants: int = 1
    """How many times each pair stands there, cut into pieces in another way; epochs take them in turn."""
    line_numbers: Int64[np.ndarray, " pairs"] = field(default_factory=lambda: np.zeros(0, np.int64))
    """The line that each pair comes from in its corpus, counted from 1; empty where nobody will ask."""

    def __len__(self) -> int:
        return len(self.source) // self.variants

    @property
    def mean_length(self) -> float:
        """Of the sentences of the longer side, end marks counted."""
        return max(len(side.flat) / len(side) + 1 for side in (self.source, self.target))

    @property
    def epoch_size(self) -> int:
        """Pairs that an epoch shows, repeats counted."""
        return sum(self._corpus_epoch_sizes)

    @property
    def _corpus_epoch_sizes(self) -> tuple[int, ...]:
        """At least one of each corpus that has any."""
        weighted = zip(self.corpus_sizes, self.weights, strict=True)
        return tuple(max(min(1, size), round(size * weight)) for size, weight in weighted)

    def epoch_indexes(self, epoch: int, positions: Indexes) -> Indexes:
        """Where the pairs of those turns are; an epoch's first turn is what the last one stopped before."""
        corpus = np.searchsorted(np.array([*accumulate(self._corpus_epoch_sizes)]), positions, side="right")
        sizes, shown = np.array(self.corpus_sizes, np.int64), np.array(self._corpus_epoch_sizes, np.int64)
        first, first_turn = (np.cumsum(each) - each for each in (sizes, shown))
        size = sizes[corpus]
        pairs = first[corpus] + (positions - first_turn[corpus] + epoch * shown[corpus] % size) % size
        return pairs * self.variants + epoch % self.variants

    def lengths_of(self, indexes: Indexes) -> tuple[Lengths, Lengths]:
        """How long the two sides of those pairs are, end marks not counted."""
        return self.source.lengths_of(indexes), self.target.lengths_of(indexes)

    def line_numbers_of(self, indexes: Indexes) -> dict[int, list[int]]:
        """The lines that those pairs come from, corpus by corpus; each once and in order."""
        pairs = indexes // self.variants
        corpora = np.searchsorted(np.cumsum(self.corpus_sizes), pairs, side="right")
        lines = self.line_numbers[pairs]
        return {
            corpus: np.unique(lines[corpora == corpus]).tolist() for corpus in np.unique(corpora).tolist()
        }


def single_corpus_dataset(source: RaggedIds, target: RaggedIds) -> PairDataset:
    """One corpus, shown once in an epoch."""
    return PairDataset(source, target, (len(source),), (1.0,))
