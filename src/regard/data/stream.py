"""Endless stream of shuffled batches within a token budget; any position is reached at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from regard.data.pairs import Indexes, Lengths
from regard.data.permutation import permute_indices

POOL_SIZE = 2**16
"""Pairs that are drawn together, sorted and cut into batches; the last pool has up to half more or less.

So the first batch costs the same, however many pools come after it.
"""


@runtime_checkable
class StreamableDataset(Protocol):
    """A dataset that knows the order of its epochs and the lengths of its pairs."""

    @property
    def epoch_size(self) -> int: ...

    def epoch_indexes(self, epoch: int, positions: Indexes) -> Indexes: ...

    def lengths_of(self, indexes: Indexes) -> tuple[Lengths, Lengths]: ...


@dataclass(frozen=True)
class TokenBudget:
    """Size of a batch."""

    max_tokens: int
    """Limit on either side; <s> or </s> counted, padding not."""
    max_sentences: int | None = None
    """Limit on the number of pairs, if any."""
    sort_by_length: bool = True
    """Whether pairs of similar lengths share a batch, for batches that will be padded."""


@dataclass(frozen=True)
class StreamPosition:
    """A position between two batches of a stream."""

    epoch: int = 0
    pool: int = 0
    batch: int = 0


STREAM_START = StreamPosition()


def stream_batches(
    dataset: StreamableDataset, budget: TokenBudget, seed: int, start: StreamPosition = STREAM_START
) -> Iterator[tuple[Indexes, StreamPosition]]:
    """Yield the indexes of each batch and the position after it, epoch after epoch without end.

    Which pairs share a batch, and the order of batches, depend on seed and epoch alone.
    """
    pools = _pool_count(dataset.epoch_size)
    while True:
        batches = make_pool_batches(dataset, budget, seed, start.epoch, start.pool)
        for number in range(start.batch, len(batches) - 1):
            yield batches[number], StreamPosition(start.epoch, start.pool, number + 1)
        is_last = start.pool + 1 == pools
        after = StreamPosition(start.epoch + 1) if is_last else StreamPosition(start.epoch, start.pool + 1)
        if start.batch < len(batches):
            yield batches[-1], after
        start = after


def count_epoch_batches(dataset: StreamableDataset, budget: TokenBudget, seed: int) -> int:
    """Return the number of batches of the first epoch; others may have one more or less."""
    pools = range(_pool_count(dataset.epoch_size))
    return sum(len(make_pool_batches(dataset, budget, seed, 0, pool)) for pool in pools)


def make_pool_batches(
    dataset: StreamableDataset, budget: TokenBudget, seed: int, epoch: int, pool: int
) -> list[Indexes]:
    """Return the batches of one pool in random order; each of its pairs is in one of them."""
    first = pool * POOL_SIZE
    end = dataset.epoch_size if pool + 1 == _pool_count(dataset.epoch_size) else first + POOL_SIZE
    positions = permute_indices(np.arange(first, end), dataset.epoch_size, seed, epoch)
    indexes = dataset.epoch_indexes(epoch, positions)
    source, target = dataset.lengths_of(indexes)
    if budget.sort_by_length:
        order = _order_by_length(source, target)
        indexes, source, target = indexes[order], source[order], target[order]
    ends = _batch_ends(source + 1, target + 1, budget)
    batches = np.split(indexes, ends[:-1])
    return [batches[i] for i in permute_indices(np.arange(len(batches)), len(batches), seed, epoch, pool)]


def _order_by_length(source: Lengths, target: Lengths) -> Indexes:
    """Return the order by length of the target, then of the source; the order of equals stays random.

    Stable sorting of 16-bit integers in numpy compares nothing and is eight times as fast as `lexsort`,
    and training waits for the first pool. Sentences too long for 16 bits count as equal.
    """
    source, target = (np.minimum(side, 2**16 - 1).astype(np.uint16) for side in (source, target))
    order = np.argsort(source, kind="stable")
    return order[np.argsort(target[order], kind="stable")]


def _batch_ends(source: Lengths, target: Lengths, budget: TokenBudget) -> list[int]:
    """Return the end of each batch when each takes all it can; a pair over the budget is alone in one."""
    starts = np.arange(len(source))
    ends = starts + (len(source) if budget.max_sentences is None else budget.max_sentences)
    for lengths in (source, target):
        total = np.cumsum(lengths)
        ends = np.minimum(ends, np.searchsorted(total, total - lengths + budget.max_tokens, side="right"))
    end_by_start = np.maximum(ends, starts + 1).tolist()
    batch_ends, end = [], 0
    while end < len(end_by_start):
        end = end_by_start[end]
        batch_ends.append(end)
    return batch_ends


def _pool_count(epoch_size: int) -> int:
    return max(1, (epoch_size + POOL_SIZE // 2) // POOL_SIZE)
