"""What a forecaster must beat: the last value, the last season, and a straight line through the history."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64

from regard.checkpoint import file_sha256
from regard.errors import DataError
from regard.forecasting.forecaster import Forecaster
from regard.forecasting.series.calendar import calendar_features, season_length
from regard.forecasting.series.config import SeriesDataConfig
from regard.forecasting.series.split import SeriesSplit
from regard.forecasting.series.table import SeriesTable
from regard.forecasting.series.windows import SeriesWindows, build_windows, reject_empty_windows

HistoryRows = Float[np.ndarray, "windows time"]
FutureRows = Float[np.ndarray, "windows horizon"]


def naive_forecast(history: HistoryRows, horizon: int) -> FutureRows:
    """The last value, over and over."""
    return np.repeat(history[:, -1:], horizon, axis=1)


def seasonal_naive_forecast(history: HistoryRows, horizon: int, season: int) -> FutureRows:
    """The last season, over and over; of a history shorter than one, all there is."""
    newest = history[:, -season:]
    return np.tile(newest, -(-horizon // newest.shape[1]))[:, :horizon]


@dataclass(frozen=True)
class NLinear:
    """Each value of the horizon as a weighted sum of the history, both counted from the last value.

    This is NLinear (Zeng et al., 2022): one layer for all series. It has a closed form, so nothing is
    left to chance; weights are held small by as much as suits the validation windows.
    """

    weights: Float64[np.ndarray, "time_and_one horizon"]
    """The last row is what is added whatever the history."""

    def forecast(self, history: HistoryRows) -> FutureRows:
        last = history[:, -1:]
        return (history - last) @ self.weights[:-1] + self.weights[-1] + last


@dataclass(frozen=True)
class RidgeStatistics:
    """All that least squares needs to know of the windows it learns from."""

    inputs: Float64[np.ndarray, "time_and_one time_and_one"]
    outputs: Float64[np.ndarray, "time_and_one horizon"]
    windows: int

    def solve(self, penalty: float) -> NLinear:
        """Ridge regression; the constant goes free."""
        weight = np.full(len(self.inputs), penalty * self.windows)
        weight[-1] = 1e-9 * self.windows
        return NLinear(np.linalg.solve(self.inputs + np.diag(weight), self.outputs))


RIDGE_PENALTIES = (1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0, 10.0)


def collect_ridge_statistics(batches: Iterable[tuple[HistoryRows, FutureRows]]) -> RidgeStatistics:
    """Of all training windows, some at a time."""
    inputs, outputs, windows = 0.0, 0.0, 0
    for history, future in batches:
        last = history[:, -1:].astype(np.float64)
        x = np.concatenate([history - last, np.ones_like(last)], axis=1)
        inputs, outputs = inputs + x.T @ x, outputs + x.T @ (future - last)
        windows += len(history)
    return RidgeStatistics(np.asarray(inputs), np.asarray(outputs), windows)


def fit_nlinear(statistics: RidgeStatistics, valid: Iterable[tuple[HistoryRows, FutureRows]]) -> NLinear:
    """The penalty under which the validation windows are foretold best."""
    models = [statistics.solve(penalty) for penalty in RIDGE_PENALTIES]
    errors = np.zeros(len(models))
    for history, future in valid:
        errors += [np.square(model.forecast(history) - future).sum() for model in models]
    return models[int(errors.argmin())]


BATCH_WINDOWS = 1024
LINEAR_FIT_SHARE = 0.75
"""Of the rows before those that are scored: what the linear baseline learns from in a file with no split."""
WindowRows = Float[np.ndarray, "rows steps"]
BaselineFunction = Callable[["BacktestWindows"], WindowRows]


class BacktestWindows(NamedTuple):
    """Windows as rows, one for each series of each window."""

    history: WindowRows
    actual: WindowRows
    channel: Int64[np.ndarray, " rows"]


@dataclass(frozen=True, eq=False)
class ForecastErrors:
    """The errors of one forecaster, for each series, in standardised units."""

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
    """How a model did on every window of some rows."""

    table: SeriesTable
    rows: range
    """Those that were foretold."""
    windows: int
    """Over all series."""
    horizon: int
    std: Float64[np.ndarray, " channels"]
    """What one standardised unit is, for each series."""
    errors: tuple[ForecastErrors, ...]
    """Of the model, then of the baselines."""
    coverage: dict[tuple[float, float], float] = field(default_factory=dict)
    """By the shares of an interval's ends: how much of what came lies in it."""
    notes: tuple[str, ...] = ()


def backtest(
    model: Forecaster, path: Path, data: SeriesDataConfig, training_sha256: str, all_rows: bool = False
) -> BacktestReport:
    """Scores the rows that are new to the model: the test rows of the file it learnt from, or later ones.

    `data` is how it was trained, `trained_on` the SHA-256 of that file. With `everything`, all are scored.
    """
    table = model.read_series(path)
    parts = _scored_split(model, table, data, same=file_sha256(path) == training_sha256, everything=all_rows)
    config, known = model.config, model.metadata
    values = known.scaler.scale(table.values).astype(np.float32)
    dates = calendar_features(table.times, known.cycles)
    cut = [
        build_windows(values, dates, part, config.history, config.horizon, config.channels == 1)
        for part in (parts.train, parts.valid, parts.test)
    ]
    reject_empty_windows(cut[2], table.name, "new", len(parts.test))
    tallies = [ErrorAccumulator("regard", len(table.columns))]
    answers, notes = _baselines(cut, config.horizon, season_length(table.time_axis.step))
    rows = range(max(parts.test.start, config.history), parts.test.stop)
    if table.times[rows.start] <= known.trained_until:
        notes.append(
            "some of these rows are of a time that the model learnt from: if they are the same series, "
            "it has seen them"
        )
    tallies += [ErrorAccumulator(name, len(table.columns)) for name in answers]
    inside = IntervalCoverage(config.quantiles)
    for shown, foretold in _predicted_windows(model, cut[2]):
        tallies[0].add(foretold[..., 0], shown)
        inside.add(foretold[..., 1:], shown.actual)
        for tally, answer in zip(tallies[1:], answers.values(), strict=True):
            tally.add(answer(shown), shown)
    return BacktestReport(
        table,
        rows,
        cut[2].epoch_size * (1 if cut[2].channel is not None else len(table.columns)),
        config.horizon,
        known.scaler.std,
        tuple(tally.mean_errors() for tally in tallies),
        inside.coverage(),
        tuple(notes),
    )


