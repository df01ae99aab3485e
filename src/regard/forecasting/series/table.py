"""A table of series on a regular time axis, and the scaler fitted on its training rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64, Int64

from regard.errors import DataError
from regard.forecasting.series.time_axis import TimeAxis, Times

MAX_SCALED = 1e15
"""Standardised values that the model can square in fp32."""
SeriesValues = Float64[np.ndarray, "rows channels"]


@dataclass(frozen=True)
class SeriesTable:
    """Rows one step apart; a missing value is NaN."""

    name: str
    """Path of the file."""
    time_axis: TimeAxis
    """The time format of the file, and the step between rows."""
    time_column: str
    columns: tuple[str, ...]
    times: Times
    values: SeriesValues
    interpolated: Bool[np.ndarray, "rows channels"]
    """Which values are missing in the file and interpolated linearly."""
    line_numbers: Int64[np.ndarray, " rows"]
    """The line of each row in the file, from 1; 0 for a row that the file does not have."""
    notes: tuple[str, ...] = ()
    """Problems found in the file, and how they were handled."""

    def __len__(self) -> int:
        return len(self.times)

    def select_columns(self, columns: Sequence[str]) -> "SeriesTable":
        """Return the table with these columns, in this order."""
        for column in columns:
            if column not in self.columns:
                raise DataError(f"{self.name} has no column {column!r}; it has {', '.join(self.columns)}")
        indexes = [self.columns.index(column) for column in columns]
        return replace(
            self,
            columns=tuple(columns),
            values=self.values[:, indexes],
            interpolated=self.interpolated[:, indexes],
        )

    def values_known_at(self, end_row: int) -> SeriesValues:
        """Return the values before `end_row` as known then.

        A value that was interpolated with the help of a later row is missing.
        """
        values = self.values[:end_row].copy()
        for column, interpolated in zip(values.T, self.interpolated[:end_row].T, strict=True):
            measured = np.flatnonzero(~interpolated & ~np.isnan(column))
            column[measured[-1] + 1 if len(measured) else 0 :] = np.nan
        return values

    def future_times(self, steps: int) -> Times:
        """Return the times of the `steps` steps after the last row."""
        return self.time_axis.times_after(self.times[-1], steps)


@dataclass(frozen=True)
class SeriesScaler:
    """Standardises each series; part of the model, so that forecasts are in the units of the file."""

    mean: Float64[np.ndarray, " channels"]
    std: Float64[np.ndarray, " channels"]

    def scale(self, values: SeriesValues) -> SeriesValues:
        """Return standardised values; raise an error where they are too large for the fp32 of the model."""
        scaled = (values - self.mean) / self.std
        if (np.abs(scaled) > MAX_SCALED).any():
            row, column = np.argwhere(np.abs(scaled) > MAX_SCALED)[0]
            raise DataError(
                f"the value {values[row, column]:g} is more than {MAX_SCALED:g} standard deviations from the "
                f"training values, whose mean is {self.mean[column]:g}; correct it"
            )
        return scaled

    def unscale(self, values: Float64[np.ndarray, "*rows channels"]) -> Float64[np.ndarray, "*rows channels"]:
        return values * self.std + self.mean


def fit_scaler(values: SeriesValues, columns: tuple[str, ...]) -> SeriesScaler:
    """Fit mean and standard deviation on the training rows; a constant series is only shifted."""
    for column, series in zip(columns, values.T, strict=True):
        if np.isnan(series).all():
            raise DataError(
                f"column {column!r} has no value in the training rows; leave it out of data.columns"
            )
    std = np.nanstd(values, axis=0)
    varies = np.nanmax(values, axis=0) > np.nanmin(values, axis=0)  # rounding gives a constant a deviation
    return SeriesScaler(np.nanmean(values, axis=0), np.where(varies & (std > 0), std, 1.0))
