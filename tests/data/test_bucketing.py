from itertools import islice

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.data.bucketing import by_length, shuffled, stream

pairs = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=80)


def sides(lengths):
    return tuple(np.array(side, np.int64) for side in zip(*lengths, strict=True))


@given(pairs, st.integers(1, 200), st.integers(0, 99), st.integers(0, 9))
def test_each_pair_comes_once_and_no_batch_exceeds_the_budget(lengths, budget, seed, epoch):
    source, target = sides(lengths)
    batches = shuffled(source, target, budget, seed, epoch)
    assert sorted(i for batch in batches for i in batch.tolist()) == list(range(len(lengths)))
    for batch in batches:
        widest = max(source[batch].max(), target[batch].max()) + 1
        assert len(batch) == 1 or len(batch) * widest <= budget


@given(pairs, st.integers(1, 200))
def test_by_length_gives_each_once_longest_first(lengths, budget):
    source, _ = sides(lengths)
    order = [i for batch in by_length(source, budget) for i in batch.tolist()]
    assert sorted(order) == list(range(len(source)))
    assert source[order].tolist() == sorted(source.tolist(), reverse=True)


def many():
    random = np.random.default_rng(0)
    return random.integers(3, 40, 2000), random.integers(3, 40, 2000)


def test_like_lengths_come_together():
    target = np.random.default_rng(0).integers(3, 40, 2000)
    source = target + np.random.default_rng(1).integers(0, 3, 2000)
    padding = total = 0
    for batch in shuffled(source, target, 1024, seed=0, epoch=0):
        padding += len(batch) * target[batch].max() - target[batch].sum()
        total += target[batch].sum()
    assert padding < 0.05 * total


def test_order_depends_on_seed_and_epoch_alone():
    def order(seed, epoch):
        return [batch.tolist() for batch in shuffled(*many(), 512, seed, epoch)]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


def test_the_stream_can_be_entered_anywhere():
    source, target = many()
    epoch = len(shuffled(source, target, 512, 7, 0))
    whole = [b.tolist() for b in islice(stream(source, target, 512, 7), 2 * epoch)]
    assert [b.tolist() for b in islice(stream(source, target, 512, 7, 0, 5), epoch)] == whole[5 : 5 + epoch]
    assert whole[epoch:] == [b.tolist() for b in shuffled(source, target, 512, 7, 1)][: len(whole) - epoch]
    later = [b.tolist() for b in islice(stream(source, target, 512, 7, 1, 3), 4)]
    assert later == [b.tolist() for b in shuffled(source, target, 512, 7, 1)][3:7]


def test_nothing_gives_no_batches():
    assert by_length(np.zeros(0, np.int64), 10) == []
