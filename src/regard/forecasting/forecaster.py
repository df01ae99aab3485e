"""Forecaster: a model folder that continues the series of a file."""

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Float32, Float64
from torch import Tensor

from regard.checkpoint import find_model
from regard.errors import DataError, require
from regard.forecasting.forecast import Forecast
from regard.forecasting.model_folder import Known, load_forecaster
from regard.forecasting.series.calendar import calendar
from regard.forecasting.series.read_table import has_column, read_table
from regard.forecasting.series.regularize import fill
from regard.forecasting.series.table import Table
from regard.forecasting.series.time_axis import Times
from regard.model.forecaster import Forecaster as Network
from regard.model.forecaster import ForecasterConfig
from regard.train.device import Device, choose_device

Outputs = Float[Tensor, "batch horizon channels outputs"]


class Forecaster:
    """A trained model, ready to be asked."""

    def __init__(self, network: Network, known: Known) -> None:
        self._network = network.eval()
        self.known = known

    @staticmethod
    def load(path: str | Path, device: Device = "auto") -> "Forecaster":
        """From the folder that `regard train` wrote, every file checked first."""
        model = load_forecaster(find_model(Path(path)))
        return Forecaster(model.network.to(choose_device(device)), model.known)

    @property
    def config(self) -> ForecasterConfig:
        return self._network.config

    @property
    def network(self) -> Network:
        return self._network

    def read(self, path: str | Path) -> Table:
        """The series that the model knows, from a file that has them; refused if it goes by other steps."""
        known = self.known
        time = known.time_column if has_column(Path(path), known.time_column) else None
        return self.fitting(read_table(Path(path), time, known.columns, known.longest_gap))

    def fitting(self, table: Table) -> Table:
        """The table's part that the model knows."""
        table, known = table.choose(self.known.columns), self.known
        if table.clock.step != known.clock.step:
            raise DataError(
                f"{table.name} has a row every {table.clock.step} and the model learnt from one every "
                f"{known.clock.step}; give a file with the same steps, or train another model"
            )
        return table

    def forecast(self, series: str | Path | Table, horizon: int | None = None) -> Forecast:
        """What comes after the last row: as many steps as the model was trained for, or as asked for.

        Beyond those it goes on from its own mean, and its intervals no longer know how uncertain that is.
        """
        require(horizon is None or horizon >= 1, "horizon", horizon, "it must be at least 1")
        table = self.fitting(series) if isinstance(series, Table) else self.read(series)
        steps = self.config.horizon if horizon is None else horizon
        recent, notes = self.recent(table)
        blocks = -(-steps // self.config.horizon)
        if blocks > 1:
            notes.append(
                f"the model foretells {self.config.horizon} steps at once; the others go on from its own "
                "mean, and their intervals are too narrow"
            )
        times = table.future(blocks * self.config.horizon)
        found = self._roll(recent, np.concatenate([table.times[-self.config.history :], times]), blocks)[
            :steps
        ]
        real = [self.known.scaling.unscale(each) for each in np.moveaxis(found, 2, 0)]
        quantiles = dict(zip(self.config.quantiles, real[1:], strict=True))
        return Forecast(table, times[:steps], real[0], quantiles, tuple(notes))

    @torch.inference_mode()
    def foretell(
        self,
        history: Float[Tensor, "batch time channels"],
        past: Float[Tensor, "batch time features"],
        future: Float[Tensor, "batch horizon features"],
    ) -> Outputs:
        """Mean, then quantiles in order, of scaled windows; on the CPU."""
        device = self._network.device
        found = self._network.forecast(history.to(device), past.to(device), future.to(device)).cpu()
        return torch.cat([found[..., :1], found[..., 1:].sort(dim=-1).values], dim=-1)

    def recent(self, table: Table) -> tuple[Float32[np.ndarray, "time channels"], list[str]]:
        """The last steps, scaled; what is missing among them is filled in, and said."""
        history = self.config.history
        if len(table) < history:
            raise DataError(f"{table.name} has {len(table):,} rows; the model looks back {history} steps")
        values, notes = table.values[-history:].copy(), []
        for number, column in enumerate(table.columns):
            missing = np.isnan(values[:, number])
            if missing.all():
                raise DataError(f"{table.name} has no value of {column!r} in its last {history} rows")
            if missing.any():
                values[:, number] = _whole(values[:, number])
                notes.append(
                    f"{column}: {int(missing.sum()):,} of the last {history} values are missing: guessed"
                )
        return self.known.scaling.scale(values).astype(np.float32), notes

    def _roll(
        self, recent: Float32[np.ndarray, "time channels"], times: Times, blocks: int
    ) -> Float64[np.ndarray, "steps channels outputs"]:
        """One horizon after the other, each mean part of the history of the next."""
        config, dates = self.config, calendar(times, self.known.cycles)
        apart, found = config.channels == 1, []
        for block in range(blocks):
            first, end = block * config.horizon, block * config.horizon + config.history
            past, future = dates[first:end], dates[end : end + config.horizon]
            rows = recent.T[..., None] if apart else recent[None]
            shared = (torch.from_numpy(when)[None].expand(len(rows), -1, -1) for when in (past, future))
            answer = self.foretell(torch.from_numpy(np.ascontiguousarray(rows)), *shared).numpy()
            answer = answer[:, :, 0].transpose(1, 0, 2) if apart else answer[0]  # steps channels outputs
            found.append(answer.astype(np.float64))
            recent = np.concatenate([recent, answer[..., 0]])[-config.history :]
        return np.concatenate(found)


def _whole(column: Float64[np.ndarray, " rows"]) -> Float64[np.ndarray, " rows"]:
    """Straight lines over gaps, and beyond its ends the value that is nearest."""
    column = fill(column, len(column))
    known = np.flatnonzero(~np.isnan(column))
    return column[np.clip(np.arange(len(column)), known[0], known[-1])]
