"""Scaling: each series to mean 0 and deviation 1, by its training rows alone, and back again."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from regard.errors import DataError
from regard.forecasting.series.table import Values


@dataclass(frozen=True)
class Scaling:
    """What a series was freed from; part of the model, since a forecast must be in the file's units."""

    mean: Float64[np.ndarray, " channels"]
    deviation: Float64[np.ndarray, " channels"]

    def scale(self, values: Values) -> Values:
        return (values - self.mean) / self.deviation

    def unscale(self, values: Float64[np.ndarray, "*rows channels"]) -> Float64[np.ndarray, "*rows channels"]:
        return values * self.deviation + self.mean


def fit_scaling(values: Values, columns: tuple[str, ...]) -> Scaling:
    """From the rows that a model learns from, and no others; a series that never changes is only shifted."""
    for column, series in zip(columns, values.T, strict=True):
        if np.isnan(series).all():
            raise DataError(
                f"column {column!r} has no value in the training rows; leave it out of data.columns"
            )
    deviation = np.nanstd(values, axis=0)
    changes = np.nanmax(values, axis=0) > np.nanmin(values, axis=0)  # rounding deviates even where none does
    return Scaling(np.nanmean(values, axis=0), np.where(changes & (deviation > 0), deviation, 1.0))
