"""Windows over a table: every place where a history can be followed by a horizon, each once."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Tensor

from regard.errors import DataError

WindowIndices = Int64[np.ndarray, " chosen"]


@dataclass(frozen=True)
class SeriesBatch:
    """Windows side by side: what is seen, when it is, and what came after."""

    history: Float[Tensor, "batch time channels"]
    past_features: Float[Tensor, "batch time features"]
    future_features: Float[Tensor, "batch horizon features"]
    target: Float[Tensor, "batch horizon channels"]
    window_indices: Int64[np.ndarray, " batch"]
    """Which windows these are."""

    def to(self, device: torch.device) -> "SeriesBatch":
        def moved(tensor: Tensor) -> Tensor:
            return tensor.to(device, non_blocking=True)

        return replace(
            self,
            history=moved(self.history),
            past_features=moved(self.past_features),
            future_features=moved(self.future_features),
            target=moved(self.target),
        )


@dataclass(frozen=True)
class SeriesWindows:
    """The windows whose horizon lies in one part of a table, numbered in order of time.

    A history may reach back into the part before: its values were known then. If series are `apart`
    each window of each series has a number of its own, and those with a missing value have none.
    """

    values: Float32[np.ndarray, "rows channels"]
    """Scaled, of the whole table."""
    features: Float32[np.ndarray, "rows features"]
    history: int
    horizon: int
    origins: Int64[np.ndarray, " build_windows"]
    """The first row of each horizon."""
    channel: Int64[np.ndarray, " build_windows"] | None
    """The series of each window; none if all are read together."""

    @property
    def epoch_size(self) -> int:
        return len(self.origins)

    def epoch_indexes(self, epoch: int, positions: WindowIndices) -> WindowIndices:  # noqa: ARG002
        """An epoch shows each window once."""
        return positions

    def lengths_of(self, indexes: WindowIndices) -> tuple[WindowIndices, WindowIndices]:
        return np.full_like(indexes, self.history), np.full_like(indexes, self.horizon)

    def batch(self, numbers: WindowIndices) -> SeriesBatch:
        """Those windows, as tensors."""
        origins = self.origins[numbers]
        seen = origins[:, None] + np.arange(-self.history, 0)
        foretold = origins[:, None] + np.arange(self.horizon)
        if self.channel is None:
            history, target = self.values[seen], self.values[foretold]
        else:
            channel = self.channel[numbers][:, None]
            history, target = self.values[seen, channel][..., None], self.values[foretold, channel][..., None]
        return SeriesBatch(
            history=torch.from_numpy(history),
            past_features=torch.from_numpy(self.features[seen]),
            future_features=torch.from_numpy(self.features[foretold]),
            target=torch.from_numpy(target),
            window_indices=numbers,
        )

    def in_order(self, size: int) -> Iterator[SeriesBatch]:
        """All of them once, in order of time, so many at once; the last batch may have fewer."""
        for first in range(0, self.epoch_size, size):
            yield self.batch(np.arange(first, min(first + size, self.epoch_size)))


def build_windows(
    values: Float32[np.ndarray, "rows channels"],
    features: Float32[np.ndarray, "rows features"],
    rows: range,
    history: int,
    horizon: int,
    per_series: bool,
) -> SeriesWindows:
    """Every window of stride 1 whose horizon lies in `part`."""
    first = max(rows.start, history)
    origins = np.arange(first, max(rows.stop - horizon + 1, first))
    whole = _complete_windows(values, origins, history, horizon)
    if not per_series:
        return SeriesWindows(values, features, history, horizon, origins[whole.all(axis=1)], None)
    at, channel = np.nonzero(whole)
    return SeriesWindows(values, features, history, horizon, origins[at], channel)


def reject_empty_windows(found: SeriesWindows, name: str, part: str, rows: int) -> None:
    """A part in which no window fits is a mistake to be told at once."""
    if not found.epoch_size:
        needed = found.history + found.horizon if part == "training" else found.horizon
        raise DataError(
            f"{name} has {rows:,} {part} rows; a window of {found.history} steps seen and {found.horizon} "
            f"foretold needs {needed} without a gap: give more, or a smaller model.history or model.horizon"
        )


def _complete_windows(
    values: Float32[np.ndarray, "rows channels"], origins: WindowIndices, history: int, horizon: int
) -> Bool[np.ndarray, "windows channels"]:
    """Whether a window has no missing value, for each series."""
    missing = np.concatenate([np.zeros((1, values.shape[1]), np.int64), np.cumsum(np.isnan(values), axis=0)])
    return missing[origins + horizon] == missing[origins - history]
