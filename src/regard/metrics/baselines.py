"""What a forecaster must beat: the last value, the last season, and a straight line through the history."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64

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
