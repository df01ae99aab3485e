"""A random order of any number of things, computed one place at a time: nothing is kept in memory.

A Feistel network turns each number below a power of four into another, one to one, whatever its
round function is; a number that falls outside the wanted range is turned again until it falls inside.
"""

import numpy as np
from jaxtyping import Int64, UInt64

PermutationPositions = Int64[np.ndarray, " places"]
FeistelNumbers = UInt64[np.ndarray, " places"]

FEISTEL_ROUNDS = 6


def permute_indices(positions: PermutationPositions, size: int, *key: int) -> PermutationPositions:
    """What stands at those places of the random order of range(size) that belongs to `key`."""
    keys = np.random.SeedSequence(key).generate_state(FEISTEL_ROUNDS, np.uint64)
    half = max(1, (int(size - 1).bit_length() + 1) // 2)
    found = _feistel(positions.astype(np.uint64), keys, half)
    while len(outside := np.flatnonzero(found >= size)):
        found[outside] = _feistel(found[outside], keys, half)
    return found.astype(np.int64)


def _feistel(numbers: FeistelNumbers, keys: UInt64[np.ndarray, " rounds"], half: int) -> FeistelNumbers:
    low = np.uint64(2**half - 1)
    left, right = numbers >> np.uint64(half), numbers & low
    for key in keys:
        left, right = right, left ^ (_mix_bits(right ^ key) & low)
    return (left << np.uint64(half)) | right


def _mix_bits(numbers: FeistelNumbers) -> FeistelNumbers:
    """Each bit of the result depends on each bit of the number (the finalizer of splitmix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
