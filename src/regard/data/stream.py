"""Shuffled epochs without end, in batches by token budget; any position is reached at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int64

from regard.data.permutation import permuted

Indexes = Int64[np.ndarray, " chosen"]
Lengths = Int64[np.ndarray, " chosen"]

POOL = 2**16
"""Pairs that are drawn together, to be sorted and cut into batches; in the last pool half as many to half more.

So the first batch costs the same, however many pools come after it.
"""


@runtime_checkable
class Shown(Protocol):
    """What can be streamed: something that says which pairs an epoch shows, and how long they are."""

    @property
    def turns(self) -> int: ...

    def at(self, epoch: int, turns: Indexes) -> Indexes: ...

    def lengths_of(self, indexes: Indexes) -> tuple[Lengths, Lengths]: ...


@dataclass(frozen=True)
class BatchPlan:
    """How large a batch is."""

    tokens: int
    """The most on either side: real ones, end marks counted, padding not."""
    sentences: int | None = None
    """The most pairs; none is any number."""
    sort: bool = True
    """Like lengths together, for batches that will be padded."""


@dataclass(frozen=True)
class Position:
    """A place between two batches of a stream."""

    epoch: int = 0
    pool: int = 0
    batch: int = 0


START = Position()


def stream(
    pairs: Shown, plan: BatchPlan, seed: int, start: Position = START
) -> Iterator[tuple[Indexes, Position]]:
    """The indexes of each batch and the position after it, epoch after epoch without end, from `start` on.

    Which pairs share a batch, and the order of batches, depend on seed and epoch alone.
    """
    pools = _pools(pairs.turns)
    while True:
        batches = pool_batches(pairs, plan, seed, start.epoch, start.pool)
        for number in range(start.batch, len(batches) - 1):
            yield batches[number], Position(start.epoch, start.pool, number + 1)
        last = start.pool + 1 == pools
        after = Position(start.epoch + 1) if last else Position(start.epoch, start.pool + 1)
        if start.batch < len(batches):
            yield batches[-1], after
        start = after


def share(
    batches: Iterator[tuple[Indexes, Position]], rank: int, world: int
) -> Iterator[tuple[Indexes, Position]]:
    """The part of one of `world` processes: of every `world` batches one, and the position after all of them.

    Batch i goes to process i % world, so the order over all of them is that of a single one.
    """
    while True:
        turn = list(islice(batches, world))
        yield turn[rank][0], turn[-1][1]


def pool_batches(pairs: Shown, plan: BatchPlan, seed: int, epoch: int, pool: int) -> list[Indexes]:
    """The batches of one pool in random order; together they hold its pairs once each."""
    first = pool * POOL
    end = pairs.turns if pool + 1 == _pools(pairs.turns) else first + POOL
    turns = permuted(np.arange(first, end), pairs.turns, seed, epoch)
    indexes = pairs.at(epoch, turns)
    source, target = pairs.lengths_of(indexes)
    if plan.sort:
        order = _by_length(source, target)
        indexes, source, target = indexes[order], source[order], target[order]
    ends = _cut(source + 1, target + 1, plan)
    batches = np.split(indexes, ends[:-1])
    return [batches[i] for i in permuted(np.arange(len(batches)), len(batches), seed, epoch, pool)]


def _by_length(source: Lengths, target: Lengths) -> Indexes:
    """Places by the length of the target, then of the source; among equals the order stays random.

    What numpy sorts stably in 16 bits it does not compare: eight times as fast as `lexsort`, and the first
    pool is what a start waits for. Sentences too long for 16 bits are all alike.
    """
    source, target = (np.minimum(side, 2**16 - 1).astype(np.uint16) for side in (source, target))
    order = np.argsort(source, kind="stable")
    return order[np.argsort(target[order], kind="stable")]


def _cut(source: Lengths, target: Lengths, plan: BatchPlan) -> list[int]:
    """Where each batch ends, in order, when each takes all it can; a pair over the budget stands alone."""
    here = np.arange(len(source))
    ends = here + (len(source) if plan.sentences is None else plan.sentences)
    for lengths in (source, target):
        total = np.cumsum(lengths)
        ends = np.minimum(ends, np.searchsorted(total, total - lengths + plan.tokens, side="right"))
    reach = np.maximum(ends, here + 1).tolist()
    found, place = [], 0
    while place < len(reach):
        place = reach[place]
        found.append(place)
    return found


def _pools(turns: int) -> int:
    return max(1, (turns + POOL // 2) // POOL)
