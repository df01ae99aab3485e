"""Forecaster: a model folder that continues the series of a file."""

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Float32, Float64
from torch import Tensor

from regard.checkpoint import find_model_folder
from regard.errors import DataError, require_setting
from regard.forecasting.forecast import Forecast
from regard.forecasting.model_folder import SeriesMetadata, load_forecaster
from regard.forecasting.series.calendar import calendar_features
from regard.forecasting.series.read_table import has_column, read_series_table
from regard.forecasting.series.regularize import interpolate_gaps
from regard.forecasting.series.table import SeriesTable
from regard.forecasting.series.time_axis import Times
from regard.model.forecaster import ForecasterConfig
from regard.model.forecaster import TransformerForecaster as Network
from regard.train.device import DeviceChoice, choose_device

QuantileOutputs = Float[Tensor, "batch horizon channels outputs"]


class Forecaster:
    """A trained model, ready to be asked."""

    def __init__(self, network: Network, metadata: SeriesMetadata) -> None:
        self._network = network.eval()
        self.metadata = metadata

    @staticmethod
    def load(path: str | Path, device: DeviceChoice = "auto") -> "Forecaster":
        """From the folder that `regard train` wrote, every file checked first."""
        model = load_forecaster(find_model_folder(Path(path)))
        return Forecaster(model.network.to(choose_device(device)), model.metadata)

    @property
    def config(self) -> ForecasterConfig:
        return self._network.config

    @property
    def network(self) -> Network:
        return self._network

    def read_series(self, path: str | Path) -> SeriesTable:
        """The series that the model knows, from a file that has them; refused if it goes by other steps."""
        known = self.metadata
        time = known.time_column if has_column(Path(path), known.time_column) else None
        return self.select_series(read_series_table(Path(path), time, known.columns, known.longest_gap))

    def select_series(self, table: SeriesTable) -> SeriesTable:
        """The table's part that the model knows."""
        table, known = table.select_columns(self.metadata.columns), self.metadata
        if table.time_axis.step != known.time_axis.step:
            raise DataError(
                f"{table.name} has a row every {table.time_axis.step} and the model learnt from one every "
                f"{known.time_axis.step}; give a file with the same steps, or train another model"
            )
        return table

    def forecast(self, series: str | Path | SeriesTable, horizon: int | None = None) -> Forecast:
        """What comes after the last row: as many steps as the model was trained for, or as asked for.

        Beyond those it goes on from its own mean, and its intervals no longer know how uncertain that is.
        """
        require_setting(horizon is None or horizon >= 1, "horizon", horizon, "it must be at least 1")
        table = self.select_series(series) if isinstance(series, SeriesTable) else self.read_series(series)
        steps = self.config.horizon if horizon is None else horizon
        recent, notes = self.recent_history(table)
        blocks = -(-steps // self.config.horizon)
        if blocks > 1:
            notes.append(
                f"the model foretells {self.config.horizon} steps at once; the others go on from its own "
                "mean, and their intervals are too narrow"
            )
        times = table.future_times(blocks * self.config.horizon)
        found = self._predict_autoregressively(
            recent, np.concatenate([table.times[-self.config.history :], times]), blocks
        )[:steps]
        real = [self.metadata.scaler.unscale(each) for each in np.moveaxis(found, 2, 0)]
        quantiles = dict(zip(self.config.quantiles, real[1:], strict=True))
        return Forecast(table, times[:steps], real[0], quantiles, tuple(notes))

    @torch.inference_mode()
    def predict(
        self,
        history: Float[Tensor, "batch time channels"],
        past: Float[Tensor, "batch time features"],
        future: Float[Tensor, "batch horizon features"],
    ) -> QuantileOutputs:
        """Mean, then quantiles in order, of scaled windows; on the CPU."""
        device = self._network.device
        found = self._network.forecast(history.to(device), past.to(device), future.to(device)).cpu()
        return torch.cat([found[..., :1], found[..., 1:].sort(dim=-1).values], dim=-1)

    def recent_history(self, table: SeriesTable) -> tuple[Float32[np.ndarray, "time channels"], list[str]]:
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
                values[:, number] = _fill_all_gaps(values[:, number])
                notes.append(
                    f"{column}: {int(missing.sum()):,} of the last {history} values are missing: guessed"
                )
        return self.metadata.scaler.scale(values).astype(np.float32), notes

    def _predict_autoregressively(
        self, recent: Float32[np.ndarray, "time channels"], times: Times, blocks: int
    ) -> Float64[np.ndarray, "steps channels outputs"]:
        """One horizon after the other, each mean part of the history of the next."""
        config, dates = self.config, calendar_features(times, self.metadata.cycles)
        apart, found = config.channels == 1, []
        for block in range(blocks):
            first, end = block * config.horizon, block * config.horizon + config.history
            past, future = dates[first:end], dates[end : end + config.horizon]
            rows = recent.T[..., None] if apart else recent[None]
            shared = (torch.from_numpy(when)[None].expand(len(rows), -1, -1) for when in (past, future))
            answer = self.predict(torch.from_numpy(np.ascontiguousarray(rows)), *shared).numpy()
            answer = answer[:, :, 0].transpose(1, 0, 2) if apart else answer[0]  # steps channels outputs
            found.append(answer.astype(np.float64))
            recent = np.concatenate([recent, answer[..., 0]])[-config.history :]
        return np.concatenate(found)


def _fill_all_gaps(column: Float64[np.ndarray, " rows"]) -> Float64[np.ndarray, " rows"]:
    """Straight lines over gaps, and beyond its ends the value that is nearest."""
    column = interpolate_gaps(column, len(column))
    known = np.flatnonzero(~np.isnan(column))
    return column[np.clip(np.arange(len(column)), known[0], known[-1])]
