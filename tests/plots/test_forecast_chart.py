import numpy as np
import pytest

from regard.plots.forecast_chart import date_ticks


def hours(first, count, step):
    return np.datetime64(first, "us") + np.arange(count) * np.timedelta64(step, "h").astype("timedelta64[us]")


def test_midnight_ticks_show_the_date_and_others_the_time():
    ticks = date_ticks(hours("2024-01-01T05", 30, 1), 6)
    assert [label for _, label in ticks] == ["06:00", "12:00", "18:00", "2024-01-02", "06:00"]
    assert [position for position, _ in ticks] == [1, 7, 13, 19, 25]


def test_weekly_ticks_are_mondays():
    ticks = date_ticks(hours("2024-01-03", 40, 24), 6)
    assert [label for _, label in ticks] == [
        "2024-01-08",
        "2024-01-15",
        "2024-01-22",
        "2024-01-29",
        "2024-02-05",
    ]


@pytest.mark.parametrize("step", [1, 5, 24, 24 * 7, 24 * 30, 24 * 365])
@pytest.mark.parametrize("rows", [2, 50, 1000])
def test_there_are_at_most_max_ticks_within_the_range(step, rows):
    ticks = date_ticks(hours("1990-02-03T04", rows, step), 8)
    assert len(ticks) <= 8
    assert all(0 <= position <= rows - 1 for position, _ in ticks)
