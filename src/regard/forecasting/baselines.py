"""Baselines of a backtest: last value, seasonal naive, and NLinear fitted by ridge regression."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64

HistoryRows = Float[np.ndarray, "windows time"]
FutureRows = Float[np.ndarray, "windows horizon"]
WindowBatch = tuple[Float[np.ndarray, "_ time"], Float[np.ndarray, "_ horizon"]]
"""Histories and their futures; the last batch may hold fewer windows, so their number has no name."""
RIDGE_PENALTIES = (1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0, 10.0)


def naive_forecast(history: HistoryRows, horizon: int) -> FutureRows:
    """Repeat the last value."""
    return np.repeat(history[:, -1:], horizon, axis=1)


def seasonal_naive_forecast(history: HistoryRows, horizon: int, season: int) -> FutureRows:
    """Repeat the last season, or the whole history if it is shorter than a season."""
    last_season = history[:, -season:]
    return np.tile(last_season, -(-horizon // last_season.shape[1]))[:, :horizon]


@dataclass(frozen=True)
class NLinear:
    """NLinear (Zeng et al., 2022): a linear map from history to horizon, both relative to the last value.

    One layer is shared by all series. It is fitted in closed form, so the result is deterministic.
    """

    weights: Float64[np.ndarray, "time_and_one horizon"]
    """The last row is the bias."""

    def forecast(self, history: HistoryRows) -> FutureRows:
        last = history[:, -1:]
        return (history - last) @ self.weights[:-1] + self.weights[-1] + last


@dataclass(frozen=True)
class RidgeStatistics:
    """The sufficient statistics of a least-squares fit: X'X and X'Y over all windows."""

    inputs: Float64[np.ndarray, "time_and_one time_and_one"]
    outputs: Float64[np.ndarray, "time_and_one horizon"]
    windows: int

    def solve(self, penalty: float) -> NLinear:
        """Solve the ridge regression; the bias is practically unpenalised."""
        diagonal = np.full(len(self.inputs), penalty * self.windows)
        diagonal[-1] = 1e-9 * self.windows
        return NLinear(np.linalg.solve(self.inputs + np.diag(diagonal), self.outputs))


def collect_ridge_statistics(batches: Iterable[WindowBatch]) -> RidgeStatistics:
    """Sum the statistics over batches of histories and futures."""
    inputs, outputs, windows = 0.0, 0.0, 0
    for history, future in batches:
        last = history[:, -1:].astype(np.float64)
        x = np.concatenate([history - last, np.ones_like(last)], axis=1)
        inputs, outputs = inputs + x.T @ x, outputs + x.T @ (future - last)
        windows += len(history)
    return RidgeStatistics(np.asarray(inputs), np.asarray(outputs), windows)


def fit_nlinear(statistics: RidgeStatistics, valid: Iterable[WindowBatch]) -> NLinear:
    """Fit with every penalty and return the model with the least error on the validation windows."""
    models = [statistics.solve(penalty) for penalty in RIDGE_PENALTIES]
    errors = np.zeros(len(models))
    for history, future in valid:
        errors += [np.square(model.forecast(history) - future).sum() for model in models]
    return models[int(errors.argmin())]
