"""Forecast: what comes next, in the file's own units and with its own way of writing time; no torch."""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64

from regard.forecasting.series.table import SeriesTable
from regard.forecasting.series.time_axis import Times

ForecastValues = Float64[np.ndarray, "rows channels"]
SIGNIFICANT_DIGITS = 7
"""That are written of a value; a model computes in no more."""


@dataclass(frozen=True, eq=False)
class Forecast:
    """Values to come, for each series, and between which bounds they are likely to lie."""

    history: SeriesTable
    """What it was made from."""
    times: Times
    values: ForecastValues
    """The mean of what may come."""
    quantiles: Mapping[float, ForecastValues]
    """By share: what that share of what may come lies below."""
    notes: tuple[str, ...] = ()
    """What had to be done to make it, and what to beware of."""

    @property
    def columns(self) -> tuple[str, ...]:
        return self.history.columns

    @property
    def intervals(self) -> list[tuple[float, float]]:
        """Each pair of quantiles that leave as much above as below, the widest first."""
        shares = sorted(self.quantiles)
        return [(low, high) for low in shares for high in shares if low < 0.5 and abs(low + high - 1) < 1e-9]

    def to_csv(self) -> str:
        """A row for each step: the time as the file writes it, then each series and its quantiles."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        shares = sorted(self.quantiles)
        names = [name for column in self.columns for name in (column, *(f"{column} q{s:g}" for s in shares))]
        writer.writerow([self.history.time_column, *names])
        each = np.stack([self.values, *(self.quantiles[share] for share in shares)], axis=2)
        for when, row in zip(self._formatted_times(), each.reshape(len(each), -1).tolist(), strict=True):
            writer.writerow([when, *(f"{value:.{SIGNIFICANT_DIGITS}g}" for value in row)])
        return text.getvalue()

    def to_json(self) -> str:
        said: dict[str, Any] = {
            "file": self.history.name,
            "step": str(self.history.time_axis.step),
            "times": self._formatted_times(),
        }
        said["series"] = {
            column: {
                "mean": _rounded(self.values[:, number]),
                "quantiles": {
                    f"{s:g}": _rounded(self.quantiles[s][:, number]) for s in sorted(self.quantiles)
                },
            }
            for number, column in enumerate(self.columns)
        }
        return json.dumps({**said, "notes": list(self.notes)}, indent=1, ensure_ascii=False) + "\n"

    def _formatted_times(self) -> list[str]:
        return self.history.time_axis.format_times(self.times)


def _rounded(values: Float64[np.ndarray, " rows"]) -> list[float]:
    return [float(f"{value:.{SIGNIFICANT_DIGITS}g}") for value in values]
