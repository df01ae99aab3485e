import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.forecasting.baselines import (
    collect_ridge_statistics,
    fit_nlinear,
    naive_forecast,
    seasonal_naive_forecast,
)

HISTORY = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def test_naive_forecasts_repeat_the_last_value_or_season():
    assert naive_forecast(HISTORY, 2).tolist() == [[3, 3], [6, 6]]
    assert seasonal_naive_forecast(HISTORY, 5, 2).tolist() == [[2, 3, 2, 3, 2], [5, 6, 5, 6, 5]]
    assert seasonal_naive_forecast(HISTORY, 2, 7).tolist() == [[1, 2], [4, 5]]


def linear_windows(seed, count=200, time=6, horizon=3):
    """Return futures that are a linear function of their history."""
    random = np.random.default_rng(seed)
    weights = random.normal(size=(time, horizon))
    history = random.normal(size=(count, time)) + 5
    last = history[:, -1:]
    return history, (history - last) @ weights + 0.3 + last


@given(st.integers(0, 2**32))
def test_nlinear_fits_a_linear_future_exactly(seed):
    history, future = linear_windows(seed)
    halves = [(history[:100], future[:100]), (history[100:], future[100:])]
    model = fit_nlinear(collect_ridge_statistics(halves), halves)
    assert np.abs(model.forecast(history) - future).max() < 0.01 * np.abs(future).max()


def test_ridge_statistics_do_not_depend_on_the_batches():
    history, future = linear_windows(0)
    whole = collect_ridge_statistics([(history, future)])
    parts = collect_ridge_statistics([(history[i : i + 7], future[i : i + 7]) for i in range(0, 200, 7)])
    assert np.allclose(whole.inputs, parts.inputs)
    assert np.allclose(whole.outputs, parts.outputs)
    assert whole.windows == parts.windows == 200


def test_the_unpenalised_fit_equals_numpy_least_squares():
    history, future = linear_windows(1)
    future = future + np.random.default_rng(2).normal(size=future.shape)
    last = history[:, -1:]
    inputs = np.concatenate([(history - last)[:, :-1], np.ones_like(last)], axis=1)
    expected = np.linalg.lstsq(inputs, future - last, rcond=None)[0]
    weights = collect_ridge_statistics([(history, future)]).solve(1e-9).weights
    assert np.allclose(np.delete(weights, -2, axis=0), expected, atol=1e-4)
