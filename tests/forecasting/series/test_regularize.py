import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.forecasting.series.regularize import (
    RawRows,
    format_line_numbers,
    gap_lengths,
    interpolate_gaps,
    regularize_rows,
)

DAY = np.timedelta64(1, "D")
FIRST = np.datetime64("2024-01-01", "us")


def table(days, values, longest_gap=10):
    """Regularize one series; days are numbers of days, or times."""
    times = np.array(days)
    times = FIRST + times * DAY if times.dtype.kind == "i" else times
    rows = RawRows(
        times.astype("datetime64[us]"), np.array(values, float)[:, None], np.arange(len(times)) + 2
    )
    return regularize_rows("t.csv", "%Y-%m-%d", "date", ["a"], rows, longest_gap)


def interpolate_one_by_one(column, longest):
    """Interpolate each missing value between its known neighbours."""
    out = list(column)
    for i, value in enumerate(column):
        if not np.isnan(value):
            continue
        left = next((j for j in range(i, -1, -1) if not np.isnan(column[j])), None)
        right = next((j for j in range(i, len(column)) if not np.isnan(column[j])), None)
        if left is not None and right is not None and right - left - 1 <= longest:
            out[i] = column[left] + (column[right] - column[left]) * (i - left) / (right - left)
    return out


@given(st.lists(st.one_of(st.just(np.nan), st.floats(-9, 9)), min_size=1, max_size=30), st.integers(0, 5))
def test_short_gaps_are_interpolated_and_long_ones_left(values, longest):
    column = np.array(values, np.float64)
    assert np.allclose(
        interpolate_gaps(column, longest), interpolate_one_by_one(column, longest), equal_nan=True
    )


def test_gap_lengths_are_counted_for_each_missing_value():
    known = np.array([False, True, False, False, True, True, False])
    assert gap_lengths(known).tolist() == [1, 0, 2, 2, 0, 0, 1]


def test_a_missing_row_is_inserted():
    result = table([0, 1, 2, 5], [1, 2, 3, 6])
    assert result.values[:, 0].tolist() == [1, 2, 3, 4, 5, 6]
    assert result.line_numbers.tolist() == [2, 3, 4, 0, 0, 5]
    assert result.notes == ("2 steps have no row (after line 4)", "a: 2 values are missing: 2 interpolated")


def test_rows_are_sorted_and_of_duplicates_the_later_line_is_kept():
    result = table([0, 2, 1, 2, 3], [1, 3, 2, 30, 4])
    assert result.values[:, 0].tolist() == [1, 2, 30, 4]
    assert result.line_numbers.tolist() == [2, 4, 5, 6]
    assert "out of order (line 4)" in result.notes[0]
    assert "the same time as a later one (line 3)" in result.notes[1]


def test_a_time_between_two_steps_moves_to_the_nearer_one():
    times = FIRST + np.array([0, 24, 50, 72, 96]) * np.timedelta64(1, "h")
    result = table(times, [1, 2, 3, 4, 5])
    assert result.values[:, 0].tolist() == [1, 2, 3, 4, 5]
    assert "between two steps of 1 day (line 4)" in result.notes[0]
    assert np.diff(result.times).tolist() == [DAY.astype("timedelta64[us]").item()] * 4


def test_a_regular_table_is_unchanged():
    result = table(range(50), np.arange(50.0))
    assert result.notes == ()
    assert result.values[:, 0].tolist() == list(range(50))


@pytest.mark.parametrize(
    ("count", "text"), [(1, "line 3"), (2, "lines 3, 4"), (7, "lines 3, 4, 5, 6, 7 and 2 more")]
)
def test_long_lists_of_lines_are_shortened(count, text):
    assert format_line_numbers(np.arange(3, 3 + count)) == text
