"""Table: series side by side on one clock, and what had to be done to them to get there."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64, Int64

from regard.errors import DataError
from regard.forecasting.series.time_axis import Clock, Times

Values = Float64[np.ndarray, "rows channels"]


@dataclass(frozen=True)
class Table:
    """Rows a fixed step apart; a value that is missing is NaN."""

    name: str
    """The file it comes from."""
    clock: Clock
    """How the file writes time, and the step from row to row."""
    time_column: str
    columns: tuple[str, ...]
    times: Times
    values: Values
    guessed: Bool[np.ndarray, "rows channels"]
    """Which of them the file does not have: a straight line fills the gap."""
    lines: Int64[np.ndarray, " rows"]
    """Of the file, from 1; 0 for a row that it does not have."""
    notes: tuple[str, ...] = ()
    """What was wrong with the file, and what was done about it."""

    def __len__(self) -> int:
        return len(self.times)

    def rows(self, first: int, end: int) -> "Table":
        """Some of the rows."""
        some = slice(first, end)
        return replace(
            self,
            times=self.times[some],
            values=self.values[some],
            guessed=self.guessed[some],
            lines=self.lines[some],
        )

    def choose(self, columns: Sequence[str]) -> "Table":
        """These columns, in this order."""
        for column in columns:
            if column not in self.columns:
                raise DataError(f"{self.name} has no column {column!r}; it has {', '.join(self.columns)}")
        places = [self.columns.index(column) for column in columns]
        return replace(
            self, columns=tuple(columns), values=self.values[:, places], guessed=self.guessed[:, places]
        )

    def known_at(self, end: int) -> Values:
        """The values before that row as they were known then: what a later one helped to guess is missing."""
        values = self.values[:end].copy()
        for column, guessed in zip(values.T, self.guessed[:end].T, strict=True):
            told = np.flatnonzero(~guessed & ~np.isnan(column))
            column[told[-1] + 1 if len(told) else 0 :] = np.nan
        return values

    def future(self, steps: int) -> Times:
        """When the steps after the last row are."""
        return self.clock.after(self.times[-1], steps)
