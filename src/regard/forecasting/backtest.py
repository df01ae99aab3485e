"""What a forecaster must beat: the last value, the last season, and a straight line through the history."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64

from regard.checkpoint import sha256
from regard.errors import DataError
from regard.forecasting.forecaster import Forecaster
from regard.forecasting.series.calendar import calendar, season
from regard.forecasting.series.config import SeriesConfig
from regard.forecasting.series.split import Parts
from regard.forecasting.series.table import Table
from regard.forecasting.series.windows import Windows, refuse_none, windows

Histories = Float[np.ndarray, "windows time"]
Futures = Float[np.ndarray, "windows horizon"]


def repeat_last(history: Histories, horizon: int) -> Futures:
    """The last value, over and over."""
    return np.repeat(history[:, -1:], horizon, axis=1)


def repeat_season(history: Histories, horizon: int, season: int) -> Futures:
    """The last season, over and over; of a history shorter than one, all there is."""
    newest = history[:, -season:]
    return np.tile(newest, -(-horizon // newest.shape[1]))[:, :horizon]


@dataclass(frozen=True)
class Linear:
    """Each value of the horizon as a weighted sum of the history, both counted from the last value.

    This is NLinear (Zeng et al., 2022): one layer for all series. It has a closed form, so nothing is
    left to chance; weights are held small by as much as suits the validation windows.
    """

    weights: Float64[np.ndarray, "time_and_one horizon"]
    """The last row is what is added whatever the history."""

    def forecast(self, history: Histories) -> Futures:
        last = history[:, -1:]
        return (history - last) @ self.weights[:-1] + self.weights[-1] + last


@dataclass(frozen=True)
class Moments:
    """All that least squares needs to know of the windows it learns from."""

    inputs: Float64[np.ndarray, "time_and_one time_and_one"]
    outputs: Float64[np.ndarray, "time_and_one horizon"]
    windows: int

    def solve(self, penalty: float) -> Linear:
        """Ridge regression; the constant goes free."""
        weight = np.full(len(self.inputs), penalty * self.windows)
        weight[-1] = 1e-9 * self.windows
        return Linear(np.linalg.solve(self.inputs + np.diag(weight), self.outputs))


PENALTIES = (1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0, 10.0)


def moments(batches: Iterable[tuple[Histories, Futures]]) -> Moments:
    """Of all training windows, some at a time."""
    inputs, outputs, windows = 0.0, 0.0, 0
    for history, future in batches:
        last = history[:, -1:].astype(np.float64)
        x = np.concatenate([history - last, np.ones_like(last)], axis=1)
        inputs, outputs = inputs + x.T @ x, outputs + x.T @ (future - last)
        windows += len(history)
    return Moments(np.asarray(inputs), np.asarray(outputs), windows)


def fit_linear(found: Moments, valid: Iterable[tuple[Histories, Futures]]) -> Linear:
    """The penalty under which the validation windows are foretold best."""
    models = [found.solve(penalty) for penalty in PENALTIES]
    errors = np.zeros(len(models))
    for history, future in valid:
        errors += [np.square(model.forecast(history) - future).sum() for model in models]
    return models[int(errors.argmin())]


AT_ONCE = 1024
FITTED = 0.75
"""Of the rows before those that are scored: what the linear baseline learns from in a file with no split."""
Rows = Float[np.ndarray, "rows steps"]
Answer = Callable[["Shown"], Rows]


class Shown(NamedTuple):
    """Windows as rows, one for each series of each window."""

    history: Rows
    came: Rows
    channel: Int64[np.ndarray, " rows"]


@dataclass(frozen=True, eq=False)
class Scores:
    """The errors of one forecaster, for each series, in standardised units."""

    name: str
    squared: Float64[np.ndarray, " channels"]
    absolute: Float64[np.ndarray, " channels"]

    @property
    def mse(self) -> float:
        return float(self.squared.mean())

    @property
    def mae(self) -> float:
        return float(self.absolute.mean())


@dataclass(frozen=True, eq=False)
class Rolling:
    """How a model did on every window of some rows."""

    table: Table
    rows: range
    """Those that were foretold."""
    windows: int
    """Over all series."""
    horizon: int
    deviation: Float64[np.ndarray, " channels"]
    """What one standardised unit is, for each series."""
    scores: tuple[Scores, ...]
    """Of the model, then of the baselines."""
    coverage: dict[tuple[float, float], float] = field(default_factory=dict)
    """By the shares of an interval's ends: how much of what came lies in it."""
    notes: tuple[str, ...] = ()


