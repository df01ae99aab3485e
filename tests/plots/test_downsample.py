import numpy as np
import pytest

from regard.plots.downsample import MAX_POINTS, centered_moving_average, downsample_extrema
from regard.plots.scale import LinearScale, padded_range

NAN = float("nan")


def test_a_thinned_series_keeps_its_extremes_and_is_short():
    y = np.random.default_rng(0).normal(size=100_000)
    y[31_415], y[92_653] = 50.0, -50.0
    x, found = downsample_extrema(np.arange(100_000.0), y)
    assert len(found) <= MAX_POINTS
    assert {50.0, -50.0} <= set(found)
    assert (np.diff(x) > 0).all()
    assert all(y[int(place)] == value for place, value in zip(x, found, strict=True))


def test_a_short_series_is_left_as_it_is():
    x, y = downsample_extrema(np.arange(600.0), np.ones(600))
    assert len(x) == len(y) == 600


def test_one_value_that_is_none_in_a_hundred_thousand_is_still_a_gap():
    y = np.ones(100_000)
    y[50_000] = NAN
    x, found = downsample_extrema(np.arange(100_000.0), y)
    assert x[np.isnan(found)].tolist() == [50_000]


def test_smoothing_is_the_mean_around_and_does_not_lag():
    y = np.random.default_rng(0).normal(size=1000)
    slow = [y[max(0, i - 10) : i + 11].mean() for i in range(1000)]
    assert centered_moving_average(y) == pytest.approx(np.array(slow))
    line = np.arange(1000.0)
    assert centered_moving_average(line)[500] == pytest.approx(500)


def test_a_gap_stays_a_gap_and_spoils_nothing_around_it():
    y = np.ones(1000)
    y[500] = NAN
    assert np.flatnonzero(np.isnan(centered_moving_average(y))).tolist() == [500]


def test_a_short_series_is_not_smoothed():
    assert centered_moving_average(np.array([3.0, 1.0, 2.0])).tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.0, 100_000.0, ["0", "20k", "40k", "60k", "80k", "100k"]),
        (0.0, 15_500.0, ["0", "5k", "10k", "15k"]),
        (0.9, 2.1, ["1", "1.25", "1.5", "1.75", "2"]),
        (0.0, 7e-4, ["0", "2e-4", "4e-4", "6e-4"]),
        (0.0, 2.6e6, ["0", "0.5M", "1M", "1.5M", "2M", "2.5M"]),
        (0.0, 0.004, ["0", "0.001", "0.002", "0.003", "0.004"]),
        (-1.0, 1.0, ["-1", "-0.5", "0", "0.5", "1"]),
        (500.0, 1001.0, ["500", "600", "700", "800", "900", "1000"]),
    ],
)
def test_ticks_are_round_and_told_apart(low, high, labels):
    assert [label for _, label in LinearScale(low, high, 0.0, 100.0).ticks(5)] == labels


@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 12_345.678, 1e15])
def test_there_are_always_a_few_ticks_and_none_is_written_twice(size):
    for wanted in (2, 4, 9):
        labels = [label for _, label in LinearScale(0.0, size, 0.0, 1.0).ticks(wanted)]
        assert 2 <= len(labels) <= wanted + 2
        assert len(set(labels)) == len(labels)


def test_a_range_is_never_of_no_extent():
    for values in ([], [NAN], [3.0], [0.0, 0.0], [-2.0]):
        low, high = padded_range(values)
        assert low < high
    assert padded_range([1.0, 2.0], include_zero=True)[0] == 0
