from collections import Counter
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data import stream as stream_module
from regard.data.stream import StreamPosition, TokenBudget, make_pool_batches, stream_batches


@dataclass(frozen=True)
class FakeDataset:
    """A dataset of computed lengths without data."""

    epoch_size: int
    max_length: int = 30

    def epoch_indexes(self, epoch, positions):  # noqa: ARG002
        return positions

    def lengths_of(self, indexes):
        return 1 + indexes * 7 % self.max_length, 1 + indexes * 11 % self.max_length


@pytest.fixture(autouse=True)
def small_pools(monkeypatch):
    monkeypatch.setattr(stream_module, "POOL_SIZE", 64)


budgets = st.builds(TokenBudget, st.integers(1, 300), st.one_of(st.none(), st.integers(1, 20)), st.booleans())


def epoch_batches(pairs, budget, seed, epoch=0):
    """Return every batch of an epoch, by the positions of the stream."""
    batches = []
    for indexes, after in stream_batches(pairs, budget, seed, StreamPosition(epoch)):
        batches.append(indexes.tolist())
        if after.epoch > epoch:
            return batches
    raise AssertionError


@given(st.integers(1, 400), budgets, st.integers(0, 99), st.integers(0, 3))
def test_an_epoch_has_each_pair_once_and_no_batch_exceeds_its_budget(size, budget, seed, epoch):
    pairs = FakeDataset(size)
    batches = epoch_batches(pairs, budget, seed, epoch)
    assert sorted(i for batch in batches for i in batch) == list(range(size))
    for batch in batches:
        tokens = max(sum(lengths + 1) for lengths in pairs.lengths_of(np.array(batch)))
        assert len(batch) == 1 or tokens <= budget.max_tokens
        assert budget.max_sentences is None or len(batch) <= budget.max_sentences


@given(st.integers(1, 300), budgets, st.integers(0, 40))
def test_a_stream_resumes_from_any_of_its_positions(size, budget, stop):
    whole = list(islice(stream_batches(FakeDataset(size), budget, 5), stop + 12))
    start = whole[stop - 1][1] if stop else StreamPosition()
    resumed = list(islice(stream_batches(FakeDataset(size), budget, 5, start), 12))
    assert [b.tolist() for b, _ in resumed] == [b.tolist() for b, _ in whole[stop:]]
    assert [after for _, after in resumed] == [after for _, after in whole[stop:]]


def test_order_depends_on_seed_and_epoch_alone():
    dataset, budget = FakeDataset(300), TokenBudget(100)
    orders = [epoch_batches(dataset, budget, *run) for run in ((1, 0), (1, 1), (2, 0))]
    assert orders[0] == epoch_batches(dataset, budget, 1, 0)
    assert orders[0] != orders[1]
    assert orders[0] != orders[2]


def test_similar_lengths_share_a_batch_when_sorted(monkeypatch):
    monkeypatch.setattr(stream_module, "POOL_SIZE", 2**16)

    def padding(sort):
        pairs, waste, total = FakeDataset(5000), 0, 0
        for batch in make_pool_batches(pairs, TokenBudget(1000, sort_by_length=sort), 1, 0, 0):
            target = pairs.lengths_of(batch)[1]
            waste, total = waste + len(batch) * target.max() - target.sum(), total + target.sum()
        return waste / total

    assert padding(sort=True) < 0.03
    assert padding(sort=False) > 0.5


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(65_530, 65_535)), min_size=1))
def test_lengths_are_sorted_in_the_order_of_lexsort(pairs):
    source, target = np.array(pairs, np.int64).T
    assert stream_module._order_by_length(source, target).tolist() == np.lexsort((source, target)).tolist()
    assert stream_module._order_by_length(target, source).tolist() == np.lexsort((target, source)).tolist()


def test_a_sentence_too_long_for_sixteen_bits_comes_last():
    lengths = np.array([70_000, 3, 2**40, 5])
    assert stream_module._order_by_length(lengths, lengths).tolist() == [1, 3, 0, 2]


def test_each_batch_takes_all_pairs_that_fit():
    source = np.array([5, 5, 5, 90, 5, 5])
    target = np.array([1, 1, 1, 1, 1, 1])
    assert stream_module._batch_ends(source, target, TokenBudget(10)) == [2, 3, 4, 6]
    assert stream_module._batch_ends(target, source, TokenBudget(10)) == [2, 3, 4, 6]
    assert stream_module._batch_ends(source, target, TokenBudget(1000, max_sentences=4)) == [4, 6]


def test_batches_come_in_random_order_of_length():
    pairs = FakeDataset(60)
    means = [
        float(pairs.lengths_of(batch)[1].mean())
        for batch in make_pool_batches(pairs, TokenBudget(60), 3, 0, 0)
    ]
    assert means not in (sorted(means), sorted(means, reverse=True))


def test_no_pair_is_favoured_in_the_first_batch():
    dataset, budget = FakeDataset(30), TokenBudget(64, 4, sort_by_length=False)
    first = Counter(i for seed in range(300) for i in next(stream_batches(dataset, budget, seed))[0].tolist())
    assert len(first) == 30
    assert max(first.values()) < 4 * min(first.values())
