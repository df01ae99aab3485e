import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.metrics.baselines import fit_linear, moments, repeat_last, repeat_season

HISTORY = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def test_the_last_value_and_the_last_season_are_repeated():
    assert repeat_last(HISTORY, 2).tolist() == [[3, 3], [6, 6]]
    assert repeat_season(HISTORY, 5, 2).tolist() == [[2, 3, 2, 3, 2], [5, 6, 5, 6, 5]]
    assert repeat_season(HISTORY, 2, 7).tolist() == [[1, 2], [4, 5]]


def linear_windows(seed, count=200, time=6, horizon=3):
    """Futures that are a weighted sum of their history."""
    chance = np.random.default_rng(seed)
    weights = chance.normal(size=(time, horizon))
    history = chance.normal(size=(count, time)) + 5
    last = history[:, -1:]
    return history, (history - last) @ weights + 0.3 + last


@given(st.integers(0, 2**32))
def test_a_future_that_is_linear_is_found_exactly(seed):
    history, future = linear_windows(seed)
    half = [(history[:100], future[:100]), (history[100:], future[100:])]
    model = fit_linear(moments(half), half)
    assert np.abs(model.forecast(history) - future).max() < 0.01 * np.abs(future).max()


def test_moments_are_the_same_however_windows_are_batched():
    history, future = linear_windows(0)
    whole = moments([(history, future)])
    parts = moments([(history[i : i + 7], future[i : i + 7]) for i in range(0, 200, 7)])
    assert np.allclose(whole.inputs, parts.inputs)
    assert np.allclose(whole.outputs, parts.outputs)
    assert whole.windows == parts.windows == 200


def test_least_squares_is_numpys():
    history, future = linear_windows(1)
    future = future + np.random.default_rng(2).normal(size=future.shape)
    last = history[:, -1:]
    inputs = np.concatenate([(history - last)[:, :-1], np.ones_like(last)], axis=1)
    expected = np.linalg.lstsq(inputs, future - last, rcond=None)[0]
    found = moments([(history, future)]).solve(1e-9).weights
    assert np.allclose(np.delete(found, -2, axis=0), expected, atol=1e-4)
