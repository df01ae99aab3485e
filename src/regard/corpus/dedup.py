"""Duplicates and conflicts in a corpus, found by sentence hashes on disk in constant memory."""

import tempfile
from array import array
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np
from jaxtyping import Bool, Int64

Hashes = Int64[np.ndarray, " hashes"]
KnownHashes = Int64[np.ndarray, " _"]
"""Hashes of another corpus: sorted and distinct."""
PairHashes = Int64[np.ndarray, "pairs 2"]

NO_HASH = 0
"""Stands for a sentence of a bad pair."""
BLOCK_PAIRS = 2**16
"""Pairs processed at a time."""
PARTITION_SIZE = 2**21
"""Hashes that are sorted together."""
HASH_MULTIPLIER = -7046029254386353131
"""An odd number with bits in all places: 2^64 divided by the golden ratio."""


class HashFile:
    """Two hashes for every pair in an unnamed temporary file."""

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
        """Return all hashes, mapped into memory."""
        self._file.flush()
        if not self._pairs:  # an empty file cannot be mapped
            return np.zeros((0, 2), np.int64)
        return np.asarray(np.memmap(self._file, np.int64, "r", shape=(self._pairs, 2)))


def iterate_hash_blocks(hashes: PairHashes) -> Iterator[tuple[int, PairHashes]]:
    """Yield blocks of the pairs and the index of the first pair of each."""
    for start in range(0, len(hashes), BLOCK_PAIRS):
        yield start, hashes[start : start + BLOCK_PAIRS]


def is_known(known: KnownHashes, hashes: Hashes) -> Bool[np.ndarray, " hashes"]:
    """Return which of the hashes are known."""
    if not len(known):
        return np.zeros(len(hashes), dtype=bool)
    return known[np.minimum(np.searchsorted(known, hashes), len(known) - 1)] == hashes


def find_duplicates(hashes: PairHashes) -> array:
    """Return the pairs, counted from 1, that equal an earlier one; bad pairs equal none.

    Hashes are evenly distributed, so partitions of their range have about the same size; one of them is
    sorted at a time.
    """
    partitions = 1 + len(hashes) // PARTITION_SIZE
    lines = [_duplicates_in_partition(hashes, partition, partitions) for partition in range(partitions)]
    return array("q", np.sort(np.concatenate(lines)).tobytes())


def _duplicates_in_partition(
    hashes: PairHashes, partition: int, partitions: int
) -> Int64[np.ndarray, " duplicates"]:
    values, lines = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for start, block in iterate_hash_blocks(hashes):
        mixed = block[:, 0] * HASH_MULTIPLIER + block[:, 1]
        selected = np.flatnonzero((block[:, 0] != NO_HASH) & (mixed % partitions == partition))
        values.append(mixed[selected])
        lines.append(selected + start + 1)
    value = np.concatenate(values)
    values.clear()  # or everything would be in memory twice
    order = np.argsort(value, kind="stable")
    value = value[order]
    repeated = order[np.flatnonzero(value[1:] == value[:-1]) + 1]
    return np.concatenate(lines)[repeated]


def find_conflicts(hashes: PairHashes) -> array:
    """Return the pairs, counted from 1, whose first hash also occurs with another second hash."""
    partitions = 1 + len(hashes) // PARTITION_SIZE
    lines = [_conflicts_in_partition(hashes, partition, partitions) for partition in range(partitions)]
    return array("q", np.sort(np.concatenate(lines)).tobytes())


def _conflicts_in_partition(
    hashes: PairHashes, partition: int, partitions: int
) -> Int64[np.ndarray, " conflicts"]:
    rows = [np.zeros((0, 3), np.int64)]
    for start, block in iterate_hash_blocks(hashes):
        selected = np.flatnonzero((block[:, 0] != NO_HASH) & (block[:, 0] % partitions == partition))
        rows.append(np.column_stack([block[selected], selected + start + 1]))
    first, second, line = np.concatenate(rows).T
    order = np.lexsort((second, first))
    begins = np.flatnonzero(np.diff(first[order], prepend=NO_HASH))  # NO_HASH itself is not among them
    counts = np.diff(begins, append=len(order))
    differ = second[order[begins]] != second[order[begins + counts - 1]]
    return line[order[np.repeat(differ, counts)]]