class ErrorAccumulator:
    """Sums of errors, series by series."""

    def __init__(self, name: str, channels: int) -> None:
        self._name = name
        self._sums = np.zeros((3, channels))

    def add(self, predicted: WindowRows, windows: BacktestWindows) -> None:
        error = predicted.astype(np.float64) - windows.actual
        for place, each in enumerate((np.square(error), np.abs(error), np.ones_like(error))):
            self._sums[place] += np.bincount(windows.channel, each.sum(axis=1), self._sums.shape[1])

    def mean_errors(self) -> ForecastErrors:
        squared, absolute, count = self._sums
        if not count.all():
            raise DataError("a series has no window without a gap; give a file in which it has more values")
        return ForecastErrors(self._name, squared / count, absolute / count)


class IntervalCoverage:
    """How often what came lies between two quantiles that leave as much above as below."""

    def __init__(self, quantiles: tuple[float, ...]) -> None:
        pairs = [(a, b) for a in range(len(quantiles)) for b in range(a + 1, len(quantiles))]
        self._pairs = {
            (quantiles[a], quantiles[b]): (a, b)
            for a, b in pairs
            if abs(quantiles[a] + quantiles[b] - 1) < 1e-9
        }
        self._hits, self._count = dict.fromkeys(self._pairs, 0), 0

    def add(self, bounds: Float[np.ndarray, "rows steps quantiles"], actual: WindowRows) -> None:
        for ends, (low, high) in self._pairs.items():
            self._hits[ends] += int(((bounds[..., low] <= actual) & (actual <= bounds[..., high])).sum())
        self._count += actual.size

    def coverage(self) -> dict[tuple[float, float], float]:
        return {ends: hits / self._count for ends, hits in self._hits.items()}


def _scored_split(
    model: Forecaster, table: SeriesTable, data: SeriesDataConfig, same: bool, everything: bool
) -> SeriesSplit:
    """Which rows are scored (as test), and from which a linear baseline may learn."""
    if same and not everything:
        return data.split_rows(table.times)
    first = int(np.searchsorted(table.times, model.metadata.trained_until, side="right"))
    if everything or first in (0, len(table)):  # it begins after what was learnt, or is another place's past
        first = 0
    middle = int(LINEAR_FIT_SHARE * first)
    return SeriesSplit(range(middle), range(middle, first), range(first, len(table)))


def _baselines(
    cut: list[SeriesWindows], horizon: int, cycle: int
) -> tuple[dict[str, BaselineFunction], list[str]]:
    """What a model must beat; the linear one learns from the same rows as the model did."""
    train, valid, _ = cut
    notes, linear = [], {}
    if train.epoch_size and valid.epoch_size:
        fitted = fit_nlinear(collect_ridge_statistics(_history_and_future(train)), _history_and_future(valid))
        linear = {"linear": lambda shown: fitted.forecast(shown.history)}
    else:
        notes.append(
            "no linear baseline: there are no rows before those that are scored for it to learn from"
        )
    return {
        **linear,
        f"season of {cycle}": lambda shown: seasonal_naive_forecast(shown.history, horizon, cycle),
        "last value": lambda shown: naive_forecast(shown.history, horizon),
    }, notes


def _history_and_future(some: SeriesWindows) -> Iterator[tuple[WindowRows, WindowRows]]:
    for first in range(0, some.epoch_size, BATCH_WINDOWS):
        shown = _backtest_windows(some, np.arange(first, min(first + BATCH_WINDOWS, some.epoch_size)))
        yield shown.history, shown.actual


def _backtest_windows(some: SeriesWindows, numbers: Int64[np.ndarray, " chosen"]) -> BacktestWindows:
    batch = some.batch(numbers)
    history, came = (_flatten_series(tensor.numpy()) for tensor in (batch.history, batch.target))
    channels = batch.target.shape[2]
    channel = np.tile(np.arange(channels), len(numbers)) if some.channel is None else some.channel[numbers]
    return BacktestWindows(history, came, channel)


def _predicted_windows(
    model: Forecaster, some: SeriesWindows
) -> Iterator[tuple[BacktestWindows, np.ndarray]]:
    for first in range(0, some.epoch_size, BATCH_WINDOWS):
        numbers = np.arange(first, min(first + BATCH_WINDOWS, some.epoch_size))
        batch = some.batch(numbers)
        found: torch.Tensor = model.predict(batch.history, batch.past_features, batch.future_features)
        yield _backtest_windows(some, numbers), found.transpose(1, 2).flatten(0, 1).numpy()


def _flatten_series(values: Float[np.ndarray, "batch steps channels"]) -> WindowRows:
    """Each series of each window by itself."""
    return values.transpose(0, 2, 1).reshape(-1, values.shape[1])
