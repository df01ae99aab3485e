import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.corpus import dedup as dedup_module
from regard.corpus.dedup import NO_HASH, HashFile, find_conflicts, find_duplicates

PAIRS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)))


@given(PAIRS, st.integers(1, 50))
def test_duplicates_are_those_that_a_set_finds(pairs, partition_size):
    array = np.array(pairs, np.int64).reshape(-1, 2)
    seen, expected = set(), []
    for line, pair in enumerate(pairs, start=1):
        if pair[0] != NO_HASH:
            if pair in seen:
                expected.append(line)
            seen.add(pair)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dedup_module, "PARTITION_SIZE", partition_size)
        patch.setattr(dedup_module, "BLOCK_PAIRS", 7)
        assert list(find_duplicates(array)) == expected


@given(st.lists(PAIRS))
def test_hashes_come_back_from_their_file(blocks):
    arrays = [np.array(block, np.int64).reshape(-1, 2) for block in blocks]
    with HashFile() as file:
        for array in arrays:
            file.add(array)
        assert np.array_equal(file.read(), np.concatenate([np.zeros((0, 2), np.int64), *arrays]))


def test_duplicates_are_found_in_the_memory_of_one_partition(monkeypatch):
    monkeypatch.setattr(dedup_module, "PARTITION_SIZE", 2**16)
    monkeypatch.setattr(dedup_module, "BLOCK_PAIRS", 2**12)
    many = np.random.default_rng(1).integers(-(2**62), 2**62, (2**19, 2))
    tracemalloc.start()
    assert len(find_duplicates(many)) == 0
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * 8 * 2**16  # four numbers for each pair of a partition, and a block


@given(PAIRS, st.integers(1, 50))
def test_conflicts_are_those_that_a_table_finds(pairs, partition_size):
    array = np.array(pairs, np.int64).reshape(-1, 2)
    second_of = {}
    for first, second in pairs:
        second_of.setdefault(first, set()).add(second)
    expected = [
        line
        for line, (first, _) in enumerate(pairs, start=1)
        if first != NO_HASH and len(second_of[first]) > 1
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dedup_module, "PARTITION_SIZE", partition_size)
        patch.setattr(dedup_module, "BLOCK_PAIRS", 7)
        assert list(find_conflicts(array)) == expected
