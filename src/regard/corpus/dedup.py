"""The sentences of a corpus as numbers, kept on disk, so that equal ones are found in flat memory."""

import tempfile
from array import array
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np
from jaxtyping import Bool, Int64

Hashes = Int64[np.ndarray, " hashes"]
KnownHashes = Int64[np.ndarray, " _"]  # those of another corpus: sorted, each once
PairHashes = Int64[np.ndarray, "pairs 2"]

NO_HASH = 0  # stands for a sentence of a bad pair
BLOCK_PAIRS = 2**16  # pairs looked at together
PARTITION_SIZE = 2**21  # hashes that are sorted together
HASH_MULTIPLIER = -7046029254386353131  # odd, with its bits all over: 2^64 divided by the golden ratio


class HashFile:
    """Two numbers for every pair, in a file that has no name and goes when it is closed."""

    def __init__(self, folder: Path | None = None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._pairs = 0

    def __enter__(self) -> "HashFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, hashes: PairHashes) -> None:
        self._file.write(hashes.tobytes())
        self._pairs += len(hashes)

    def read(self) -> PairHashes:
        """All of them, mapped into memory and not read into it."""
        self._file.flush()
        if not self._pairs:  # which cannot be mapped
            return np.zeros((0, 2), np.int64)
        return np.asarray(np.memmap(self._file, np.int64, "r", shape=(self._pairs, 2)))


def iterate_hash_blocks(hashes: PairHashes) -> Iterator[tuple[int, PairHashes]]:
    """Stretches of the pairs, and where each begins."""
    for start in range(0, len(hashes), BLOCK_PAIRS):
        yield start, hashes[start : start + BLOCK_PAIRS]


def is_known(known: KnownHashes, hashes: Hashes) -> Bool[np.ndarray, " hashes"]:
    """Which of the hashes are known; `known` is sorted, each once."""
    if not len(known):
        return np.zeros(len(hashes), dtype=bool)
    return known[np.minimum(np.searchsorted(known, hashes), len(known) - 1)] == hashes


def find_duplicates(hashes: PairHashes) -> array:
    """The pairs, counted from 1, that are the same as an earlier one; bad pairs are like no other.

    Hashes are spread evenly, so each part of their range holds about as many: one is sorted at a time.
    """
    parts = 1 + len(hashes) // PARTITION_SIZE
    found = [_duplicates_in_partition(hashes, part, parts) for part in range(parts)]
    return array("q", np.sort(np.concatenate(found)).tobytes())


def _duplicates_in_partition(
    hashes: PairHashes, part: int, parts: int
) -> Int64[np.ndarray, " find_duplicates"]:
    numbers, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for start, slab in iterate_hash_blocks(hashes):
        mixed = slab[:, 0] * HASH_MULTIPLIER + slab[:, 1]
        chosen = np.flatnonzero((slab[:, 0] != NO_HASH) & (mixed % parts == part))
        numbers.append(mixed[chosen])
        places.append(chosen + start + 1)
    number = np.concatenate(numbers)
    numbers.clear()  # or everything would be in memory twice
    order = np.argsort(number, kind="stable")
    number = number[order]
    again = order[np.flatnonzero(number[1:] == number[:-1]) + 1]
    return np.concatenate(places)[again]


def find_conflicts(hashes: PairHashes) -> array:
    """The pairs, counted from 1, whose first number stands beside another second one elsewhere."""
    parts = 1 + len(hashes) // PARTITION_SIZE
    found = [_conflicts_in_partition(hashes, part, parts) for part in range(parts)]
    return array("q", np.sort(np.concatenate(found)).tobytes())


def _conflicts_in_partition(
    hashes: PairHashes, part: int, parts: int
) -> Int64[np.ndarray, " find_conflicts"]:
    chosen = [np.zeros((0, 3), np.int64)]
    for start, slab in iterate_hash_blocks(hashes):
        here = np.flatnonzero((slab[:, 0] != NO_HASH) & (slab[:, 0] % parts == part))
        chosen.append(np.column_stack([slab[here], here + start + 1]))
    first, second, place = np.concatenate(chosen).T
    order = np.lexsort((second, first))
    begins = np.flatnonzero(np.diff(first[order], prepend=NO_HASH))  # NONE itself is not among them
    counts = np.diff(begins, append=len(order))
    differ = second[order[begins]] != second[order[begins + counts - 1]]
    return place[order[np.repeat(differ, counts)]]
