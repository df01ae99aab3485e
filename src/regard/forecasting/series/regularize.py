"""Rows of a file put on a regular time grid: sorted, deduplicated, short gaps interpolated."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64, Int64

from regard.errors import DataError
from regard.forecasting.series.table import SeriesTable, SeriesValues
from regard.forecasting.series.time_axis import (
    TimeAxis,
    Times,
    most_common_step,
    steps_since_first,
    time_grid,
)

ColumnValues = Float64[np.ndarray, " rows"]
LineNumbers = Int64[np.ndarray, " rows"]

MIN_ROWS = 3
"""Rows that are needed to find the step."""
MAX_STEPS_PER_ROW = 20
"""Grid steps per row of the file at most; with more, a time is probably wrong."""
MAX_LISTED_LINES = 5
"""Line numbers that a note lists."""


@dataclass(frozen=True)
class RawRows:
    """The rows of a file, in its order."""

    times: Times
    values: SeriesValues
    line_numbers: LineNumbers

    def select(self, indexes: np.ndarray) -> "RawRows":
        return RawRows(self.times[indexes], self.values[indexes], self.line_numbers[indexes])


def regularize_rows(
    name: str, time_format: str, time_column: str, columns: Sequence[str], rows: RawRows, longest_gap: int
) -> SeriesTable:
    """Build the table with a row for every step; gaps of up to `longest_gap` values are interpolated.

    Of two rows with the same time, the later line is used; a time between two steps moves to the nearer.
    Longer gaps, and values before a column's first or after its last one, stay missing.
    """
    notes: list[str] = []
    rows = _drop_earlier_duplicates(_sort_rows(rows, notes), "the same time", notes)
    if len(rows.times) < MIN_ROWS:
        raise DataError(f"{name} has {len(rows.times)} rows; a series needs at least {MIN_ROWS}")
    time_axis = TimeAxis(time_format, most_common_step(rows.times))
    rows, times = _snap_to_grid(name, rows, time_axis, notes)
    complete = _insert_missing_rows(rows, times, notes)
    filled = np.stack([interpolate_gaps(column, longest_gap) for column in complete.values.T], axis=1)
    interpolated = np.isnan(complete.values) & ~np.isnan(filled)
    for column, before, after in zip(columns, complete.values.T, filled.T, strict=True):
        notes += _missing_value_notes(column, before, after, complete.line_numbers)
    return SeriesTable(
        name,
        time_axis,
        time_column,
        tuple(columns),
        times,
        filled,
        interpolated,
        complete.line_numbers,
        tuple(notes),
    )


def interpolate_gaps(column: ColumnValues, longest_gap: int) -> ColumnValues:
    """Interpolate linearly over each gap of up to `longest_gap` values that has a value on both sides."""
    known = ~np.isnan(column)
    if known.all() or not known.any():
        return column
    rows = np.arange(len(column))
    line = np.interp(rows, rows[known], column[known], left=np.nan, right=np.nan)
    return np.where(known | (gap_lengths(known) > longest_gap), column, line)


def gap_lengths(known: Bool[np.ndarray, " rows"]) -> Int64[np.ndarray, " rows"]:
    """Return the length of the gap that each missing value is in; 0 for known values."""
    run = np.cumsum(np.concatenate([[True], known[1:] != known[:-1]])) - 1
    return np.where(known, 0, np.bincount(run)[run])


def format_line_numbers(lines: LineNumbers) -> str:
    """List line numbers, the first few of many."""
    listed = ", ".join(map(str, lines[:MAX_LISTED_LINES].tolist()))
    more = f" and {len(lines) - MAX_LISTED_LINES:,} more" if len(lines) > MAX_LISTED_LINES else ""
    return f"line{'' if len(lines) == 1 else 's'} {listed}{more}"


def _sort_rows(rows: RawRows, notes: list[str]) -> RawRows:
    unsorted = rows.line_numbers[1:][np.diff(rows.times).astype(np.int64) < 0]
    if len(unsorted):
        count = _count_phrase(len(unsorted), "row is", "rows are")
        notes.append(f"{count} out of order ({format_line_numbers(unsorted)}): sorted")
    return rows.select(np.argsort(rows.times, kind="stable"))


def _drop_earlier_duplicates(rows: RawRows, what: str, notes: list[str]) -> RawRows:
    """Keep the last of the sorted rows that share a time."""
    last = np.concatenate([rows.times[1:] != rows.times[:-1], np.ones(min(1, len(rows.times)), bool)])
    if not last.all():
        count = _count_phrase(int((~last).sum()), "row has", "rows have")
        lines = format_line_numbers(rows.line_numbers[~last])
        notes.append(f"{count} {what} as a later one ({lines}): left out")
    return rows.select(last)


def _snap_to_grid(name: str, rows: RawRows, time_axis: TimeAxis, notes: list[str]) -> tuple[RawRows, Times]:
    """Move each row to the nearest step; return the rows and the times of all steps."""
    steps = steps_since_first(rows.times, time_axis.step)
    count = int(steps[-1]) + 1
    if count > MAX_STEPS_PER_ROW * len(steps):
        line = rows.line_numbers[1 + int(np.diff(steps).argmax())]
        raise DataError(
            f"{name} has {len(steps):,} rows over {count:,} steps of {time_axis.step}; "
            f"correct the times: the longest gap ends in line {line}"
        )
    times = time_grid(rows.times[0], time_axis.step, count)
    off_grid = times[steps] != rows.times
    if off_grid.any():
        moved = _count_phrase(int(off_grid.sum()), "row is", "rows are")
        lines = format_line_numbers(rows.line_numbers[off_grid])
        notes.append(f"{moved} between two steps of {time_axis.step} ({lines}): moved to the nearer")
    return _drop_earlier_duplicates(replace(rows, times=times[steps]), "the same step", notes), times


def _insert_missing_rows(rows: RawRows, times: Times, notes: list[str]) -> RawRows:
    """Add a row of missing values for every step that the file does not have."""
    steps = np.searchsorted(times, rows.times)
    values = np.full((len(times), rows.values.shape[1]), np.nan)
    line_numbers = np.zeros(len(times), np.int64)
    values[steps], line_numbers[steps] = rows.values, rows.line_numbers
    if len(steps) < len(times):
        before_gaps = rows.line_numbers[np.flatnonzero(np.diff(steps) > 1)]
        count = _count_phrase(len(times) - len(steps), "step has", "steps have")
        notes.append(f"{count} no row (after {format_line_numbers(before_gaps)})")
    return RawRows(times, values, line_numbers)


def _missing_value_notes(
    column: str, before: ColumnValues, after: ColumnValues, line_numbers: LineNumbers
) -> list[str]:
    """Return a note about the missing values of a column, if it has any."""
    missing = np.isnan(before)
    if not missing.any():
        return []
    total, left_out = int(missing.sum()), int(np.isnan(after).sum())
    lines = line_numbers[missing & (line_numbers > 0)]
    location = f" ({format_line_numbers(lines)})" if len(lines) else ""
    result = f"{total - left_out:,} interpolated" + (f", {left_out:,} left out" if left_out else "")
    return [f"{column}: {_count_phrase(total, 'value is', 'values are')} missing{location}: {result}"]


def _count_phrase(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"
