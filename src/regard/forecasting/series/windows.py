"""Windows over a table: every place where a history can be followed by a horizon, each once."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Tensor

from regard.errors import DataError

Numbers = Int64[np.ndarray, " chosen"]


@dataclass(frozen=True)
class SeriesBatch:
    """Windows side by side: what is seen, when it is, and what came after."""

    history: Float[Tensor, "batch time channels"]
    past: Float[Tensor, "batch time features"]
    future: Float[Tensor, "batch horizon features"]
    target: Float[Tensor, "batch horizon channels"]
    windows: Int64[np.ndarray, " batch"]
    """Which windows these are."""

    def to(self, device: torch.device) -> "SeriesBatch":
        def moved(tensor: Tensor) -> Tensor:
            return tensor.to(device, non_blocking=True)

        return replace(
            self,
            history=moved(self.history),
            past=moved(self.past),
            future=moved(self.future),
            target=moved(self.target),
        )


@dataclass(frozen=True)
class Windows:
    """The windows whose horizon lies in one part of a table, numbered in order of time.

    A history may reach back into the part before: its values were known then. If series are `apart`
    each window of each series has a number of its own, and those with a missing value have none.
    """

    values: Float32[np.ndarray, "rows channels"]
    """Scaled, of the whole table."""
    calendar: Float32[np.ndarray, "rows features"]
    history: int
    horizon: int
    origins: Int64[np.ndarray, " windows"]
    """The first row of each horizon."""
    channel: Int64[np.ndarray, " windows"] | None
    """The series of each window; none if all are read together."""

    @property
    def turns(self) -> int:
        return len(self.origins)

    def at(self, epoch: int, turns: Numbers) -> Numbers:  # noqa: ARG002
        """An epoch shows each window once."""
        return turns

    def lengths_of(self, indexes: Numbers) -> tuple[Numbers, Numbers]:
        return np.full_like(indexes, self.history), np.full_like(indexes, self.horizon)

    def batch(self, numbers: Numbers) -> SeriesBatch:
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
            past=torch.from_numpy(self.calendar[seen]),
            future=torch.from_numpy(self.calendar[foretold]),
            target=torch.from_numpy(target),
            windows=numbers,
        )

    def in_order(self, size: int) -> Iterator[SeriesBatch]:
        """All of them once, in order of time, so many at once; the last batch may have fewer."""
        for first in range(0, self.turns, size):
            yield self.batch(np.arange(first, min(first + size, self.turns)))


def windows(
    values: Float32[np.ndarray, "rows channels"],
    calendar: Float32[np.ndarray, "rows features"],
    part: range,
    history: int,
    horizon: int,
    apart: bool,
) -> Windows:
    """Every window of stride 1 whose horizon lies in `part`."""
    first = max(part.start, history)
    origins = np.arange(first, max(part.stop - horizon + 1, first))
    whole = _whole(values, origins, history, horizon)
    if not apart:
        return Windows(values, calendar, history, horizon, origins[whole.all(axis=1)], None)
    at, channel = np.nonzero(whole)
    return Windows(values, calendar, history, horizon, origins[at], channel)


def refuse_none(found: Windows, name: str, part: str, rows: int) -> None:
    """A part in which no window fits is a mistake to be told at once."""
    if not found.turns:
        needed = found.history + found.horizon if part == "training" else found.horizon
        raise DataError(
            f"{name} has {rows:,} {part} rows; a window of {found.history} steps seen and {found.horizon} "
            f"foretold needs {needed} without a gap: give more, or a smaller model.history or model.horizon"
        )


def _whole(
    values: Float32[np.ndarray, "rows channels"], origins: Numbers, history: int, horizon: int
) -> Bool[np.ndarray, "windows channels"]:
    """Whether a window has no missing value, for each series."""
    missing = np.concatenate([np.zeros((1, values.shape[1]), np.int64), np.cumsum(np.isnan(values), axis=0)])
    return missing[origins + horizon] == missing[origins - history]
