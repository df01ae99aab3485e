import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.data.bucketing import bucket_by_length

pairs = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=80)


def sides(lengths):
    return tuple(np.array(side, np.int64) for side in zip(*lengths, strict=True))


@given(pairs, st.integers(1, 200))
def test_by_length_gives_each_once_longest_first(lengths, budget):
    source, _ = sides(lengths)
    order = [i for batch in bucket_by_length(source, budget) for i in batch.tolist()]
    assert sorted(order) == list(range(len(source)))
    assert source[order].tolist() == sorted(source.tolist(), reverse=True)


@given(pairs, st.integers(1, 200))
def test_no_batch_exceeds_the_budget_once_padded(lengths, budget):
    source, _ = sides(lengths)
    for batch in bucket_by_length(source, budget):
        assert len(batch) == 1 or len(batch) * (source[batch].max() + 1) <= budget


def test_nothing_gives_no_batches():
    assert bucket_by_length(np.zeros(0, np.int64), 10) == []
