import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.trace.rollout import rollout


def weights(seed, layers, length):
    raw = np.random.default_rng(seed).random((layers, 2, length, length)).astype(np.float32)
    return raw / raw.sum(axis=-1, keepdims=True)


@given(st.integers(0, 50), st.integers(1, 4), st.integers(1, 6))
def test_rows_still_sum_to_one(seed, layers, length):
    found = rollout(weights(seed, layers, length))
    assert found.shape == (layers, length, length)
    assert found.sum(axis=-1) == pytest.approx(1.0, abs=1e-5)


def test_each_layer_sees_one_neighbour_further():
    previous = np.zeros((3, 1, 6, 6), np.float32)
    previous[:, :, range(6), [0, 0, 1, 2, 3, 4]] = 1.0
    found = rollout(previous)
    for layer in range(3):
        assert [column for column in range(6) if found[layer, 5, column] > 0] == list(range(4 - layer, 6))
    assert found[1, 5].tolist() == [0, 0, 0, 0.25, 0.5, 0.25]


def test_nothing_kept_is_the_plain_product():
    given_ = weights(1, 2, 4)
    one, two = given_.mean(axis=1)
    assert rollout(given_, kept=0.0)[1] == pytest.approx(two @ one, abs=1e-6)
