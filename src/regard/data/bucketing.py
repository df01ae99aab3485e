"""Batches of similar lengths within a budget of padded tokens, for search and scoring."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int64

PairLengths = Int64[np.ndarray, " pairs"]
BucketIndexes = Int64[np.ndarray, " batch"]


def bucket_by_length(lengths: PairLengths, max_tokens: int) -> list[BucketIndexes]:
    """Return batches of every sequence once, the longest first, so that memory peaks at the start."""
    return list(_split_by_budget(np.argsort(-lengths, kind="stable"), lengths, max_tokens))


def _split_by_budget(order: BucketIndexes, lengths: PairLengths, max_tokens: int) -> Iterator[BucketIndexes]:
    """Yield runs of `order` whose padded size, </s> included, is within the budget."""
    first, widest = 0, 0
    for here, length in enumerate(lengths[order].tolist()):
        if here > first and (here - first + 1) * (max(widest, length) + 1) > max_tokens:
            yield order[first:here]
            first, widest = here, 0
        widest = max(widest, length)
    if len(order):
        yield order[first:]
