"""Scaling: each series to mean 0 and deviation 1, by its training rows alone, and back again."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from regard.errors import DataError
from regard.forecasting.series.table import SeriesValues


@dataclass(frozen=True)
class SeriesScaler:
    """What a series was freed from; part of the model, since a forecast must be in the file's units."""

    mean: Float64[np.ndarray, " channels"]
    std: Float64[np.ndarray, " channels"]

    def scale(self, values: SeriesValues) -> SeriesValues:
        return (values - self.mean) / self.std

    def unscale(self, values: Float64[np.ndarray, "*rows channels"]) -> Float64[np.ndarray, "*rows channels"]:
        return values * self.std + self.mean


def fit_scaler(values: SeriesValues, columns: tuple[str, ...]) -> SeriesScaler:
    """From the rows that a model learns from, and no others; a series that never changes is only shifted."""
    for column, series in zip(columns, values.T, strict=True):
        if np.isnan(series).all():
            raise DataError(
                f"column {column!r} has no value in the training rows; leave it out of data.columns"
            )
    deviation = np.nanstd(values, axis=0)
    changes = np.nanmax(values, axis=0) > np.nanmin(values, axis=0)  # rounding deviates even where none does
    return SeriesScaler(np.nanmean(values, axis=0), np.where(changes & (deviation > 0), deviation, 1.0))
