from collections import Counter

import numpy as np
import pytest

from regard.data.pairs import PairDataset, concatenate_rows, single_corpus_dataset

ROWS = [[5, 6, 7], [], [8]]


def test_rows_come_back_from_the_flat_array():
    ids = concatenate_rows(ROWS)
    assert [ids[i].tolist() for i in range(len(ids))] == ROWS
    assert ids.lengths.tolist() == [3, 0, 1]


def test_taken_rows_come_in_the_order_asked():
    assert [row.tolist() for row in (concatenate_rows(ROWS).take(np.array([2, 0]))[i] for i in range(2))] == [
        [8],
        [5, 6, 7],
    ]


def test_nothing_flattens_to_nothing():
    assert len(concatenate_rows([])) == 0


def of(sizes, weights):
    rows = concatenate_rows([[i + 3] * (1 + i % 4) for i in range(sum(sizes))])
    return PairDataset(rows, rows, sizes, weights)


def shown(pairs, epoch):
    return Counter(pairs.epoch_indexes(epoch, np.arange(pairs.epoch_size)).tolist())


def test_without_weights_an_epoch_shows_each_pair_once():
    pairs = single_corpus_dataset(concatenate_rows([[3]] * 7), concatenate_rows([[4]] * 7))
    assert shown(pairs, 0) == shown(pairs, 5) == dict.fromkeys(range(7), 1)


def test_weights_repeat_a_corpus_and_not_the_other():
    pairs = of((4, 6), (2.5, 1.0))
    for epoch in range(3):
        counts = shown(pairs, epoch)
        assert sorted(counts[i] for i in range(4)) == [2, 2, 3, 3]
        assert [counts[i] for i in range(4, 10)] == [1] * 6


@pytest.mark.parametrize("weight", [0.25, 0.5, 2.5, 1.75])
def test_over_some_epochs_every_pair_has_the_same_share(weight):
    pairs = of((8,), (weight,))
    total = sum((shown(pairs, epoch) for epoch in range(4)), Counter())
    assert total == dict.fromkeys(range(8), 4 * weight)


def test_a_tiny_weight_still_shows_something():
    assert of((3, 5), (0.01, 0.01)).epoch_size == 2


def test_lines_are_told_apart_by_corpus_each_once_and_in_order():
    rows = concatenate_rows([[3]] * 18)
    lines = np.array(
        [2, 5, 9, 1, 1, 4, 7, 8, 3]
    )  # a pair of the second corpus was split, the last comes first
    pairs = PairDataset(rows, rows, (3, 0, 6), (1.0, 1.0, 2.0), 2, lines)
    assert pairs.line_numbers_of(np.array([17, 6, 9, 4, 1, 5])) == {0: [2, 9], 2: [1, 3]}


def test_lengths_are_those_of_the_pairs_asked_for():
    pairs = of((9,), (1.0,))
    source, target = pairs.lengths_of(np.array([7, 0, 3]))
    assert source.tolist() == target.tolist() == [4, 1, 4]
