"""Like lengths together, a token budget per batch: little padding, steps of even weight (section 5.1)."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int64

Lengths = Int64[np.ndarray, " pairs"]
Indexes = Int64[np.ndarray, " batch"]


def stream(
    source: Lengths, target: Lengths, budget: int, seed: int, epoch: int = 0, start: int = 0
) -> Iterator[Indexes]:
    """Epoch after epoch without end, from any batch of any epoch."""
    while True:
        yield from shuffled(source, target, budget, seed, epoch)[start:]
        epoch, start = epoch + 1, 0


def shuffled(source: Lengths, target: Lengths, budget: int, seed: int, epoch: int) -> list[Indexes]:
    """Every pair once, in batches of at most `budget` padded tokens on either side.

    Which pairs share a batch, and the order of batches, depend on seed and epoch alone. A pair
    longer than the budget gets a batch to itself.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(source))
    order = order[np.lexsort((source[order], target[order]))]
    batches = list(_cut(order, np.maximum(source, target), budget))
    return [batches[i] for i in random.permutation(len(batches))]


def by_length(lengths: Lengths, budget: int) -> list[Indexes]:
    """Every sequence once, the longest first, so that memory is most at the start."""
    return list(_cut(np.argsort(-lengths, kind="stable"), lengths, budget))


def _cut(order: Indexes, lengths: Lengths, budget: int) -> Iterator[Indexes]:
    """Runs of `order` whose longest, end mark included, times their number stays within the budget."""
    first, widest = 0, 0
    for here, length in enumerate(lengths[order].tolist()):
        if here > first and (here - first + 1) * (max(widest, length) + 1) > budget:
            yield order[first:here]
            first, widest = here, 0
        widest = max(widest, length)
    if len(order):
        yield order[first:]
