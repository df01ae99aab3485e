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
    """A table in which each value says where it stands."""
    values = np.arange(rows)[:, None] + 1000 * np.arange(channels)[None]
    return values.astype(np.float32), np.arange(rows)[:, None].astype(np.float32)


@given(sizes, st.booleans())
def test_every_window_of_a_part_is_scored_once_and_none_reaches_out_of_it(size, apart):
    history, horizon, channels, first, rows = size
    values, calendar = ramp(first + rows, channels)
    found = build_windows(values, calendar, range(first, first + rows), history, horizon, apart)
    seen = []
    for batch in found.in_order(3):
        assert (batch.past_features[:, -1, 0] + 1 == batch.future_features[:, 0, 0]).all()
        for past, future, target in zip(batch.history, batch.future_features, batch.target, strict=True):
            for channel in range(target.shape[1]):
                steps = future[:, 0].tolist()
                series = int(target[0, channel] // 1000)
                assert (target[:, channel] - 1000 * series).tolist() == steps
                assert first <= steps[0]
                assert steps[-1] < first + rows
                assert past[-1, channel] + 1 == target[0, channel]
                seen.append((int(steps[0]), series))
    expected = range(max(first, history), first + rows - horizon + 1)
    assert sorted(seen) == [(origin, series) for origin in expected for series in range(channels)]


def test_the_standard_protocol_of_etth1_has_its_windows():
    values, calendar = ramp(14_400, 1)
    counted = [
        build_windows(values, calendar, part, 336, 96, True).epoch_size
        for part in (range(8640), range(8640, 11_520), range(11_520, 14_400))
    ]
    assert counted == [8640 - 336 - 96 + 1, 2880 - 96 + 1, 2880 - 96 + 1]


@given(st.integers(0, 2**32), st.booleans())
def test_windows_with_a_missing_value_are_left_out(seed, apart):
    values, calendar = ramp(30, 2)
    values[np.random.default_rng(seed).random(values.shape) < 0.05] = np.nan
    found = build_windows(values, calendar, range(30), 3, 2, apart)
    batch = found.batch(np.arange(found.epoch_size))
    assert not batch.history.isnan().any()
    assert not batch.target.isnan().any()
    whole = np.array([~np.isnan(values[origin - 3 : origin + 2]).any(axis=0) for origin in range(3, 29)])
    assert found.epoch_size == (whole.sum() if apart else whole.all(axis=1).sum())


def test_an_epoch_shows_each_window_once_and_can_be_entered_anywhere():
    values, calendar = ramp(60, 2)
    found = build_windows(values, calendar, range(60), 5, 3, True)
    plan = TokenBudget(10**9, 16, sort_by_length=False)
    batches = list(islice(stream_batches(found, plan, seed=3), -(-found.epoch_size // 16)))
    assert sorted(n for batch, _ in batches for n in batch.tolist()) == list(range(found.epoch_size))
    again = next(stream_batches(found, plan, 3, batches[2][1]))
    assert again[0].tolist() == batches[3][0].tolist()
    assert batches[-1][1] == StreamPosition(1)


def test_a_part_that_is_too_short_is_refused_with_what_it_needs():
    values, calendar = ramp(20, 1)
    found = build_windows(values, calendar, range(20), 16, 8, True)
    with pytest.raises(DataError, match="t.csv has 20 training rows; a window .* needs 24"):
        reject_empty_windows(found, "t.csv", "training", 20)
