"""Rows put on an even clock: sorted, doubles dropped, gaps opened, short ones filled."""

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
"""Rows from which on there is a commonest step."""
MAX_STEPS_PER_ROW = 20
"""Steps for each row that a file may have at most; beyond, a time is likely wrong."""
MAX_LISTED_LINES = 5
"""Lines that a note names."""


@dataclass(frozen=True)
class RawRows:
    """What a file says, row by row."""

    times: Times
    values: SeriesValues
    line_numbers: LineNumbers
    """Where in the file each row stands."""

    def select(self, which: np.ndarray) -> "RawRows":
        return RawRows(self.times[which], self.values[which], self.line_numbers[which])


def regularize_rows(
    name: str, time_format: str, time_column: str, columns: Sequence[str], rows: RawRows, longest_gap: int
) -> SeriesTable:
    """The table with a row for every step, gaps of up to `longest_gap` values filled by straight lines.

    Of two rows at one time the later line is taken; a time between two steps goes to the nearer one.
    Longer gaps, and what lies before a column's first value or after its last, stay missing.
    """
    notes: list[str] = []
    rows = _drop_earlier_duplicates(_sort_rows(rows, notes), "the same time", notes)
    if len(rows.times) < MIN_ROWS:
        raise DataError(f"{name} has {len(rows.times)} rows; a series needs {MIN_ROWS} times at least")
    clock = TimeAxis(time_format, most_common_step(rows.times))
    rows, even = _snap_to_grid(name, rows, clock, notes)
    opened = _insert_missing_rows(rows, even, notes)
    filled = np.stack([interpolate_gaps(column, longest_gap) for column in opened.values.T], axis=1)
    guessed = np.isnan(opened.values) & ~np.isnan(filled)
    for column, before, after in zip(columns, opened.values.T, filled.T, strict=True):
        notes += _missing_value_notes(column, before, after, opened.line_numbers)
    return SeriesTable(
        name, clock, time_column, tuple(columns), even, filled, guessed, opened.line_numbers, tuple(notes)
    )


def interpolate_gaps(column: ColumnValues, longest_gap: int) -> ColumnValues:
    """With a straight line over each gap of up to `longest` values that has a value on both sides."""
    known = ~np.isnan(column)
    if known.all() or not known.any():
        return column
    at = np.arange(len(column))
    line = np.interp(at, at[known], column[known], left=np.nan, right=np.nan)
    return np.where(known | (gap_lengths(known) > longest_gap), column, line)


def gap_lengths(known: Bool[np.ndarray, " rows"]) -> Int64[np.ndarray, " rows"]:
    """For each value that is missing, how many are in a row there; 0 for the others."""
    run = np.cumsum(np.concatenate([[True], known[1:] != known[:-1]])) - 1
    return np.where(known, 0, np.bincount(run)[run])


def format_line_numbers(lines: LineNumbers) -> str:
    """Some line numbers for a person, the first few of many."""
    said = ", ".join(map(str, lines[:MAX_LISTED_LINES].tolist()))
    more = "" if len(lines) <= MAX_LISTED_LINES else f" and {len(lines) - MAX_LISTED_LINES:,} more"
    return f"line{'' if len(lines) == 1 else 's'} {said}{more}"


def _sort_rows(rows: RawRows, notes: list[str]) -> RawRows:
    early = rows.line_numbers[1:][np.diff(rows.times).astype(np.int64) < 0]
    if len(early):
        notes.append(
            f"{_count_phrase(len(early), 'row is', 'rows are')} out of order ({format_line_numbers(early)}): sorted"
        )
    return rows.select(np.argsort(rows.times, kind="stable"))


def _drop_earlier_duplicates(rows: RawRows, what: str, notes: list[str]) -> RawRows:
    """Of rows in order, the last of those that share a time."""
    last = np.concatenate([rows.times[1:] != rows.times[:-1], np.ones(min(1, len(rows.times)), bool)])
    if not last.all():
        count = _count_phrase(int((~last).sum()), "row has", "rows have")
        notes.append(
            f"{count} {what} as a later one ({format_line_numbers(rows.line_numbers[~last])}): left out"
        )
    return rows.select(last)


def _snap_to_grid(name: str, rows: RawRows, clock: TimeAxis, notes: list[str]) -> tuple[RawRows, Times]:
    """Each row at the step that is nearest to its time; and the times of all steps."""
    at = steps_since_first(rows.times, clock.step)
    count = int(at[-1]) + 1
    if count > MAX_STEPS_PER_ROW * len(at):
        raise DataError(
            f"{name} has {len(at):,} rows over {count:,} steps of {clock.step}; "
            f"is a time wrong? the longest gap ends in line {rows.line_numbers[1 + int(np.diff(at).argmax())]}"
        )
    even = time_grid(rows.times[0], clock.step, count)
    off = even[at] != rows.times
    if off.any():
        said = _count_phrase(int(off.sum()), "row is", "rows are")
        notes.append(
            f"{said} between two steps of {clock.step} ({format_line_numbers(rows.line_numbers[off])}): moved to the nearer"
        )
    return _drop_earlier_duplicates(replace(rows, times=even[at]), "the same step", notes), even


def _insert_missing_rows(rows: RawRows, even: Times, notes: list[str]) -> RawRows:
    """With a row for every step; where the file has none, values are missing."""
    at = np.searchsorted(even, rows.times)
    values = np.full((len(even), rows.values.shape[1]), np.nan)
    lines = np.zeros(len(even), np.int64)
    values[at], lines[at] = rows.values, rows.line_numbers
    if len(at) < len(even):
        after = rows.line_numbers[np.flatnonzero(np.diff(at) > 1)]
        notes.append(
            f"{_count_phrase(len(even) - len(at), 'step has', 'steps have')} no row (after {format_line_numbers(after)})"
        )
    return RawRows(even, values, lines)


def _missing_value_notes(
    column: str, before: ColumnValues, after: ColumnValues, lines: LineNumbers
) -> list[str]:
    """What to say of a column's missing values, if there are any."""
    gone = np.isnan(before)
    if not gone.any():
        return []
    left = int(np.isnan(after).sum())
    written = lines[gone & (lines > 0)]
    where = f" ({format_line_numbers(written)})" if len(written) else ""
    done = f"{int(gone.sum()) - left:,} filled in" + (f", {left:,} left out" if left else "")
    return [f"{column}: {_count_phrase(int(gone.sum()), 'value is', 'values are')} missing{where}: {done}"]


def _count_phrase(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"
