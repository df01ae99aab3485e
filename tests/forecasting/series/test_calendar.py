from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.forecasting.series.calendar import CYCLES, calendar_features, cycle_phase, cycles_for_step
from regard.forecasting.series.time_axis import TimeStep


def phase_one(moment, cycle):
    """A slow twin, by the standard library."""
    day = (moment.hour + (moment.minute + (moment.second + moment.microsecond / 1e6) / 60) / 60) / 24
    month = datetime(moment.year, moment.month, 1)
    year = datetime(moment.year, 1, 1)
    match cycle:
        case "minute":
            return day * 24 % 1
        case "hour":
            return day
        case "weekday":
            return (moment.weekday() + day) / 7
        case "monthday":
            following = (month + timedelta(days=32)).replace(day=1)
            return (moment - month) / (following - month)
        case "month":
            return (moment - year) / (datetime(moment.year + 1, 1, 1) - year)


@given(st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)), st.sampled_from(CYCLES))
def test_a_time_is_where_the_standard_library_has_it(moment, cycle):
    found = cycle_phase(np.array([moment], "datetime64[us]"), cycle)[0]
    assert 0 <= found < 1
    assert found == pytest.approx(phase_one(moment, cycle), abs=1e-9)


def test_features_lie_on_circles_and_a_day_later_only_the_longer_cycles_have_moved():
    times = np.array(["2024-02-28T15:00", "2024-02-29T15:00"], "datetime64[us]")
    found = calendar_features(times, ("hour", "weekday"))
    assert np.allclose(np.square(found[:, :2]).sum(axis=1), 1)
    assert np.allclose(found[0, :2], found[1, :2])
    assert not np.allclose(found[0, 2:], found[1, 2:])


def test_no_cycles_are_no_features():
    assert calendar_features(np.array(["2024-01-01"], "datetime64[us]"), ()).shape == (1, 0)


def test_cycles_suit_the_step():
    assert cycles_for_step(TimeStep(900_000_000)) == ("minute", "hour", "weekday")
    assert cycles_for_step(TimeStep(3_600_000_000)) == ("hour", "weekday")
    assert cycles_for_step(TimeStep(86_400_000_000)) == ("weekday", "month")
    assert cycles_for_step(TimeStep(months=1)) == ("month",)
