from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.forecasting.series.calendar import (
    CYCLES,
    calendar_features,
    cycle_phase,
    cycles_for_step,
    season_length,
)
from regard.forecasting.series.time_axis import TimeStep


def reference_phase(moment, cycle):
    """Compute the phase with the standard library."""
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
def test_a_phase_agrees_with_the_standard_library(moment, cycle):
    phase = cycle_phase(np.array([moment], "datetime64[us]"), cycle)[0]
    assert 0 <= phase < 1
    assert phase == pytest.approx(reference_phase(moment, cycle), abs=1e-9)


def test_features_are_on_circles_and_a_day_moves_only_the_longer_cycles():
    times = np.array(["2024-02-28T15:00", "2024-02-29T15:00"], "datetime64[us]")
    features = calendar_features(times, ("hour", "weekday"))
    assert np.allclose(np.square(features[:, :2]).sum(axis=1), 1)
    assert np.allclose(features[0, :2], features[1, :2])
    assert not np.allclose(features[0, 2:], features[1, 2:])


def test_no_cycles_give_no_features():
    assert calendar_features(np.array(["2024-01-01"], "datetime64[us]"), ()).shape == (1, 0)


def test_the_default_cycles_suit_the_step():
    assert cycles_for_step(TimeStep(900_000_000)) == ("minute", "hour", "weekday")
    assert cycles_for_step(TimeStep(3_600_000_000)) == ("hour", "weekday")
    assert cycles_for_step(TimeStep(86_400_000_000)) == ("weekday", "month")
    assert cycles_for_step(TimeStep(months=1)) == ("month",)


@pytest.mark.parametrize(
    ("step", "season"),
    [
        (TimeStep(1_000_000), 3600),
        (TimeStep(60_000_000), 1440),
        (TimeStep(3_600_000_000), 24),
        (TimeStep(86_400_000_000), 7),
        (TimeStep(7 * 86_400_000_000), 52),
        (TimeStep(months=1), 12),
        (TimeStep(months=3), 4),
    ],
)
def test_the_season_is_the_next_longer_cycle(step, season):
    assert season_length(step) == season
