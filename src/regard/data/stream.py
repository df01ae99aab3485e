"""Shuffled epochs without end, in batches by token budget; any position is reached at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int64

from regard.data.permutation import permute_indices

StreamIndexes = Int64[np.ndarray, " chosen"]
StreamLengths = Int64[np.ndarray, " chosen"]

POOL_SIZE = 2**16
"""Pairs that are drawn together, sorted and cut into batches; the last pool has up to half more or less.

So the first batch costs the same, however many pools come after it.
"""


@runtime_checkable
class StreamableDataset(Protocol):
    """What can be streamed: something that says which pairs an epoch shows, and how long they are."""

    @property
    def epoch_size(self) -> int: ...

    def epoch_indexes(self, epoch: int, positions: StreamIndexes) -> StreamIndexes: ...

    def lengths_of(self, indexes: StreamIndexes) -> tuple[StreamLengths, StreamLengths]: ...


@dataclass(frozen=True)
class TokenBudget:
    """How large a batch is."""

    max_tokens: int
    """The most on either side: real ones, end marks counted, padding not."""
    max_sentences: int | None = None
    """The most pairs; none is any number."""
    sort_by_length: bool = True
    """Like lengths together, for batches that will be padded."""


@dataclass(frozen=True)
class StreamPosition:
    """A place between two batches of a stream."""

    epoch: int = 0
    pool: int = 0
    batch: int = 0


STREAM_START = StreamPosition()


def stream_batches(
    dataset: StreamableDataset, budget: TokenBudget, seed: int, start: StreamPosition = STREAM_START
) -> Iterator[tuple[StreamIndexes, StreamPosition]]:
    """The indexes of each batch and the position after it, epoch after epoch without end, from `start` on.

    Which pairs share a batch, and the order of batches, depend on seed and epoch alone.
    """
    pools = _pool_count(dataset.epoch_size)
    while True:
        batches = make_pool_batches(dataset, budget, seed, start.epoch, start.pool)
        for number in range(start.batch, len(batches) - 1):
            yield batches[number], StreamPosition(start.epoch, start.pool, number + 1)
        last = start.pool + 1 == pools
        after = StreamPosition(start.epoch + 1) if last else StreamPosition(start.epoch, start.pool + 1)
        if start.batch < len(batches):
            yield batches[-1], after
        start = after


def share(
    batches: Iterator[tuple[StreamIndexes, StreamPosition]], rank: int, world: int
) -> Iterator[tuple[StreamIndexes, StreamPosition]]:
    """The part of one of `world` processes: of every `world` batches one, and the position after all of them.

    Batch i goes to process i % world, so the order over all of them is that of a single one.
    """
    while True:
        turn = list(islice(batches, world))
        yield turn[rank][0], turn[-1][1]


def make_pool_batches(
    dataset: StreamableDataset, budget: TokenBudget, seed: int, epoch: int, pool: int
) -> list[StreamIndexes]:
    """The batches of one pool in random order; together they hold its pairs once each."""
    first = pool * POOL_SIZE
    end = dataset.epoch_size if pool + 1 == _pool_count(dataset.epoch_size) else first + POOL_SIZE
    turns = permute_indices(np.arange(first, end), dataset.epoch_size, seed, epoch)
    indexes = dataset.epoch_indexes(epoch, turns)
    source, target = dataset.lengths_of(indexes)
    if budget.sort_by_length:
        order = _order_by_length(source, target)
        indexes, source, target = indexes[order], source[order], target[order]
    ends = _batch_ends(source + 1, target + 1, budget)
    batches = np.split(indexes, ends[:-1])
    return [batches[i] for i in permute_indices(np.arange(len(batches)), len(batches), seed, epoch, pool)]


def _order_by_length(source: StreamLengths, target: StreamLengths) -> StreamIndexes:
    """Places by the length of the target, then of the source; among equals the order stays random.

    What numpy sorts stably in 16 bits it does not compare: eight times as fast as `lexsort`, and the first
    pool is what a start waits for. Sentences too long for 16 bits are all alike.
    """
    source, target = (np.minimum(side, 2**16 - 1).astype(np.uint16) for side in (source, target))
    order = np.argsort(source, kind="stable")
    return order[np.argsort(target[order], kind="stable")]


def _batch_ends(source: StreamLengths, target: StreamLengths, plan: TokenBudget) -> list[int]:
    """Where each batch ends, in order, when each takes all it can; a pair over the budget stands alone."""
    here = np.arange(len(source))
    ends = here + (len(source) if plan.max_sentences is None else plan.max_sentences)
    for lengths in (source, target):
        total = np.cumsum(lengths)
        ends = np.minimum(ends, np.searchsorted(total, total - lengths + plan.max_tokens, side="right"))
    reach = np.maximum(ends, here + 1).tolist()
    found, place = [], 0
    while place < len(reach):
        place = reach[place]
        found.append(place)
    return found


def _pool_count(turns: int) -> int:
    return max(1, (turns + POOL_SIZE // 2) // POOL_SIZE)
