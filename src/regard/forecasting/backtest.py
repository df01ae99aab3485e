"""Backtest: every window of a table forecast and compared with the actual values, beside baselines."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int64

from regard.checkpoint import file_sha256
from regard.errors import DataError
from regard.forecasting.baselines import (
    collect_ridge_statistics,
    fit_nlinear,
    naive_forecast,
    seasonal_naive_forecast,
)
from regard.forecasting.forecast import central_intervals
from regard.forecasting.forecaster import Forecaster
from regard.forecasting.series.calendar import calendar_features, season_length
from regard.forecasting.series.config import SeriesDataConfig, SeriesSplit
from regard.forecasting.series.table import SeriesTable
from regard.forecasting.series.windows import (
    SeriesBatch,
    SeriesWindows,
    build_windows,
    reject_empty_windows,
)

BATCH_WINDOWS = 1024
LINEAR_FIT_SHARE = 0.75
"""Share of the rows before the scored ones that NLinear is fitted on, in a file without a split."""
WindowRows = Float[np.ndarray, "rows steps"]
BaselineFunction = Callable[["BacktestWindows"], WindowRows]


class BacktestWindows(NamedTuple):
    """Windows as rows, one per window and series."""

    history: WindowRows
    actual: WindowRows
    channel: Int64[np.ndarray, " rows"]
    """The series of each row."""


@dataclass(frozen=True, eq=False)
class ForecastErrors:
    """The errors of one forecaster per series, in units of the training standard deviation."""

    name: str
    squared_errors: Float64[np.ndarray, " channels"]
    absolute_errors: Float64[np.ndarray, " channels"]

    @property
    def mse(self) -> float:
        return float(self.squared_errors.mean())

    @property
    def mae(self) -> float:
        return float(self.absolute_errors.mean())


@dataclass(frozen=True, eq=False)
class BacktestReport:
    """The errors and the interval coverage of a model on every window of some rows."""

    table: SeriesTable
    rows: range
    """The rows that were forecast."""
    windows: int
    """The number of windows, over all series."""
    horizon: int
    std: Float64[np.ndarray, " channels"]
    """The training standard deviation of each series: the unit of the errors."""
    errors: tuple[ForecastErrors, ...]
    """The errors of the model, then of the baselines."""
    coverage: dict[tuple[float, float], float] = field(default_factory=dict)
    """The share of actual values within each interval, by its quantile levels."""
    notes: tuple[str, ...] = ()


def backtest(
    model: Forecaster, path: Path, data: SeriesDataConfig, training_sha256: str, all_rows: bool = False
) -> BacktestReport:
    """Score the rows that are new to the model: the test rows of its training file, or later ones.

    `data` are the settings of the training data, `training_sha256` is the hash of the training file;
    `all_rows` scores every row.
    """
    table = model.read_series(path)
    is_training_file = file_sha256(path) == training_sha256
    split = _scored_split(model, table, data, is_training_file, all_rows)
    config, metadata = model.config, model.metadata
    values = metadata.scaler.scale(table.values).astype(np.float32)
    features = calendar_features(table.times, metadata.cycles)
    train, valid, test = (
        build_windows(values, features, rows, config.history, config.horizon, config.channels == 1)
        for rows in (split.train, split.valid, split.test)
    )
    reject_empty_windows(test, table.name, "new", len(split.test))
    baselines, notes = _baselines(train, valid, config.horizon, season_length(table.time_axis.step))
    rows = range(max(split.test.start, config.history), split.test.stop)
    if table.times[rows.start] <= metadata.trained_until:
        notes.append(
            "some scored rows are not later than the training data: "
            "if they are of the same series, the model was trained on them"
        )
    model_errors, coverage = ErrorAccumulator(len(table.columns)), IntervalCoverage(config.quantiles)
    baseline_errors = {name: ErrorAccumulator(len(table.columns)) for name in baselines}
    for windows, outputs in _predicted_windows(model, test):
        model_errors.add(outputs[..., 0], windows)
        coverage.add(outputs[..., 1:], windows.actual)
        for name, baseline in baselines.items():
            baseline_errors[name].add(baseline(windows), windows)
    accumulators = {"regard": model_errors, **baseline_errors}
    return BacktestReport(
        table,
        rows,
        test.epoch_size * (1 if test.channel is not None else len(table.columns)),
        config.horizon,
        metadata.scaler.std,
        tuple(accumulator.mean_errors(name) for name, accumulator in accumulators.items()),
        coverage.shares(),
        tuple(notes),
    )


class ErrorAccumulator:
    """Sums of squared and absolute errors per series."""

    def __init__(self, channels: int) -> None:
        self._sums = np.zeros((3, channels))

    def add(self, predicted: WindowRows, windows: BacktestWindows) -> None:
        error = predicted.astype(np.float64) - windows.actual
        for index, terms in enumerate((np.square(error), np.abs(error), np.ones_like(error))):
            self._sums[index] += np.bincount(windows.channel, terms.sum(axis=1), self._sums.shape[1])

    def mean_errors(self, name: str) -> ForecastErrors:
        squared, absolute, count = self._sums
        if not count.all():
            raise DataError("a series has no window without a gap; give a file in which it has more values")
        return ForecastErrors(name, squared / count, absolute / count)


class IntervalCoverage:
    """Counts the actual values within each central interval."""

    def __init__(self, quantiles: tuple[float, ...]) -> None:
        self._indexes = {
            (low, high): (quantiles.index(low), quantiles.index(high))
            for low, high in central_intervals(quantiles)
        }
        self._hits, self._count = dict.fromkeys(self._indexes, 0), 0

    def add(self, bounds: Float[np.ndarray, "rows steps quantiles"], actual: WindowRows) -> None:
        for levels, (low, high) in self._indexes.items():
            self._hits[levels] += int(((bounds[..., low] <= actual) & (actual <= bounds[..., high])).sum())
        self._count += actual.size

    def shares(self) -> dict[tuple[float, float], float]:
        return {levels: hits / self._count for levels, hits in self._hits.items()}


def _scored_split(
    model: Forecaster, table: SeriesTable, data: SeriesDataConfig, is_training_file: bool, all_rows: bool
) -> SeriesSplit:
    """Return the rows to score (as test rows), and the rows that the linear baseline is fitted on."""
    if is_training_file and not all_rows:
        return data.split_rows(table.times)
    first = int(np.searchsorted(table.times, model.metadata.trained_until, side="right"))
    if all_rows or first in (0, len(table)):  # no row, or every row, is later than the training data
        first = 0
    middle = int(LINEAR_FIT_SHARE * first)
    return SeriesSplit(range(middle), range(middle, first), range(first, len(table)))


def _baselines(
    train: SeriesWindows, valid: SeriesWindows, horizon: int, season: int
) -> tuple[dict[str, BaselineFunction], list[str]]:
    """Return the baselines by name, and notes; NLinear is fitted on the training rows of the model."""
    notes, linear = [], {}
    if train.epoch_size and valid.epoch_size:
        nlinear = fit_nlinear(
            collect_ridge_statistics(_history_and_future(train)), _history_and_future(valid)
        )
        linear = {"linear": lambda windows: nlinear.forecast(windows.history)}
    else:
        notes.append("no linear baseline: there are no rows before the scored ones to fit it on")
    return {
        **linear,
        f"season of {season}": lambda windows: seasonal_naive_forecast(windows.history, horizon, season),
        "last value": lambda windows: naive_forecast(windows.history, horizon),
    }, notes


def _batches(windows: SeriesWindows) -> Iterator[SeriesBatch]:
    for first in range(0, windows.epoch_size, BATCH_WINDOWS):
        yield windows.batch(np.arange(first, min(first + BATCH_WINDOWS, windows.epoch_size)))


def _history_and_future(windows: SeriesWindows) -> Iterator[tuple[WindowRows, WindowRows]]:
    for batch in _batches(windows):
        rows = _backtest_windows(windows, batch)
        yield rows.history, rows.actual


def _predicted_windows(
    model: Forecaster, windows: SeriesWindows
) -> Iterator[tuple[BacktestWindows, np.ndarray]]:
    for batch in _batches(windows):
        outputs = model.predict_windows(batch.history, batch.past_features, batch.future_features)
        yield _backtest_windows(windows, batch), outputs.transpose(1, 2).flatten(0, 1).numpy()


def _backtest_windows(windows: SeriesWindows, batch: SeriesBatch) -> BacktestWindows:
    history, actual = (_flatten_series(tensor.numpy()) for tensor in (batch.history, batch.target))
    if windows.channel is None:
        channel = np.tile(np.arange(batch.target.shape[2]), len(batch.window_indices))
    else:
        channel = windows.channel[batch.window_indices]
    return BacktestWindows(history, actual, channel)


def _flatten_series(values: Float[np.ndarray, "batch steps channels"]) -> WindowRows:
    """Make one row per window and series."""
    return values.transpose(0, 2, 1).reshape(-1, values.shape[1])
