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
    """One series; the days are numbers, or times already."""
    times = np.array(days)
    times = FIRST + times * DAY if times.dtype.kind == "i" else times
    rows = RawRows(
        times.astype("datetime64[us]"), np.array(values, float)[:, None], np.arange(len(times)) + 2
    )
    return regularize_rows("t.csv", "%Y-%m-%d", "date", ["a"], rows, longest_gap)


def fill_one_by_one(column, longest):
    """A slow twin: each missing value looks for its neighbours."""
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
def test_short_gaps_are_filled_by_straight_lines_and_long_ones_left(values, longest):
    column = np.array(values, np.float64)
    assert np.allclose(interpolate_gaps(column, longest), fill_one_by_one(column, longest), equal_nan=True)


def test_each_missing_value_knows_how_long_its_gap_is():
    known = np.array([False, True, False, False, True, True, False])
    assert gap_lengths(known).tolist() == [1, 0, 2, 2, 0, 0, 1]


def test_a_step_without_a_row_gets_one():
    found = table([0, 1, 2, 5], [1, 2, 3, 6])
    assert found.values[:, 0].tolist() == [1, 2, 3, 4, 5, 6]
    assert found.line_numbers.tolist() == [2, 3, 4, 0, 0, 5]
    assert found.notes == ("2 steps have no row (after line 4)", "a: 2 values are missing: 2 filled in")


def test_rows_out_of_order_are_sorted_and_of_two_at_one_time_the_later_line_is_taken():
    found = table([0, 2, 1, 2, 3], [1, 3, 2, 30, 4])
    assert found.values[:, 0].tolist() == [1, 2, 30, 4]
    assert found.line_numbers.tolist() == [2, 4, 5, 6]
    assert "out of order (line 4)" in found.notes[0]
    assert "the same time as a later one (line 3)" in found.notes[1]


def test_a_time_between_two_steps_goes_to_the_nearer_one():
    times = FIRST + np.array([0, 24, 50, 72, 96]) * np.timedelta64(1, "h")
    found = table(times, [1, 2, 3, 4, 5])
    assert found.values[:, 0].tolist() == [1, 2, 3, 4, 5]
    assert "between two steps of 1 day (line 4)" in found.notes[0]
    assert np.diff(found.times).tolist() == [DAY.astype("timedelta64[us]").item()] * 4


def test_a_table_in_order_is_left_as_it_is():
    found = table(range(50), np.arange(50.0))
    assert found.notes == ()
    assert found.values[:, 0].tolist() == list(range(50))


@pytest.mark.parametrize(
    ("count", "said"), [(1, "line 3"), (2, "lines 3, 4"), (7, "lines 3, 4, 5, 6, 7 and 2 more")]
)
def test_many_lines_are_named_by_the_first(count, said):
    assert format_line_numbers(np.arange(3, 3 + count)) == said
