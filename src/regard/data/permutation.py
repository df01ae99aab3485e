"""Random permutations of any size, computed one element at a time without memory.

A Feistel network maps each number below a power of four to another, one to one, whatever its round
function is. A result outside the wanted range is mapped again until it is inside.
"""

import numpy as np
from jaxtyping import Int64, UInt64

PermutationPositions = Int64[np.ndarray, " places"]
FeistelNumbers = UInt64[np.ndarray, " places"]

FEISTEL_ROUNDS = 6


def permute_indices(positions: PermutationPositions, size: int, *key: int) -> PermutationPositions:
    """Return the elements at these positions of the permutation of range(size) that belongs to `key`."""
    keys = np.random.SeedSequence(key).generate_state(FEISTEL_ROUNDS, np.uint64)
    half_bits = max(1, (int(size - 1).bit_length() + 1) // 2)
    indices = _feistel(positions.astype(np.uint64), keys, half_bits)
    while len(outside := np.flatnonzero(indices >= size)):
        indices[outside] = _feistel(indices[outside], keys, half_bits)
    return indices.astype(np.int64)


def _feistel(numbers: FeistelNumbers, keys: UInt64[np.ndarray, " rounds"], half_bits: int) -> FeistelNumbers:
    low = np.uint64(2**half_bits - 1)
    left, right = numbers >> np.uint64(half_bits), numbers & low
    for key in keys:
        left, right = right, left ^ (_mix_bits(right ^ key) & low)
    return (left << np.uint64(half_bits)) | right


def _mix_bits(numbers: FeistelNumbers) -> FeistelNumbers:
    """Make each bit of the result depend on each bit of the number (the finalizer of splitmix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
