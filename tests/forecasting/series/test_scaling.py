import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.forecasting.series.scaling import fit_scaler

COLUMNS = ("a", "b")


@given(st.integers(0, 2**32), st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_scaling_is_undone_at_the_end(seed, level, spread):
    values = level + spread * np.random.default_rng(seed).normal(size=(50, 2))
    scaling = fit_scaler(values, COLUMNS)
    assert np.allclose(scaling.unscale(scaling.scale(values)), values, rtol=1e-9)
    assert np.allclose(scaling.scale(values).mean(axis=0), 0, atol=1e-6)
    assert np.allclose(scaling.scale(values).std(axis=0), 1)


def test_a_value_that_is_missing_and_a_series_that_never_changes_do_no_harm():
    values = np.array([[1.0, 5.0], [np.nan, 5.0], [3.0, 5.0]])
    scaling = fit_scaler(values, COLUMNS)
    assert scaling.mean.tolist() == [2, 5]
    assert scaling.std.tolist() == [1, 1]


def test_a_series_that_never_changes_is_not_divided_by_its_rounding():
    values = np.stack([np.full(1000, 0.1), np.arange(1000.0)], axis=1)
    assert fit_scaler(values, COLUMNS).std[0] == 1


def test_a_series_without_training_values_is_refused_by_name():
    with pytest.raises(DataError, match="column 'b' has no value in the training rows"):
        fit_scaler(np.array([[1.0, np.nan], [2.0, np.nan]]), COLUMNS)
