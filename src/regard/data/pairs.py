"""Ragged arrays of token ids, and the dataset of sentence pairs with its weighted epochs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from jaxtyping import Int64, Integer

Indexes = Int64[np.ndarray, " chosen"]
Lengths = Int64[np.ndarray, " chosen"]


@dataclass(frozen=True)
class RaggedIds:
    """Token ids of many sentences in one flat array: sentence i is flat[starts[i]:starts[i + 1]]."""

    flat: Integer[np.ndarray, " tokens"]
    starts: Int64[np.ndarray, " sentences_and_one"]
    compact_lengths: Integer[np.ndarray, " sentences"] | None = None
    """The lengths in a narrow integer type: fewer pages to read where the arrays are mapped from files."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> Integer[np.ndarray, " length"]:
        return self.flat[self.starts[index] : self.starts[index + 1]]

    @property
    def lengths(self) -> Int64[np.ndarray, " sentences"]:
        return np.diff(self.starts)

    def lengths_of(self, indexes: Indexes) -> Lengths:
        """Return the lengths of these sentences without reading the others."""
        if self.compact_lengths is not None:
            return self.compact_lengths[indexes].astype(np.int64)
        return self.starts[indexes + 1] - self.starts[indexes]

    def take(self, indexes: Indexes) -> "RaggedIds":
        """Return these sentences in this order."""
        return concatenate_rows([self[i] for i in indexes.tolist()])


def concatenate_rows(rows: Sequence[Sequence[int] | Integer[np.ndarray, " _"]]) -> RaggedIds:
    """Build a ragged array from rows of ids."""
    lengths = np.fromiter((len(row) for row in rows), np.int64, len(rows))
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    flat = np.concatenate([np.asarray(row, np.int32) for row in rows]) if rows else np.zeros(0, np.int32)
    return RaggedIds(flat, starts)


@dataclass(frozen=True)
class PairDataset:
    """Sentence pairs of one or more corpora, one corpus after the other."""

    source: RaggedIds
    target: RaggedIds
    corpus_sizes: tuple[int, ...]
    """Number of pairs of each corpus."""
    weights: tuple[float, ...]
    """Repetitions of each corpus per epoch; with 2.5 half of the pairs come a third time, the others next."""
    variants: int = 1
    """Tokenizations stored of each pair (BPE dropout); epochs take them in turn."""
    line_numbers: Int64[np.ndarray, " pairs"] = field(default_factory=lambda: np.zeros(0, np.int64))
    """Line of each pair in its corpus, counted from 1; empty where it is never needed."""

    def __len__(self) -> int:
        return len(self.source) // self.variants

    @property
    def mean_length(self) -> float:
        """Mean number of tokens on the longer side, </s> included."""
        return max(len(side.flat) / len(side) + 1 for side in (self.source, self.target))

    @property
    def epoch_size(self) -> int:
        """Number of pairs in an epoch, repetitions included."""
        return sum(self._corpus_epoch_sizes)

    @property
    def _corpus_epoch_sizes(self) -> tuple[int, ...]:
        """Pairs of each corpus in an epoch, at least one if it has any."""
        weighted = zip(self.corpus_sizes, self.weights, strict=True)
        return tuple(max(min(1, size), round(size * weight)) for size, weight in weighted)

    def epoch_indexes(self, epoch: int, positions: Indexes) -> Indexes:
        """Return the pairs at these positions of an epoch, which starts where the one before stopped."""
        corpus = np.searchsorted(np.array([*accumulate(self._corpus_epoch_sizes)]), positions, side="right")
        sizes = np.array(self.corpus_sizes, np.int64)
        epoch_sizes = np.array(self._corpus_epoch_sizes, np.int64)
        first, first_position = (np.cumsum(each) - each for each in (sizes, epoch_sizes))
        size = sizes[corpus]
        offset = positions - first_position[corpus] + epoch * epoch_sizes[corpus] % size
        pairs = first[corpus] + offset % size
        return pairs * self.variants + epoch % self.variants

    def lengths_of(self, indexes: Indexes) -> tuple[Lengths, Lengths]:
        """Return the lengths of both sides of these pairs, </s> not counted."""
        return self.source.lengths_of(indexes), self.target.lengths_of(indexes)

    def line_numbers_of(self, indexes: Indexes) -> dict[int, list[int]]:
        """Return the sorted, distinct line numbers of these pairs by corpus."""
        pairs = indexes // self.variants
        corpora = np.searchsorted(np.cumsum(self.corpus_sizes), pairs, side="right")
        lines = self.line_numbers[pairs]
        return {
            corpus: np.unique(lines[corpora == corpus]).tolist() for corpus in np.unique(corpora).tolist()
        }


def single_corpus_dataset(source: RaggedIds, target: RaggedIds) -> PairDataset:
    """Return one corpus whose pairs come once in an epoch."""
    return PairDataset(source, target, (len(source),), (1.0,))
