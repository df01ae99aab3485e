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
    first, longest = 0, 0
    for index, length in enumerate(lengths[order].tolist()):
        if index > first and (index - first + 1) * (max(longest, length) + 1) > max_tokens:
            yield order[first:index]
            first, longest = index, 0
        longest = max(longest, length)
    if len(order):
        yield order[first:]
