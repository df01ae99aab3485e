"""The result of a forecast: mean and quantiles in the units of the file, as CSV or JSON; no torch."""

import csv
import importlib
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64

from regard.errors import DataError
from regard.forecasting.series.table import SeriesTable
from regard.forecasting.series.time_axis import Times

ForecastValues = Float64[np.ndarray, "rows channels"]
SIGNIFICANT_DIGITS = 7
"""Digits of a written value; the model computes in fp32, which has no more."""


@dataclass(frozen=True, eq=False)
class Forecast:
    """Mean and quantiles of every series at every step of the horizon."""

    history: SeriesTable
    """The table that was forecast."""
    times: Times
    values: ForecastValues
    """The means."""
    quantiles: Mapping[float, ForecastValues]
    """The quantiles, by level: a value is below the 0.1 quantile with probability 0.1."""
    notes: tuple[str, ...] = ()
    """Interpolated values, and limits of this forecast."""

    @property
    def columns(self) -> tuple[str, ...]:
        return self.history.columns

    @property
    def intervals(self) -> list[tuple[float, float]]:
        """The quantile levels of the central intervals, the widest first."""
        return central_intervals(self.quantiles)

    def to_columns(self, quantiles: bool = True) -> dict[str, list[float]]:
        """Return the mean of each series by its name, each followed by its quantiles: `load`, `load q0.1`."""
        levels = sorted(self.quantiles) if quantiles else []
        columns = {}
        for number, column in enumerate(self.columns):
            columns[column] = self.values[:, number].tolist()
            for level in levels:
                columns[f"{column} q{level:g}"] = self.quantiles[level][:, number].tolist()
        return columns

    def to_pandas(self, quantiles: bool = True) -> Any:
        """Return `to_columns` as a DataFrame of pandas, which must be installed, with an index of times."""
        pandas = import_library("pandas")
        index = pandas.DatetimeIndex(self.times, name=self.history.time_column)
        return pandas.DataFrame(self.to_columns(quantiles), index=index)

    def to_polars(self, quantiles: bool = True) -> Any:
        """Return a column of times and `to_columns` as a DataFrame of polars, which must be installed."""
        polars = import_library("polars")
        return polars.DataFrame({self.history.time_column: self.times, **self.to_columns(quantiles)})

    def to_csv(self) -> str:
        """Return a row for each step: the time as the file writes it, then each series and its quantiles."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        columns = self.to_columns()
        writer.writerow([self.history.time_column, *columns])
        for time, row in zip(self._formatted_times(), zip(*columns.values(), strict=True), strict=True):
            writer.writerow([time, *(f"{value:.{SIGNIFICANT_DIGITS}g}" for value in row)])
        return text.getvalue()

    def to_json(self) -> str:
        document: dict[str, Any] = {
            "file": self.history.name,
            "step": str(self.history.time_axis.step),
            "times": self._formatted_times(),
        }
        document["series"] = {
            column: {
                "mean": _rounded(self.values[:, number]),
                "quantiles": {
                    f"{level:g}": _rounded(self.quantiles[level][:, number])
                    for level in sorted(self.quantiles)
                },
            }
            for number, column in enumerate(self.columns)
        }
        return json.dumps({**document, "notes": list(self.notes)}, indent=1, ensure_ascii=False) + "\n"

    def _formatted_times(self) -> list[str]:
        return self.history.time_axis.format_times(self.times)


def import_library(name: str) -> Any:
    """Return a library that is optional; an error that says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise DataError(f"a DataFrame of {name} needs the package {name}: pip install {name}") from None


def central_intervals(levels: Iterable[float]) -> list[tuple[float, float]]:
    """Return the pairs of quantile levels with equal tails on both sides, the widest interval first."""
    rising = sorted(levels)
    return [(low, high) for low in rising for high in rising if low < 0.5 and abs(low + high - 1) < 1e-9]


def _rounded(values: Float64[np.ndarray, " rows"]) -> list[float]:
    return [float(f"{value:.{SIGNIFICANT_DIGITS}g}") for value in values]
