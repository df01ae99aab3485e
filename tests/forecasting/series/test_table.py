import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.forecasting.series.read_table import read_series_table
from regard.forecasting.series.table import fit_scaler

COLUMNS = ("a", "b")


@given(st.integers(0, 2**32), st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_unscaling_inverts_scaling(seed, level, spread):
    values = level + spread * np.random.default_rng(seed).normal(size=(50, 2))
    scaler = fit_scaler(values, COLUMNS)
    assert np.allclose(scaler.unscale(scaler.scale(values)), values, rtol=1e-9)
    assert np.allclose(scaler.scale(values).mean(axis=0), 0, atol=1e-6)
    assert np.allclose(scaler.scale(values).std(axis=0), 1)


def test_a_missing_value_and_a_constant_series_are_handled():
    values = np.array([[1.0, 5.0], [np.nan, 5.0], [3.0, 5.0]])
    scaler = fit_scaler(values, COLUMNS)
    assert scaler.mean.tolist() == [2, 5]
    assert scaler.std.tolist() == [1, 1]


def test_a_constant_series_is_not_divided_by_its_rounding_error():
    values = np.stack([np.full(1000, 0.1), np.arange(1000.0)], axis=1)
    assert fit_scaler(values, COLUMNS).std[0] == 1


def test_a_series_without_training_values_is_refused():
    with pytest.raises(DataError, match="column 'b' has no value in the training rows"):
        fit_scaler(np.array([[1.0, np.nan], [2.0, np.nan]]), COLUMNS)


def test_a_value_interpolated_with_a_later_row_is_not_known_before_it(tmp_path):
    path = tmp_path / "gap.csv"
    rows = [f"2024-01-01 {hour:02}:00,{'' if hour in (2, 6, 7) else hour}" for hour in range(10)]
    path.write_text("\n".join(["when,value", *rows]) + "\n")
    table = read_series_table(path, None, (), 5)
    assert table.values[:, 0].tolist() == list(range(10))  # both gaps are interpolated
    known = table.values_known_at(8)[:, 0]
    assert known[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert np.isnan(known[6:]).all()  # row 8 is later
    assert table.values_known_at(9)[:, 0].tolist() == list(range(9))
