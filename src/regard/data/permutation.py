"""A random order of any number of things, computed one place at a time: nothing is kept in memory.

A Feistel network turns each number below a power of four into another, one to one, whatever its
round function is; a number that falls outside the wanted range is turned again until it falls inside.
"""

import numpy as np
from jaxtyping import Int64, UInt64

Places = Int64[np.ndarray, " places"]
Numbers = UInt64[np.ndarray, " places"]

ROUNDS = 6


def permuted(places: Places, size: int, *key: int) -> Places:
    """What stands at those places of the random order of range(size) that belongs to `key`."""
    keys = np.random.SeedSequence(key).generate_state(ROUNDS, np.uint64)
    half = max(1, (int(size - 1).bit_length() + 1) // 2)
    found = _turned(places.astype(np.uint64), keys, half)
    while len(outside := np.flatnonzero(found >= size)):
        found[outside] = _turned(found[outside], keys, half)
    return found.astype(np.int64)


def _turned(numbers: Numbers, keys: UInt64[np.ndarray, " rounds"], half: int) -> Numbers:
    low = np.uint64(2**half - 1)
    left, right = numbers >> np.uint64(half), numbers & low
    for key in keys:
        left, right = right, left ^ (_mixed(right ^ key) & low)
    return (left << np.uint64(half)) | right


def _mixed(numbers: Numbers) -> Numbers:
    """Each bit of the result depends on each bit of the number (the finalizer of splitmix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
