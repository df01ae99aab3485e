from collections import Counter

import numpy as np
import pytest

from regard.data.pairs import PairDataset, concatenate_rows, single_corpus_dataset

ROWS = [[5, 6, 7], [], [8]]


def test_rows_come_back_from_the_ragged_array():
    ids = concatenate_rows(ROWS)
    assert [ids[i].tolist() for i in range(len(ids))] == ROWS
    assert ids.lengths.tolist() == [3, 0, 1]


def test_taken_rows_come_in_the_given_order():
    taken = concatenate_rows(ROWS).take(np.array([2, 0]))
    assert [taken[i].tolist() for i in range(2)] == [[8], [5, 6, 7]]


def test_no_rows_are_an_empty_array():
    assert len(concatenate_rows([])) == 0


def make_dataset(sizes, weights):
    rows = concatenate_rows([[i + 3] * (1 + i % 4) for i in range(sum(sizes))])
    return PairDataset(rows, rows, sizes, weights)


def count_epoch(pairs, epoch):
    """Count how often each pair comes in an epoch."""
    return Counter(pairs.epoch_indexes(epoch, np.arange(pairs.epoch_size)).tolist())


def test_without_weights_each_pair_comes_once_per_epoch():
    pairs = single_corpus_dataset(concatenate_rows([[3]] * 7), concatenate_rows([[4]] * 7))
    assert count_epoch(pairs, 0) == count_epoch(pairs, 5) == dict.fromkeys(range(7), 1)


def test_weights_repeat_one_corpus_and_not_the_other():
    pairs = make_dataset((4, 6), (2.5, 1.0))
    for epoch in range(3):
        counts = count_epoch(pairs, epoch)
        assert sorted(counts[i] for i in range(4)) == [2, 2, 3, 3]
        assert [counts[i] for i in range(4, 10)] == [1] * 6


@pytest.mark.parametrize("weight", [0.25, 0.5, 2.5, 1.75])
def test_fractional_weights_treat_all_pairs_equally_over_epochs(weight):
    pairs = make_dataset((8,), (weight,))
    total = sum((count_epoch(pairs, epoch) for epoch in range(4)), Counter())
    assert total == dict.fromkeys(range(8), 4 * weight)


def test_a_tiny_weight_leaves_at_least_one_pair():
    assert make_dataset((3, 5), (0.01, 0.01)).epoch_size == 2


def test_line_numbers_are_distinct_and_sorted_by_corpus():
    rows = concatenate_rows([[3]] * 18)
    lines = np.array([2, 5, 9, 1, 1, 4, 7, 8, 3])  # line 1 of the last corpus was split into two pairs
    pairs = PairDataset(rows, rows, (3, 0, 6), (1.0, 1.0, 2.0), 2, lines)
    assert pairs.line_numbers_of(np.array([17, 6, 9, 4, 1, 5])) == {0: [2, 9], 2: [1, 3]}


def test_lengths_are_those_of_the_given_pairs():
    pairs = make_dataset((9,), (1.0,))
    source, target = pairs.lengths_of(np.array([7, 0, 3]))
    assert source.tolist() == target.tolist() == [4, 1, 4]
