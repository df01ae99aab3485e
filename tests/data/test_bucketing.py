import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.data.bucketing import bucket_by_length

pairs = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=80)


def to_arrays(lengths):
    return tuple(np.array(side, np.int64) for side in zip(*lengths, strict=True))


@given(pairs, st.integers(1, 200))
def test_each_sequence_is_in_one_batch_and_the_longest_come_first(lengths, budget):
    source, _ = to_arrays(lengths)
    order = [i for batch in bucket_by_length(source, budget) for i in batch.tolist()]
    assert sorted(order) == list(range(len(source)))
    assert source[order].tolist() == sorted(source.tolist(), reverse=True)


@given(pairs, st.integers(1, 200))
def test_no_padded_batch_exceeds_the_budget(lengths, budget):
    source, _ = to_arrays(lengths)
    for batch in bucket_by_length(source, budget):
        assert len(batch) == 1 or len(batch) * (source[batch].max() + 1) <= budget


def test_no_sequences_have_no_batches():
    assert bucket_by_length(np.zeros(0, np.int64), 10) == []
