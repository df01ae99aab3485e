"""Sliding windows over a series table: every history followed by a horizon, as batches of tensors."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Tensor

from regard.errors import DataError

WindowIndices = Int64[np.ndarray, " chosen"]


@dataclass(frozen=True)
class SeriesBatch:
    """A batch of windows: history, target, and the calendar features of both."""

    history: Float[Tensor, "batch time channels"]
    past_features: Float[Tensor, "batch time features"]
    future_features: Float[Tensor, "batch horizon features"]
    target: Float[Tensor, "batch horizon channels"]
    window_indices: Int64[np.ndarray, " batch"]
    """The index of each window in its `SeriesWindows`."""

    def to(self, device: torch.device) -> "SeriesBatch":
        def move(tensor: Tensor) -> Tensor:
            return tensor.to(device, non_blocking=True)

        return replace(
            self,
            history=move(self.history),
            past_features=move(self.past_features),
            future_features=move(self.future_features),
            target=move(self.target),
        )


@dataclass(frozen=True)
class SeriesWindows:
    """The windows whose horizon lies in one part of a table, in the order of time.

    A history may reach back into the part before, whose values are known. With one series per window,
    every series has its own windows, and those with a missing value are left out.
    """

    values: Float32[np.ndarray, "rows channels"]
    """The scaled values of the whole table."""
    features: Float32[np.ndarray, "rows features"]
    history: int
    horizon: int
    origins: Int64[np.ndarray, " windows"]
    """The first row of each horizon."""
    channel: Int64[np.ndarray, " windows"] | None
    """The series of each window; none if every window has all series."""

    @property
    def epoch_size(self) -> int:
        return len(self.origins)

    def epoch_indexes(self, epoch: int, positions: WindowIndices) -> WindowIndices:  # noqa: ARG002
        """Map positions to windows: an epoch has every window once."""
        return positions

    def lengths_of(self, indexes: WindowIndices) -> tuple[WindowIndices, WindowIndices]:
        return np.full_like(indexes, self.history), np.full_like(indexes, self.horizon)

    def batch(self, indexes: WindowIndices) -> SeriesBatch:
        """Return the windows with these indexes as tensors."""
        origins = self.origins[indexes]
        past = origins[:, None] + np.arange(-self.history, 0)
        future = origins[:, None] + np.arange(self.horizon)
        if self.channel is None:
            history, target = self.values[past], self.values[future]
        else:
            channel = self.channel[indexes][:, None]
            history, target = self.values[past, channel][..., None], self.values[future, channel][..., None]
        return SeriesBatch(
            history=torch.from_numpy(history),
            past_features=torch.from_numpy(self.features[past]),
            future_features=torch.from_numpy(self.features[future]),
            target=torch.from_numpy(target),
            window_indices=indexes,
        )


def build_windows(
    values: Float32[np.ndarray, "rows channels"],
    features: Float32[np.ndarray, "rows features"],
    rows: range,
    history: int,
    horizon: int,
    per_series: bool,
) -> SeriesWindows:
    """Build all windows of stride 1 whose horizon lies in `rows`, without those with a missing value."""
    first = max(rows.start, history)
    origins = np.arange(first, max(rows.stop - horizon + 1, first))
    complete = _complete_windows(values, origins, history, horizon)
    if not per_series:
        return SeriesWindows(values, features, history, horizon, origins[complete.all(axis=1)], None)
    windows, channel = np.nonzero(complete)
    return SeriesWindows(values, features, history, horizon, origins[windows], channel)


def reject_empty_windows(windows: SeriesWindows, name: str, part: str, rows: int) -> None:
    """Raise an error if no window fits into a part of the table, with the number of rows it needs."""
    if not windows.epoch_size:
        history, horizon = windows.history, windows.horizon
        needed = history + horizon if part == "training" else horizon
        raise DataError(
            f"{name} has {rows:,} {part} rows; a window of {history} history and {horizon} forecast steps "
            f"needs {needed} without a gap: give more rows, or a smaller model.history or model.horizon"
        )


def _complete_windows(
    values: Float32[np.ndarray, "rows channels"], origins: WindowIndices, history: int, horizon: int
) -> Bool[np.ndarray, "windows channels"]:
    """Return, for each window and series, whether no value is missing."""
    missing = np.concatenate([np.zeros((1, values.shape[1]), np.int64), np.cumsum(np.isnan(values), axis=0)])
    return missing[origins + horizon] == missing[origins - history]
