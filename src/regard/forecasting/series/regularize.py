"""Rows put on an even clock: sorted, doubles dropped, gaps opened, short ones filled."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64, Int64

from regard.errors import DataError
from regard.forecasting.series.table import Table, Values
from regard.forecasting.series.time_axis import Clock, Times, commonest_step, grid, places

Column = Float64[np.ndarray, " rows"]
Lines = Int64[np.ndarray, " rows"]

FEWEST = 3
"""Rows from which on there is a commonest step."""
SPARSEST = 20
"""Steps for each row that a file may have at most; beyond, a time is likely wrong."""
NAMED = 5
"""Lines that a note names."""


@dataclass(frozen=True)
class Rows:
    """What a file says, row by row."""

    times: Times
    values: Values
    lines: Lines
    """Where in the file each row stands."""

    def select(self, which: np.ndarray) -> "Rows":
        return Rows(self.times[which], self.values[which], self.lines[which])


def regular(
    name: str, form: str, time_column: str, columns: Sequence[str], rows: Rows, longest_gap: int
) -> Table:
    """The table with a row for every step, gaps of up to `longest_gap` values filled by straight lines.

    Of two rows at one time the later line is taken; a time between two steps goes to the nearer one.
    Longer gaps, and what lies before a column's first value or after its last, stay missing.
    """
    notes: list[str] = []
    rows = _last_of_each(_in_order(rows, notes), "the same time", notes)
    if len(rows.times) < FEWEST:
        raise DataError(f"{name} has {len(rows.times)} rows; a series needs {FEWEST} times at least")
    clock = Clock(form, commonest_step(rows.times))
    rows, even = _on_grid(name, rows, clock, notes)
    opened = _opened(rows, even, notes)
    filled = np.stack([fill(column, longest_gap) for column in opened.values.T], axis=1)
    guessed = np.isnan(opened.values) & ~np.isnan(filled)
    for column, before, after in zip(columns, opened.values.T, filled.T, strict=True):
        notes += _missing(column, before, after, opened.lines)
    return Table(name, clock, time_column, tuple(columns), even, filled, guessed, opened.lines, tuple(notes))


def fill(column: Column, longest: int) -> Column:
    """With a straight line over each gap of up to `longest` values that has a value on both sides."""
    known = ~np.isnan(column)
    if known.all() or not known.any():
        return column
    at = np.arange(len(column))
    line = np.interp(at, at[known], column[known], left=np.nan, right=np.nan)
    return np.where(known | (gap_lengths(known) > longest), column, line)


def gap_lengths(known: Bool[np.ndarray, " rows"]) -> Int64[np.ndarray, " rows"]:
    """For each value that is missing, how many are in a row there; 0 for the others."""
    run = np.cumsum(np.concatenate([[True], known[1:] != known[:-1]])) - 1
    return np.where(known, 0, np.bincount(run)[run])


def named(lines: Lines) -> str:
    """Some line numbers for a person, the first few of many."""
    said = ", ".join(map(str, lines[:NAMED].tolist()))
    more = "" if len(lines) <= NAMED else f" and {len(lines) - NAMED:,} more"
    return f"line{'' if len(lines) == 1 else 's'} {said}{more}"


def _in_order(rows: Rows, notes: list[str]) -> Rows:
    early = rows.lines[1:][np.diff(rows.times).astype(np.int64) < 0]
    if len(early):
        notes.append(f"{_count(len(early), 'row is', 'rows are')} out of order ({named(early)}): sorted")
    return rows.select(np.argsort(rows.times, kind="stable"))


def _last_of_each(rows: Rows, what: str, notes: list[str]) -> Rows:
    """Of rows in order, the last of those that share a time."""
    last = np.concatenate([rows.times[1:] != rows.times[:-1], np.ones(min(1, len(rows.times)), bool)])
    if not last.all():
        count = _count(int((~last).sum()), "row has", "rows have")
        notes.append(f"{count} {what} as a later one ({named(rows.lines[~last])}): left out")
    return rows.select(last)


def _on_grid(name: str, rows: Rows, clock: Clock, notes: list[str]) -> tuple[Rows, Times]:
    """Each row at the step that is nearest to its time; and the times of all steps."""
    at = places(rows.times, clock.step)
    count = int(at[-1]) + 1
    if count > SPARSEST * len(at):
        raise DataError(
            f"{name} has {len(at):,} rows over {count:,} steps of {clock.step}; "
            f"is a time wrong? the longest gap ends in line {rows.lines[1 + int(np.diff(at).argmax())]}"
        )
    even = grid(rows.times[0], clock.step, count)
    off = even[at] != rows.times
    if off.any():
        said = _count(int(off.sum()), "row is", "rows are")
        notes.append(
            f"{said} between two steps of {clock.step} ({named(rows.lines[off])}): moved to the nearer"
        )
    return _last_of_each(replace(rows, times=even[at]), "the same step", notes), even


def _opened(rows: Rows, even: Times, notes: list[str]) -> Rows:
    """With a row for every step; where the file has none, values are missing."""
    at = np.searchsorted(even, rows.times)
    values = np.full((len(even), rows.values.shape[1]), np.nan)
    lines = np.zeros(len(even), np.int64)
    values[at], lines[at] = rows.values, rows.lines
    if len(at) < len(even):
        after = rows.lines[np.flatnonzero(np.diff(at) > 1)]
        notes.append(f"{_count(len(even) - len(at), 'step has', 'steps have')} no row (after {named(after)})")
    return Rows(even, values, lines)


def _missing(column: str, before: Column, after: Column, lines: Lines) -> list[str]:
    """What to say of a column's missing values, if there are any."""
    gone = np.isnan(before)
    if not gone.any():
        return []
    left = int(np.isnan(after).sum())
    written = lines[gone & (lines > 0)]
    where = f" ({named(written)})" if len(written) else ""
    done = f"{int(gone.sum()) - left:,} filled in" + (f", {left:,} left out" if left else "")
    return [f"{column}: {_count(int(gone.sum()), 'value is', 'values are')} missing{where}: {done}"]


def _count(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"
