import numpy as np
import pytest

from regard.plots.downsample import MAX_POINTS, centered_moving_average, downsample_extrema

NAN = float("nan")


def test_downsampling_keeps_the_extremes():
    y = np.random.default_rng(0).normal(size=100_000)
    y[31_415], y[92_653] = 50.0, -50.0
    x, values = downsample_extrema(np.arange(100_000.0), y)
    assert len(values) <= MAX_POINTS
    assert {50.0, -50.0} <= set(values)
    assert (np.diff(x) > 0).all()
    assert all(y[int(index)] == value for index, value in zip(x, values, strict=True))


def test_a_short_series_is_not_downsampled():
    x, y = downsample_extrema(np.arange(600.0), np.ones(600))
    assert len(x) == len(y) == 600


def test_a_single_nan_in_100_000_points_stays_a_gap():
    y = np.ones(100_000)
    y[50_000] = NAN
    x, values = downsample_extrema(np.arange(100_000.0), y)
    assert x[np.isnan(values)].tolist() == [50_000]


def test_the_moving_average_is_centred():
    y = np.random.default_rng(0).normal(size=1000)
    slow = [y[max(0, i - 10) : i + 11].mean() for i in range(1000)]
    assert centered_moving_average(y) == pytest.approx(np.array(slow))
    line = np.arange(1000.0)
    assert centered_moving_average(line)[500] == pytest.approx(500)


def test_nan_values_stay_nan_and_do_not_spread():
    y = np.ones(1000)
    y[500] = NAN
    assert np.flatnonzero(np.isnan(centered_moving_average(y))).tolist() == [500]


def test_a_short_series_is_not_smoothed():
    assert centered_moving_average(np.array([3.0, 1.0, 2.0])).tolist() == [3, 1, 2]
