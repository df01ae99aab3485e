from collections import Counter
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data import stream as stream_module
from regard.data.stream import StreamPosition, TokenBudget, make_pool_batches, share, stream_batches


@dataclass(frozen=True)
class Fake:
    """A corpus of which only the lengths exist, and those are computed."""

    epoch_size: int
    longest: int = 30

    def epoch_indexes(self, epoch, positions):  # noqa: ARG002
        return positions

    def lengths_of(self, indexes):
        return 1 + indexes * 7 % self.longest, 1 + indexes * 11 % self.longest


@pytest.fixture(autouse=True)
def small_pools(monkeypatch):
    monkeypatch.setattr(stream_module, "POOL_SIZE", 64)


plans = st.builds(TokenBudget, st.integers(1, 300), st.one_of(st.none(), st.integers(1, 20)), st.booleans())


def epoch_of(pairs, plan, seed, epoch=0):
    """Every batch of an epoch, by the stream's own positions."""
    found = []
    for indexes, after in stream_batches(pairs, plan, seed, StreamPosition(epoch)):
        found.append(indexes.tolist())
        if after.epoch > epoch:
            return found
    raise AssertionError


@given(st.integers(1, 400), plans, st.integers(0, 99), st.integers(0, 3))
def test_an_epoch_has_each_pair_once_and_no_batch_exceeds_its_plan(size, plan, seed, epoch):
    pairs = Fake(size)
    batches = epoch_of(pairs, plan, seed, epoch)
    assert sorted(i for batch in batches for i in batch) == list(range(size))
    for batch in batches:
        tokens = max(sum(lengths + 1) for lengths in pairs.lengths_of(np.array(batch)))
        assert len(batch) == 1 or tokens <= plan.max_tokens
        assert plan.max_sentences is None or len(batch) <= plan.max_sentences


@given(st.integers(1, 300), plans, st.integers(1, 7), st.integers(0, 9))
def test_each_batch_goes_to_one_process_and_the_order_is_that_of_one(size, plan, world, seed):
    alone = [batch.tolist() for batch, _ in islice(stream_batches(Fake(size), plan, seed), 4 * world)]
    shares = [
        list(islice(share(stream_batches(Fake(size), plan, seed), rank, world), 4)) for rank in range(world)
    ]
    together = [shares[i % world][i // world][0].tolist() for i in range(4 * world)]
    assert together == alone
    for turn in zip(*shares, strict=True):
        assert len({after for _, after in turn}) == 1  # all resume at one place


@given(st.integers(1, 300), plans, st.integers(0, 40))
def test_a_stream_resumes_from_any_position_it_gave(size, plan, stop):
    whole = list(islice(stream_batches(Fake(size), plan, 5), stop + 12))
    start = whole[stop - 1][1] if stop else StreamPosition()
    resumed = list(islice(stream_batches(Fake(size), plan, 5, start), 12))
    assert [b.tolist() for b, _ in resumed] == [b.tolist() for b, _ in whole[stop:]]
    assert [after for _, after in resumed] == [after for _, after in whole[stop:]]


def test_processes_may_change_in_number_on_resume():
    plan = TokenBudget(40)
    alone = [batch.tolist() for batch, _ in islice(stream_batches(Fake(500), plan, 1), 36)]
    two = list(islice(share(stream_batches(Fake(500), plan, 1), 1, 2), 6))
    three = [list(islice(share(stream_batches(Fake(500), plan, 1, two[-1][1]), r, 3), 8)) for r in range(3)]
    assert [batch.tolist() for turn in zip(*three, strict=True) for batch, _ in turn] == alone[12:36]


def test_order_depends_on_seed_and_epoch_alone():
    plan = TokenBudget(100)
    orders = [epoch_of(Fake(300), plan, seed, epoch) for seed, epoch in ((1, 0), (1, 1), (2, 0))]
    assert orders[0] == epoch_of(Fake(300), plan, 1, 0)
    assert orders[0] != orders[1]
    assert orders[0] != orders[2]


def test_like_lengths_come_together_when_sorted(monkeypatch):
    monkeypatch.setattr(stream_module, "POOL_SIZE", 2**16)

    def padding(sort):
        pairs, waste, total = Fake(5000), 0, 0
        for batch in make_pool_batches(pairs, TokenBudget(1000, sort_by_length=sort), 1, 0, 0):
            target = pairs.lengths_of(batch)[1]
            waste, total = waste + len(batch) * target.max() - target.sum(), total + target.sum()
        return waste / total

    assert padding(sort=True) < 0.03
    assert padding(sort=False) > 0.5


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(65_530, 65_535)), min_size=1))
def test_lengths_are_sorted_as_lexsort_sorts_them(pairs):
    source, target = np.array(pairs, np.int64).T
    assert stream_module._order_by_length(source, target).tolist() == np.lexsort((source, target)).tolist()
    assert stream_module._order_by_length(target, source).tolist() == np.lexsort((target, source)).tolist()


def test_a_sentence_too_long_for_sixteen_bits_comes_last():
    lengths = np.array([70_000, 3, 2**40, 5])
    assert stream_module._order_by_length(lengths, lengths).tolist() == [1, 3, 0, 2]


def test_batches_are_as_full_as_the_next_pair_allows():
    source = np.array([5, 5, 5, 90, 5, 5])
    target = np.array([1, 1, 1, 1, 1, 1])
    assert stream_module._batch_ends(source, target, TokenBudget(10)) == [2, 3, 4, 6]
    assert stream_module._batch_ends(target, source, TokenBudget(10)) == [2, 3, 4, 6]
    assert stream_module._batch_ends(source, target, TokenBudget(1000, max_max_sentences=4)) == [4, 6]


def test_batches_come_in_no_order_of_length():
    pairs = Fake(60)
    means = [
        float(pairs.lengths_of(batch)[1].mean())
        for batch in make_pool_batches(pairs, TokenBudget(60), 3, 0, 0)
    ]
    assert means not in (sorted(means), sorted(means, reverse=True))


def test_no_pair_is_favoured_in_the_first_batch():
    first = Counter(
        i
        for seed in range(300)
        for i in next(stream_batches(Fake(30), TokenBudget(64, 4, sort_by_length=False), seed))[0].tolist()
    )
    assert len(first) == 30
    assert max(first.values()) < 4 * min(first.values())
