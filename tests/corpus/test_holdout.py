import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.corpus.holdout import hold_out

SHARED = st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=60)


def as_hashes(pairs):
    return np.array(pairs, np.int64).reshape(-1, 2)


@given(SHARED, SHARED, st.integers(1, 8), st.integers(0, 9))
def test_no_held_out_sentence_kept_in_the_training_data(first, second, pairs, seed):
    corpora = [as_hashes(first), as_hashes(second)]
    held = hold_out(corpora, pairs, seed)
    assert sum(map(len, held.pairs)) == min(pairs, len(first) + len(second))
    taken = np.concatenate([corpus[list(part)] for corpus, part in zip(corpora, held.pairs, strict=True)])
    for corpus, part in zip(corpora, held.pairs, strict=True):
        shared = held.shares_sentence(corpus)
        assert shared[list(part)].all()
        kept = corpus[~shared]
        assert not set(kept[:, 0]) & set(taken[:, 0])
        assert not set(kept[:, 1]) & set(taken[:, 1])


def test_pairs_that_share_no_sentence_are_held_out_first():
    corpus = as_hashes([(1, 2)] * 90 + [(100 + i, 200 + i) for i in range(10)])
    held = hold_out([corpus], 5, seed=3)
    assert min(held.pairs[0]) >= 90
    assert held.shares_sentence(corpus).sum() == 5


def test_bad_pairs_are_never_held_out():
    corpus = as_hashes([(0, 0)] * 50 + [(1, 2), (3, 4)])
    assert set(hold_out([corpus], 2, seed=1).pairs[0]) == {50, 51}


def test_the_held_out_pairs_depend_on_the_seed_and_come_from_everywhere():
    corpus = as_hashes([(i + 1, i + 1) for i in range(100_000)])
    first, again, other = (hold_out([corpus], 100, seed).pairs[0] for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert np.all(np.bincount(np.array(first) // 25_000, minlength=4) > 5)