def roll(
    model: Forecaster, path: Path, data: SeriesConfig, trained_on: str, everything: bool = False
) -> Rolling:
    """Scores the rows that are new to the model: the test rows of the file it learnt from, or later ones.

    `data` is how it was trained, `trained_on` the SHA-256 of that file. With `everything`, all are scored.
    """
    table = model.read(path)
    parts = _parts(model, table, data, same=sha256(path) == trained_on, everything=everything)
    config, known = model.config, model.known
    values = known.scaling.scale(table.values).astype(np.float32)
    dates = calendar(table.times, known.cycles)
    cut = [
        windows(values, dates, part, config.history, config.horizon, config.channels == 1)
        for part in (parts.train, parts.valid, parts.test)
    ]
    refuse_none(cut[2], table.name, "new", len(parts.test))
    tallies = [Tally("regard", len(table.columns))]
    answers, notes = _baselines(cut, config.horizon, season(table.clock.step))
    rows = range(max(parts.test.start, config.history), parts.test.stop)
    if table.times[rows.start] <= known.learnt_until:
        notes.append(
            "some of these rows are of a time that the model learnt from: if they are the same series, "
            "it has seen them"
        )
    tallies += [Tally(name, len(table.columns)) for name in answers]
    inside = Inside(config.quantiles)
    for shown, foretold in _foretold(model, cut[2]):
        tallies[0].add(foretold[..., 0], shown)
        inside.add(foretold[..., 1:], shown.came)
        for tally, answer in zip(tallies[1:], answers.values(), strict=True):
            tally.add(answer(shown), shown)
    return Rolling(
        table,
        rows,
        cut[2].turns * (1 if cut[2].channel is not None else len(table.columns)),
        config.horizon,
        known.scaling.deviation,
        tuple(tally.scores() for tally in tallies),
        inside.shares(),
        tuple(notes),
    )


class Tally:
    """Sums of errors, series by series."""

    def __init__(self, name: str, channels: int) -> None:
        self._name = name
        self._sums = np.zeros((3, channels))

    def add(self, foretold: Rows, shown: Shown) -> None:
        error = foretold.astype(np.float64) - shown.came
        for place, each in enumerate((np.square(error), np.abs(error), np.ones_like(error))):
            self._sums[place] += np.bincount(shown.channel, each.sum(axis=1), self._sums.shape[1])

    def scores(self) -> Scores:
        squared, absolute, count = self._sums
        if not count.all():
            raise DataError("a series has no window without a gap; give a file in which it has more values")
        return Scores(self._name, squared / count, absolute / count)


class Inside:
    """How often what came lies between two quantiles that leave as much above as below."""

    def __init__(self, quantiles: tuple[float, ...]) -> None:
        pairs = [(a, b) for a in range(len(quantiles)) for b in range(a + 1, len(quantiles))]
        self._pairs = {
            (quantiles[a], quantiles[b]): (a, b)
            for a, b in pairs
            if abs(quantiles[a] + quantiles[b] - 1) < 1e-9
        }
        self._hits, self._count = dict.fromkeys(self._pairs, 0), 0

    def add(self, bounds: Float[np.ndarray, "rows steps quantiles"], came: Rows) -> None:
        for ends, (low, high) in self._pairs.items():
            self._hits[ends] += int(((bounds[..., low] <= came) & (came <= bounds[..., high])).sum())
        self._count += came.size

    def shares(self) -> dict[tuple[float, float], float]:
        return {ends: hits / self._count for ends, hits in self._hits.items()}


def _parts(model: Forecaster, table: Table, data: SeriesConfig, same: bool, everything: bool) -> Parts:
    """Which rows are scored (as test), and from which a linear baseline may learn."""
    if same and not everything:
        return data.parts(table.times)
    first = int(np.searchsorted(table.times, model.known.learnt_until, side="right"))
    if everything or first in (0, len(table)):  # it begins after what was learnt, or is another place's past
        first = 0
    middle = int(FITTED * first)
    return Parts(range(middle), range(middle, first), range(first, len(table)))


def _baselines(cut: list[Windows], horizon: int, cycle: int) -> tuple[dict[str, Answer], list[str]]:
    """What a model must beat; the linear one learns from the same rows as the model did."""
    train, valid, _ = cut
    notes, linear = [], {}
    if train.turns and valid.turns:
        fitted = fit_linear(moments(_pairs(train)), _pairs(valid))
        linear = {"linear": lambda shown: fitted.forecast(shown.history)}
    else:
        notes.append(
            "no linear baseline: there are no rows before those that are scored for it to learn from"
        )
    return {
        **linear,
        f"season of {cycle}": lambda shown: repeat_season(shown.history, horizon, cycle),
        "last value": lambda shown: repeat_last(shown.history, horizon),
    }, notes


def _pairs(some: Windows) -> Iterator[tuple[Rows, Rows]]:
    for first in range(0, some.turns, AT_ONCE):
        shown = _shown(some, np.arange(first, min(first + AT_ONCE, some.turns)))
        yield shown.history, shown.came


def _shown(some: Windows, numbers: Int64[np.ndarray, " chosen"]) -> Shown:
    batch = some.batch(numbers)
    history, came = (_rows(tensor.numpy()) for tensor in (batch.history, batch.target))
    channels = batch.target.shape[2]
    channel = np.tile(np.arange(channels), len(numbers)) if some.channel is None else some.channel[numbers]
    return Shown(history, came, channel)


def _foretold(model: Forecaster, some: Windows) -> Iterator[tuple[Shown, np.ndarray]]:
    for first in range(0, some.turns, AT_ONCE):
        numbers = np.arange(first, min(first + AT_ONCE, some.turns))
        batch = some.batch(numbers)
        found: torch.Tensor = model.foretell(batch.history, batch.past, batch.future)
        yield _shown(some, numbers), found.transpose(1, 2).flatten(0, 1).numpy()


def _rows(values: Float[np.ndarray, "batch steps channels"]) -> Rows:
    """Each series of each window by itself."""
    return values.transpose(0, 2, 1).reshape(-1, values.shape[1])
