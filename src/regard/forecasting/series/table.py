"""Table: series side by side on one clock, and what had to be done to them to get there."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64, Int64

from regard.errors import DataError
from regard.forecasting.series.time_axis import TimeAxis, Times

SeriesValues = Float64[np.ndarray, "rows channels"]


@dataclass(frozen=True)
class SeriesTable:
    """Rows a fixed step apart; a value that is missing is NaN."""

    name: str
    """The file it comes from."""
    time_axis: TimeAxis
    """How the file writes time, and the step from row to row."""
    time_column: str
    columns: tuple[str, ...]
    times: Times
    values: SeriesValues
    interpolated: Bool[np.ndarray, "rows channels"]
    """Which of them the file does not have: a straight line fills the gap."""
    line_numbers: Int64[np.ndarray, " slice_rows"]
    """Of the file, from 1; 0 for a row that it does not have."""
    notes: tuple[str, ...] = ()
    """What was wrong with the file, and what was done about it."""

    def __len__(self) -> int:
        return len(self.times)

    def slice_rows(self, first: int, end: int) -> "SeriesTable":
        """Some of the rows."""
        some = slice(first, end)
        return replace(
            self,
            times=self.times[some],
            values=self.values[some],
            interpolated=self.interpolated[some],
            line_numbers=self.line_numbers[some],
        )

    def select_columns(self, columns: Sequence[str]) -> "SeriesTable":
        """These columns, in this order."""
        for column in columns:
            if column not in self.columns:
                raise DataError(f"{self.name} has no column {column!r}; it has {', '.join(self.columns)}")
        places = [self.columns.index(column) for column in columns]
        return replace(
            self,
            columns=tuple(columns),
            values=self.values[:, places],
            interpolated=self.interpolated[:, places],
        )

    def values_known_at(self, end_row: int) -> SeriesValues:
        """The values before that row as they were known then: what a later one helped to guess is missing."""
        values = self.values[:end_row].copy()
        for column, guessed in zip(values.T, self.interpolated[:end_row].T, strict=True):
            told = np.flatnonzero(~guessed & ~np.isnan(column))
            column[told[-1] + 1 if len(told) else 0 :] = np.nan
        return values

    def future_times(self, steps: int) -> Times:
        """When the steps after the last row are."""
        return self.time_axis.times_after(self.times[-1], steps)
