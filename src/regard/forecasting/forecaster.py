"""Forecaster: a model folder that continues the series of a file."""

from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np
import torch
from jaxtyping import Float, Float32, Float64
from torch import Tensor

from regard.checkpoint import find_model_folder
from regard.errors import DataError, require_setting
from regard.forecasting.forecast import Forecast
from regard.forecasting.model_folder import BuildForecaster, LoadedForecaster, SeriesMetadata, load_forecaster
from regard.forecasting.series.calendar import calendar_features
from regard.forecasting.series.memory_series import (
    SeriesContext,
    is_in_memory,
    read_memory_series,
    to_kind_of,
)
from regard.forecasting.series.read_table import has_column, read_series_table
from regard.forecasting.series.regularize import interpolate_gaps
from regard.forecasting.series.table import SeriesTable
from regard.forecasting.series.time_axis import Times
from regard.model.transformer_forecaster import ForecasterConfig, TransformerForecaster
from regard.training.device import DeviceChoice, choose_device

MAX_FORECAST_STEPS = 2**20
"""As `model.horizon` allows."""
SeriesT = TypeVar("SeriesT")
QuantileOutputs = Float[Tensor, "batch horizon channels outputs"]


class Forecaster:
    """A trained model with the metadata of its series, ready to forecast."""

    def __init__(self, network: TransformerForecaster, metadata: SeriesMetadata) -> None:
        self._network = network.eval()
        self.metadata = metadata

    @staticmethod
    def load(
        path: str | Path, device: DeviceChoice = "auto", *, build_model: BuildForecaster | None = None
    ) -> "Forecaster":
        """Load the model that `regard train` wrote to `path`, after checking every file.

        `build_model` is that of a custom model (docs/python.md).
        """
        return Forecaster.from_loaded(load_forecaster(find_model_folder(Path(path)), build_model), device)

    @staticmethod
    def from_loaded(loaded: LoadedForecaster, device: DeviceChoice = "auto") -> "Forecaster":
        """Move a loaded model to a device and make it ready to forecast."""
        return Forecaster(loaded.network.to(choose_device(device)), loaded.metadata)

    @property
    def config(self) -> ForecasterConfig:
        return self._network.config

    @property
    def network(self) -> TransformerForecaster:
        return self._network

    def read_series(self, series: Any, start: object = None) -> SeriesTable:
        """Read the series of the model from a file or from memory; an error if the time step is another one.

        `start` is the time of the first row of an array.
        """
        if isinstance(series, SeriesTable):
            return self.select_series(series)
        metadata = self.metadata
        if is_in_memory(series):
            context = SeriesContext(
                metadata.time_column,
                metadata.columns,
                metadata.time_axis,
                metadata.longest_gap,
                bool(metadata.cycles),
            )
            return self.select_series(read_memory_series(series, context, start))
        if not isinstance(series, str | Path):
            kind = type(series).__name__
            raise TypeError(f"a series is a file, a table, a Series or an array, and not {kind}")
        path = Path(series)
        time = metadata.time_column if has_column(path, metadata.time_column) else None
        table = read_series_table(path, time, metadata.columns, metadata.longest_gap)
        return self.select_series(table)

    def select_series(self, table: SeriesTable) -> SeriesTable:
        """Return the columns of the model; an error if the table's time step is another one."""
        table, step = table.select_columns(self.metadata.columns), self.metadata.time_axis.step
        if table.time_axis.step != step:
            raise DataError(
                f"{table.name} has a row every {table.time_axis.step} and the model was trained on a row "
                f"every {step}; give a file with the same step, or train another model"
            )
        return table

    def forecast(self, series: Any, horizon: int | None = None, *, start: object = None) -> Forecast:
        """Forecast the steps after the last row, by default as many as the model was trained for.

        `series` is a file, a table of pandas, polars or pyarrow, a mapping of columns, a pandas Series with
        times, or an array, of which `start` is the first time. A longer horizon is predicted
        autoregressively from the mean; its intervals are too narrow.
        """
        require_setting(horizon is None or horizon >= 1, "horizon", horizon, "it must be at least 1")
        table = self.read_series(series, start)
        steps = self.config.horizon if horizon is None else horizon
        blocks = -(-steps // self.config.horizon)
        possible = min(MAX_FORECAST_STEPS, table.time_axis.count_steps_after(table.times[-1]))
        require_setting(
            blocks * self.config.horizon <= possible,
            "horizon",
            steps,
            f"at most {possible:,} steps can be forecast",
        )
        history, notes = self.recent_history(table)
        if blocks > 1:
            notes.append(
                f"the model's horizon is {self.config.horizon} steps; later steps are predicted from its own "
                "mean, and their intervals are too narrow"
            )
        future = table.future_times(blocks * self.config.horizon)
        times = np.concatenate([table.times[-self.config.history :], future])
        outputs = self._predict_autoregressively(history, times, blocks)[:steps]
        mean, *quantiles = (self.metadata.scaler.unscale(output) for output in np.moveaxis(outputs, 2, 0))
        by_level = dict(zip(self.config.quantiles, quantiles, strict=True))
        return Forecast(table, future[:steps], mean, by_level, tuple(notes))

    @overload
    def predict(  # pyright: ignore[reportOverlappingOverload]  # a str is a file here, and no kind of table
        self,
        series: str | Path,
        horizon: int | None = None,
        *,
        quantiles: bool = False,
        start: object = None,
    ) -> dict[str, list[Any]]: ...
    @overload
    def predict(
        self, series: SeriesT, horizon: int | None = None, *, quantiles: bool = False, start: object = None
    ) -> SeriesT: ...
    def predict(
        self, series: Any, horizon: int | None = None, *, quantiles: bool = False, start: object = None
    ) -> Any:
        """Return a forecast as the kind of table that `series` is, with its times where that has times.

        A file gives a mapping of columns. With `quantiles` there is a column for each quantile of a series,
        such as `load q0.9`, beside its mean. The rest is as in `forecast`.
        """
        forecast = self.forecast(series, horizon, start=start)
        return to_kind_of(series, forecast.history, forecast.times, forecast.to_columns(quantiles))

    @torch.inference_mode()
    def predict_windows(
        self,
        history: Float[Tensor, "batch time channels"],
        past_features: Float[Tensor, "batch time features"],
        future_features: Float[Tensor, "batch horizon features"],
    ) -> QuantileOutputs:
        """Predict the mean, then the sorted quantiles, of scaled windows; returns a CPU tensor."""
        inputs = (tensor.to(self._network.device) for tensor in (history, past_features, future_features))
        outputs = self._network.forecast(*inputs).cpu()
        return torch.cat([outputs[..., :1], outputs[..., 1:].sort(dim=-1).values], dim=-1)

    def recent_history(self, table: SeriesTable) -> tuple[Float32[np.ndarray, "time channels"], list[str]]:
        """Return the last rows, scaled, with missing values filled in, and notes on those."""
        history = self.config.history
        if len(table) < history:
            raise DataError(f"{table.name} has {len(table):,} rows; the model needs a history of {history}")
        values, notes = table.values[-history:].copy(), []
        for number, column in enumerate(table.columns):
            missing = np.isnan(values[:, number])
            if missing.all():
                raise DataError(f"{table.name} has no value of {column!r} in its last {history} rows")
            if missing.any():
                values[:, number] = _fill_all_gaps(values[:, number])
                notes.append(
                    f"{column}: {int(missing.sum()):,} of the last {history} values are missing: interpolated"
                )
        return self.metadata.scaler.scale(values).astype(np.float32), notes

    def _predict_autoregressively(
        self, history: Float32[np.ndarray, "time channels"], times: Times, blocks: int
    ) -> Float64[np.ndarray, "steps channels outputs"]:
        """Predict one horizon after the other; the mean of each is appended to the history of the next."""
        config, features = self.config, calendar_features(times, self.metadata.cycles)
        per_series, blocks_of_outputs = config.channels == 1, []
        for block in range(blocks):
            first, end = block * config.horizon, block * config.horizon + config.history
            windows = history.T[..., None] if per_series else history[None]
            past, future = (
                torch.from_numpy(part)[None].expand(len(windows), -1, -1)
                for part in (features[first:end], features[end : end + config.horizon])
            )
            outputs = self.predict_windows(
                torch.from_numpy(np.ascontiguousarray(windows)), past, future
            ).numpy()
            # steps channels outputs
            outputs = outputs[:, :, 0].transpose(1, 0, 2) if per_series else outputs[0]
            blocks_of_outputs.append(outputs.astype(np.float64))
            history = np.concatenate([history, outputs[..., 0]])[-config.history :]
        return np.concatenate(blocks_of_outputs)


def _fill_all_gaps(column: Float64[np.ndarray, " rows"]) -> Float64[np.ndarray, " rows"]:
    """Interpolate all gaps linearly; before the first and after the last value, repeat the nearest."""
    column = interpolate_gaps(column, len(column))
    known = np.flatnonzero(~np.isnan(column))
    return column[np.clip(np.arange(len(column)), known[0], known[-1])]
