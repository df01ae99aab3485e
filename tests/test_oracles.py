import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import attention_rollout


def random_weights(seed, layers, length):
    raw = np.random.default_rng(seed).random((layers, 2, length, length)).astype(np.float32)
    return raw / raw.sum(axis=-1, keepdims=True)


@given(st.integers(0, 50), st.integers(1, 4), st.integers(1, 6))
def test_rollout_rows_sum_to_one(seed, layers, length):
    rolled = attention_rollout(random_weights(seed, layers, length))
    assert rolled.shape == (layers, length, length)
    assert rolled.sum(axis=-1) == pytest.approx(1.0, abs=1e-5)


def test_rollout_reaches_one_neighbour_further_in_each_layer():
    previous = np.zeros((3, 1, 6, 6), np.float32)
    previous[:, :, range(6), [0, 0, 1, 2, 3, 4]] = 1.0
    rolled = attention_rollout(previous)
    for layer in range(3):
        assert [column for column in range(6) if rolled[layer, 5, column] > 0] == list(range(4 - layer, 6))
    assert rolled[1, 5].tolist() == [0, 0, 0, 0.25, 0.5, 0.25]


def test_rollout_without_residual_is_the_matrix_product():
    weights = random_weights(1, 2, 4)
    first, second = weights.mean(axis=1)
    assert attention_rollout(weights, residual_share=0.0)[1] == pytest.approx(second @ first, abs=1e-6)
