from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.forecasting.series.time_axis import (
    MICROSECONDS_PER_DAY,
    TimeAxis,
    TimeStep,
    format_times,
    most_common_step,
    parse_times,
    steps_since_first,
    time_grid,
)


@pytest.mark.parametrize(
    "texts",
    [
        ["2024-01-01", "2024-01-02", "2024-01-03"],
        ["2024-01-01 00:00", "2024-01-01 01:00", "2024-01-01 02:00"],
        ["2024-01-01T00:00:00Z", "2024-01-01T00:15:00Z", "2024-01-01T00:30:00Z"],
        ["2024-01-01T00:00:00.500000", "2024-01-01T00:00:01.000000", "2024-01-01T00:00:01.500000"],
        ["31.12.2023 23:00", "01.01.2024 00:00", "01.01.2024 01:00"],
        ["12/31/2023", "01/01/2024", "01/02/2024"],
        ["01/01/2024", "02/01/2024", "03/01/2024"],
        ["2023-11", "2023-12", "2024-01"],
        ["1999", "2000", "2001"],
        ["20231231", "20240101", "20240102"],
        ["1704067200", "1704070800", "1704074400"],
        ["1704067200000", "1704070800000", "1704074400000"],
        ["01/01/2024 11:00 AM", "01/01/2024 12:00 PM", "01/01/2024 01:00 PM"],
    ],
)
def test_formatting_inverts_parsing(texts):
    times, time_format = parse_times(texts, "table.csv")
    assert format_times(times, time_format) == texts


def test_an_ambiguous_date_format_is_chosen_by_regular_steps():
    days = [f"{day:02}/03/2024" for day in range(1, 10)]
    months = [f"{month:02}/03/2024" for month in (1, 2, 4, 8)]
    assert parse_times(days, "x")[1] == "%d/%m/%Y"
    assert parse_times([*days, "10/03/2024"], "x")[0][-1] == np.datetime64("2024-03-10")
    assert parse_times(months, "x")[1] in ("%m/%d/%Y", "%d/%m/%Y")


def test_utc_offsets_are_applied():
    times, time_format = parse_times(["2024-03-31T01:00:00+0100", "2024-03-31T03:00:00+0200"], "x")
    assert np.diff(times).tolist() == [np.timedelta64(1, "h").astype("timedelta64[us]").item()]
    assert format_times(times, time_format) == ["2024-03-31T00:00:00+0000", "2024-03-31T01:00:00+0000"]


def test_a_time_in_another_format_is_reported():
    with pytest.raises(DataError, match="'soon'"):
        parse_times(["2024-01-01", "soon", "2024-01-03"], "x")


steps = st.one_of(st.builds(TimeStep, st.integers(1, 10**12)), st.builds(TimeStep, months=st.integers(1, 24)))
moments = st.datetimes(datetime(1950, 1, 1), datetime(2050, 1, 1))


@given(moments, steps, st.integers(3, 40))
def test_a_grid_has_the_step_and_positions_it_was_made_with(first, step, count):
    times = time_grid(np.datetime64(first, "us"), step, count)
    if not step.months or first.day <= 28:
        assert steps_since_first(times, step).tolist() == list(range(count))
    if not step.months:
        assert most_common_step(times) == step


def test_calendar_months_are_a_step():
    times, time_format = parse_times(
        ["2023-11-01", "2023-12-01", "2024-01-01", "2024-02-01", "2024-03-01"], "x"
    )
    axis = TimeAxis(time_format, most_common_step(times))
    assert axis.step == TimeStep(months=1)
    assert axis.format_times(axis.times_after(times[-1], 2)) == ["2024-04-01", "2024-05-01"]


def test_month_ends_are_a_step():
    times, time_format = parse_times(
        ["2023-11-30", "2023-12-31", "2024-01-31", "2024-02-29", "2024-03-31"], "x"
    )
    axis = TimeAxis(time_format, most_common_step(times))
    assert axis.step == TimeStep(months=1, ends=True)
    assert time_grid(times[0], axis.step, 5).tolist() == times.tolist()
    assert steps_since_first(times, axis.step).tolist() == [0, 1, 2, 3, 4]
    assert axis.format_times(axis.times_after(times[-1], 2)) == ["2024-04-30", "2024-05-31"]


def test_years_are_not_parsed_as_unix_seconds():
    times, time_format = parse_times([str(year) for year in range(1995, 2006)], "x")
    assert time_format == "%Y"
    assert most_common_step(times) == TimeStep(months=12)


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (TimeStep(3_600_000_000), "1 hour"),
        (TimeStep(900_000_000), "15 minutes"),
        (TimeStep(172_800_000_000), "2 days"),
        (TimeStep(500_000), "0.5 seconds"),
        (TimeStep(months=3), "3 months"),
        (TimeStep(months=3, ends=True), "3 months (last days)"),
    ],
)
def test_a_step_is_formatted(step, text):
    assert str(step) == text


@pytest.mark.parametrize(
    ("step", "count"),
    [
        (TimeStep(months=1), 11),
        (TimeStep(months=12), 0),
        (TimeStep(microseconds=MICROSECONDS_PER_DAY), 364),
    ],
)
def test_steps_are_counted_up_to_the_last_year_that_can_be_written(step, count):
    axis, last = TimeAxis("%Y-%m-%d", step), np.datetime64("9999-01-01", "us")
    assert axis.count_steps_after(last) == count
    assert len(axis.format_times(axis.times_after(last, count))) == count
