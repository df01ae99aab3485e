from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.stream import BatchPlan, Position, stream
from regard.errors import DataError
from regard.forecasting.series.windows import refuse_none, windows

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
    found = windows(values, calendar, range(first, first + rows), history, horizon, apart)
    seen = []
    for batch in found.in_order(3):
        assert (batch.past[:, -1, 0] + 1 == batch.future[:, 0, 0]).all()
        for past, future, target in zip(batch.history, batch.future, batch.target, strict=True):
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
        windows(values, calendar, part, 336, 96, True).turns
        for part in (range(8640), range(8640, 11_520), range(11_520, 14_400))
    ]
    assert counted == [8640 - 336 - 96 + 1, 2880 - 96 + 1, 2880 - 96 + 1]


@given(st.integers(0, 2**32), st.booleans())
def test_windows_with_a_missing_value_are_left_out(seed, apart):
    values, calendar = ramp(30, 2)
    values[np.random.default_rng(seed).random(values.shape) < 0.05] = np.nan
    found = windows(values, calendar, range(30), 3, 2, apart)
    batch = found.batch(np.arange(found.turns))
    assert not batch.history.isnan().any()
    assert not batch.target.isnan().any()
    whole = np.array([~np.isnan(values[origin - 3 : origin + 2]).any(axis=0) for origin in range(3, 29)])
    assert found.turns == (whole.sum() if apart else whole.all(axis=1).sum())


def test_an_epoch_shows_each_window_once_and_can_be_entered_anywhere():
    values, calendar = ramp(60, 2)
    found = windows(values, calendar, range(60), 5, 3, True)
    plan = BatchPlan(10**9, 16, sort=False)
    batches = list(islice(stream(found, plan, seed=3), -(-found.turns // 16)))
    assert sorted(n for batch, _ in batches for n in batch.tolist()) == list(range(found.turns))
    again = next(stream(found, plan, 3, batches[2][1]))
    assert again[0].tolist() == batches[3][0].tolist()
    assert batches[-1][1] == Position(1)


def test_a_part_that_is_too_short_is_refused_with_what_it_needs():
    values, calendar = ramp(20, 1)
    found = windows(values, calendar, range(20), 16, 8, True)
    with pytest.raises(DataError, match="t.csv has 20 training rows; a window .* needs 24"):
        refuse_none(found, "t.csv", "training", 20)
