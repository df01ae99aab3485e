"""Forecasting as a training task: loss, batches, validation and the training entry point."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, assert_never

import numpy as np
import torch
from jaxtyping import Float
from rich.console import Console
from torch import Tensor
from torch.nn import functional

from regard.config import to_toml
from regard.data.prefetch import prefetch_items
from regard.data.stream import StreamPosition, TokenBudget, count_epoch_batches, stream_batches
from regard.forecasting.dataset import (
    ForecastingData,
    hash_series_file,
    prepare_forecasting_data,
    write_series_report,
)
from regard.forecasting.model_folder import write_forecaster_files
from regard.forecasting.run import ForecastingRun, ForecastLossConfig, PointLoss
from regard.forecasting.series.windows import SeriesBatch
from regard.model.transformer_forecaster import TransformerForecaster
from regard.text.corpus_files import FileLines
from regard.training.customization import NO_CUSTOMIZATION, Customization, sum_custom_loss
from regard.training.device import choose_device
from regard.training.harness import train_and_publish
from regard.training.logs.console import format_header
from regard.training.loop import TrainingResult
from regard.training.model_card import CardText, CurvesRenderer
from regard.training.setup import Schedule, TrainingSetup, resolve_device
from regard.training.state import ResumePoint
from regard.training.step import EagerStep, Learner, TrainStep
from regard.training.task import BatchCounts, DataPosition, ValidationResult

PREFETCH_BATCHES = 8
"""Batches prepared ahead on a GPU, so that it never waits for one."""
VALIDATION_BATCH_WINDOWS = 1024
"""Windows per validation batch: without gradients they need little memory."""


def train_forecasting(
    run: ForecastingRun,
    out: Path,
    console: Console,
    render_curves: CurvesRenderer | None = None,
    custom: Customization = NO_CUSTOMIZATION,
) -> TrainingResult:
    """Read the table, train, and write the best model to `out`/model.

    `render_curves` draws the training curves that are stored with the model.
    """

    def make_task(checkpoint: ResumePoint | None) -> ForecastingTask:
        data = prepare_forecasting_data(run.data, run.model.history, run.model.horizon)
        return ForecastingTask(resolve_device(run, checkpoint and checkpoint.folder), data, custom)

    return train_and_publish(
        run, out, console, lambda: hash_series_file(run.data), make_task, render_curves, custom
    )


class ForecastingTask:
    """Forecasting as the training loop sees it: implements `train.harness.TrainingTask`."""

    def __init__(
        self, run: ForecastingRun, data: ForecastingData, custom: Customization = NO_CUSTOMIZATION
    ) -> None:
        """Build the model with the channels and calendar features that the table gives."""
        metadata = data.metadata
        channels = len(metadata.columns) if run.data.together else 1
        features = 2 * len(metadata.cycles)
        self._run = replace(run, model=replace(run.model, channels=channels, calendar=features))
        self.data = data
        torch.manual_seed(run.train.seed)
        device = choose_device(run.compute.device)
        self._custom, self._custom_loss = custom, custom.loss_on(device)
        self.model = custom.build(TransformerForecaster, self._run.model).to(device)
        self.setup = TrainingSetup(self._run, self.model, speed_unit="values")
        self._device = self.setup.device

    @property
    def card_text(self) -> CardText:
        return CardText(
            task_verb="forecast",
            unit="rows",
            usage_command="regard forecast THIS_FOLDER data.csv -o forecast.csv",
            evaluation="errors in units of each series' standard deviation over the training rows",
            score_names={"mse": "MSE", "mae": "MAE", "loss": "loss: MSE and the quantiles' pinball loss"},
            score_digits=4,
        )

    def describe(self) -> Iterator[str]:
        """Yield the lines printed before training: model, data, device and length."""
        model = self._run.model
        layers = f"{model.encoder_layers}+{model.decoder_layers} layers"
        sizes = f"{layers}, d_model {model.d_model}, {model.heads} heads"
        patches = f"{model.history} steps in {model.history_patches} patches"
        yield from format_header(
            [
                ("model", f"{sizes}: {self.setup.parameter_count:,} parameters"),
                ("", f"history {patches}, horizon {model.horizon} steps"),
            ]
        )
        yield from self.data.describe()
        yield from self.setup.describe(
            f"{self._run.data.batch_windows * self._run.train.accumulate:,} windows"
        )

    def run_metadata(self) -> dict[str, object]:
        """Return the titles of the training curves."""
        return {"loss_title": "Loss, standardised units", "scores": {"mse": "MSE", "mae": "MAE"}}

    def write_data_report(self, out: Path) -> None:
        write_series_report(out, self.data)

    def calibrate(self, folder: Path) -> Mapping[str, object]:  # noqa: ARG002
        """Return nothing; a forecaster has no measurements besides its metrics."""
        return {}

    def set_schedule(self, schedule: Schedule) -> None:
        self._run = replace(self._run, optimizer=schedule.optimizer, train=schedule.train)
        self.setup = replace(self.setup, run=self._run)

    def make_step(self, learner: Learner) -> TrainStep[SeriesBatch]:
        return EagerStep(self, learner, self._run.train.seed, self._run.train.clip)

    def batches(self, start: DataPosition) -> Iterator[tuple[SeriesBatch, DataPosition]]:
        batches = self._batches(start)
        return prefetch_items(batches, PREFETCH_BATCHES) if self._device.type == "cuda" else batches

    def _batches(self, start: DataPosition) -> Iterator[tuple[SeriesBatch, DataPosition]]:
        windows, seed = self.data.train, self._run.train.seed
        for indexes, position in stream_batches(windows, self._token_budget, seed, StreamPosition(**start)):
            yield windows.batch(indexes), asdict(position)

    def count_epoch_batches(self) -> int:
        return count_epoch_batches(self.data.train, self._token_budget, self._run.train.seed)

    @property
    def _token_budget(self) -> TokenBudget:
        size, model = self._run.data.batch_windows, self._run.model
        longest = 1 + max(model.history, model.horizon)
        return TokenBudget(size * longest, size, sort_by_length=False)

    def batch_counts(self, batch: SeriesBatch) -> BatchCounts:
        return BatchCounts(batch.history.numel(), batch.target.numel())

    def loss(self, batch: SeriesBatch) -> Tensor:
        batch = batch.to(self._device)
        with self.setup.autocast():
            prediction = self.model(batch.history, batch.past_features, batch.future_features, batch.target)
            return self._loss(prediction.float(), batch.target)

    def _loss(
        self,
        prediction: Float[Tensor, "batch horizon channels outputs"],
        target: Float[Tensor, "batch horizon channels"],
    ) -> Float[Tensor, ""]:
        if self._custom_loss is not None:
            return sum_custom_loss(self._custom_loss, prediction, target)
        return forecast_loss(prediction, target, self._run.model.quantiles, self._run.loss)

    def locate_lines(self, batch: SeriesBatch) -> list[FileLines]:
        return self.data.source_lines(batch.window_indices)

    def fingerprint(self) -> Mapping[str, str]:
        return self.data.fingerprint

    @torch.no_grad()
    def validate(self) -> ValidationResult:
        """Return the training loss, and MSE and MAE of the mean, over the validation windows."""
        self.model.eval()
        windows = self.data.valid
        indexes = evenly_spaced_indices(windows.epoch_size, self._run.data.valid_windows)
        sums, values = torch.zeros(3, dtype=torch.float64), 0
        for first in range(0, len(indexes), VALIDATION_BATCH_WINDOWS):
            batch = windows.batch(indexes[first : first + VALIDATION_BATCH_WINDOWS]).to(self._device)
            with self.setup.autocast():
                prediction = self.model.forecast(batch.history, batch.past_features, batch.future_features)
                prediction = prediction.float()
            loss = self._loss(prediction, batch.target)
            error = prediction[..., 0] - batch.target
            sums += torch.stack([loss, error.square().sum(), error.abs().sum()]).double().cpu()
            values += error.numel()
        loss, squared, absolute = (sums / values).tolist()
        return ValidationResult({"loss": loss, "mse": squared, "mae": absolute})

    def save(self, folder: Path) -> dict[str, Any]:
        data, files = self.data, dict(self.data.fingerprint)
        facts = {
            "parameters": self.setup.parameter_count,
            "trained_on": {"rows": len(data.split.train), "files": files, "left_out": {}},
            "validated_on": {"rows": len(data.split.valid), "files": files, "left_out": {}},
            **self._custom.manifest_entries,
        }
        return write_forecaster_files(folder, self.model, data.metadata, to_toml(self._run), facts)


def evenly_spaced_indices(count: int, max_count: int | None) -> np.ndarray:
    """Return at most `max_count` evenly spaced indexes below `count`."""
    if max_count is None or count <= max_count:
        return np.arange(count)
    return np.linspace(0, count - 1, max_count).round().astype(np.int64)


def forecast_loss(
    prediction: Float[Tensor, "batch horizon channels outputs"],
    target: Float[Tensor, "batch horizon channels"],
    quantiles: tuple[float, ...],
    config: ForecastLossConfig,
) -> Float[Tensor, ""]:
    """Return the point loss plus the weighted mean pinball loss of the quantiles, summed over the values."""
    loss = _point_loss(prediction[..., 0], target, config.point)
    if quantiles and config.pinball:
        loss = loss + config.pinball * pinball_loss(prediction[..., 1:], target, quantiles) / len(quantiles)
    return loss


def pinball_loss(
    prediction: Float[Tensor, "batch horizon channels quantiles"],
    target: Float[Tensor, "batch horizon channels"],
    quantiles: tuple[float, ...],
) -> Float[Tensor, ""]:
    """Return the pinball loss summed over values and quantiles; its minimum is at the true quantiles."""
    losses = []
    for level, quantile in zip(quantiles, prediction.unbind(-1), strict=True):
        error = target - quantile
        losses.append(torch.maximum(level * error, (level - 1) * error).sum())
    return torch.stack(losses).sum()


def _point_loss(prediction: Tensor, target: Tensor, kind: PointLoss) -> Tensor:
    match kind:
        case "squared":
            return functional.mse_loss(prediction, target, reduction="sum")
        case "absolute":
            return functional.l1_loss(prediction, target, reduction="sum")
        case "huber":
            return functional.huber_loss(prediction, target, reduction="sum")
        case _:
            assert_never(kind)
