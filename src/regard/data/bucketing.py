"""Like lengths together, a budget of padded tokens per batch: little padding where order does not matter."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int64

PairLengths = Int64[np.ndarray, " pairs"]
BucketIndexes = Int64[np.ndarray, " batch"]


def bucket_by_length(lengths: PairLengths, max_tokens: int) -> list[BucketIndexes]:
    """Every sequence once, the longest first, so that memory is most at the start."""
    return list(_split_by_budget(np.argsort(-lengths, kind="stable"), lengths, max_tokens))


def _split_by_budget(order: BucketIndexes, lengths: PairLengths, budget: int) -> Iterator[BucketIndexes]:
    """Runs of `order` whose longest, end mark included, times their number stays within the budget."""
    first, widest = 0, 0
    for here, length in enumerate(lengths[order].tolist()):
        if here > first and (here - first + 1) * (max(widest, length) + 1) > budget:
            yield order[first:here]
            first, widest = here, 0
        widest = max(widest, length)
    if len(order):
        yield order[first:]
