from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.stream import StreamPosition, TokenBudget, stream_batches
from regard.errors import DataError
from regard.forecasting.series.windows import build_windows, reject_empty_windows

sizes = st.tuples(
    st.integers(1, 6), st.integers(1, 6), st.integers(1, 3), st.integers(0, 40), st.integers(0, 40)
)


def ramp(rows, channels):
    """Return a table whose values encode their row and channel."""
    values = np.arange(rows)[:, None] + 1000 * np.arange(channels)[None]
    return values.astype(np.float32), np.arange(rows)[:, None].astype(np.float32)


@given(sizes, st.booleans())
def test_every_horizon_within_the_part_has_one_window(size, per_series):
    history, horizon, channels, first, rows = size
    values, features = ramp(first + rows, channels)
    windows = build_windows(values, features, range(first, first + rows), history, horizon, per_series)
    windows_seen = []
    for first_index in range(0, windows.epoch_size, 3):
        batch = windows.batch(np.arange(first_index, min(first_index + 3, windows.epoch_size)))
        assert (batch.past_features[:, -1, 0] + 1 == batch.future_features[:, 0, 0]).all()
        for past, future, target in zip(batch.history, batch.future_features, batch.target, strict=True):
            for channel in range(target.shape[1]):
                steps = future[:, 0].tolist()
                series = int(target[0, channel] // 1000)
                assert (target[:, channel] - 1000 * series).tolist() == steps
                assert first <= steps[0]
                assert steps[-1] < first + rows
                assert past[-1, channel] + 1 == target[0, channel]
                windows_seen.append((int(steps[0]), series))
    expected = range(max(first, history), first + rows - horizon + 1)
    assert sorted(windows_seen) == [(origin, series) for origin in expected for series in range(channels)]


def test_window_counts_match_the_etth1_protocol():
    values, features = ramp(14_400, 1)
    counts = [
        build_windows(values, features, part, 336, 96, True).epoch_size
        for part in (range(8640), range(8640, 11_520), range(11_520, 14_400))
    ]
    assert counts == [8640 - 336 - 96 + 1, 2880 - 96 + 1, 2880 - 96 + 1]


@given(st.integers(0, 2**32), st.booleans())
def test_windows_with_a_missing_value_are_left_out(seed, per_series):
    values, features = ramp(30, 2)
    values[np.random.default_rng(seed).random(values.shape) < 0.05] = np.nan
    windows = build_windows(values, features, range(30), 3, 2, per_series)
    batch = windows.batch(np.arange(windows.epoch_size))
    assert not batch.history.isnan().any()
    assert not batch.target.isnan().any()
    complete = np.array([~np.isnan(values[origin - 3 : origin + 2]).any(axis=0) for origin in range(3, 29)])
    assert windows.epoch_size == (complete.sum() if per_series else complete.all(axis=1).sum())


def test_an_epoch_has_each_window_once_and_can_be_resumed():
    values, features = ramp(60, 2)
    windows = build_windows(values, features, range(60), 5, 3, True)
    budget = TokenBudget(10**9, 16, sort_by_length=False)
    batches = list(islice(stream_batches(windows, budget, seed=3), -(-windows.epoch_size // 16)))
    assert sorted(n for batch, _ in batches for n in batch.tolist()) == list(range(windows.epoch_size))
    resumed = next(stream_batches(windows, budget, 3, batches[2][1]))
    assert resumed[0].tolist() == batches[3][0].tolist()
    assert batches[-1][1] == StreamPosition(1)


def test_a_part_without_a_window_is_refused_with_the_rows_it_needs():
    values, features = ramp(20, 1)
    windows = build_windows(values, features, range(20), 16, 8, True)
    with pytest.raises(DataError, match="t.csv has 20 training rows; a window .* needs 24"):
        reject_empty_windows(windows, "t.csv", "training", 20)
