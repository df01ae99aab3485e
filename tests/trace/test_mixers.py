"""Attention beside weights that are the same for every sentence."""

import numpy as np
import pytest

from regard.errors import ConfigError, DataError
from regard.trace.mixers import mixers


def stochastic(seed: int, length: int = 5) -> np.ndarray:
    weights = np.random.default_rng(seed).random((length, length))
    return weights / weights.sum(axis=1, keepdims=True)


def test_the_linear_mixer_is_the_nearest_to_both_sentences():
    first, second = stochastic(0), stochastic(1)
    found = mixers(first, second)

    def error(fixed: np.ndarray) -> float:
        return float(((first - fixed) ** 2 + (second - fixed) ** 2).sum())

    assert all(error(found.linear) < error(found.linear + stochastic(seed) / 50) for seed in range(2, 6))
    assert found.linear_misses == pytest.approx(found.changes / 2)


def test_the_convolution_has_one_weight_for_each_distance_and_none_beyond_its_reach():
    found = mixers(stochastic(0), stochastic(1))
    for offset in range(-4, 5):
        along = np.diagonal(found.convolution, offset)
        assert np.ptp(along) == 0
        assert (along[0] == 0) == (abs(offset) > 1)
    assert found.convolution_misses > found.linear_misses


def test_attention_that_ignores_its_input_is_a_linear_mixer():
    same = mixers(stochastic(0), stochastic(0))
    assert same.changes == same.linear_misses == 0


def test_a_head_of_the_model_is_compared_on_two_sentences(tracer):
    texts = ("the cat sees the dog.", "the dog sees the cat.")
    found = tracer.mixers(texts, 1, 2)
    assert len(found["tokens"][0]) == len(found["tokens"][1])
    assert found["changes"] > 0
    with pytest.raises(DataError, match="two of one length"):
        tracer.mixers(("the cat", "the cat sees a bird."), 1, 1)
    with pytest.raises(ConfigError, match="layer = 9 cannot work"):
        tracer.mixers(texts, 9, 1)
