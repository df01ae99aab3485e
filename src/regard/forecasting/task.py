"""Forecasting as a training task: from a table with a time column to a model folder."""

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
from regard.data.stream import StreamPosition as Place
from regard.data.stream import TokenBudget, stream_batches
from regard.forecasting.dataset import (
    ForecastingData,
    hash_series_file,
    prepare_forecasting_data,
    write_series_report,
)
from regard.forecasting.model_folder import write_forecaster_files
from regard.forecasting.run import ForecastingRun, ForecastLossConfig, PointLoss
from regard.forecasting.series.windows import SeriesBatch
from regard.model.forecaster import TransformerForecaster
from regard.train.device import choose_device
from regard.train.harness import train_and_publish
from regard.train.logs.console import format_header
from regard.train.loop import TrainingResult
from regard.train.model_card import CardText, CurvesRenderer
from regard.train.setup import TrainingSetup, resolve_device
from regard.train.step import EagerStep, Learner, TrainStep
from regard.train.task import BatchCounts, DataPosition, FileLines, ValidationResult

PREFETCH_BATCHES = 8
"""Batches that lie ready for a GPU, so that it never waits for one."""
VALIDATION_BATCH_WINDOWS = 1024
"""Windows that are judged together: without gradients they take little room."""


def train_forecasting(
    run: ForecastingRun, out: Path, console: Console, render_curves: CurvesRenderer | None = None
) -> TrainingResult:
    """Reads the table, trains, and leaves the best model in `out`/model; `draw` makes its curves."""

    def make(begun: Path | None) -> ForecastingTask:
        return ForecastingTask(
            resolve_device(run, begun),
            prepare_forecasting_data(run.data, run.model.history, run.model.horizon),
        )

    return train_and_publish(run, out, console, lambda: hash_series_file(run.data), make, render_curves)


class ForecastingTask:
    """Forecasting as the training loop sees it: satisfies `tasks.training.Task`."""

    def __init__(self, run: ForecastingRun, data: ForecastingData) -> None:
        """How many series are read as one, and what is known of a time, the table decides."""
        known = data.metadata
        channels = len(known.columns) if run.data.together else 1
        self._run = replace(run, model=replace(run.model, channels=channels, calendar=2 * len(known.cycles)))
        self.data = data
        torch.manual_seed(run.train.seed)
        self.model = TransformerForecaster(self._run.model).to(choose_device(run.compute.device))
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
        """What is about to happen, for the person who asked for it."""
        model = self._run.model
        size = (
            f"{model.encoder_layers}+{model.decoder_layers} layers, {model.d_model} wide, {model.heads} heads"
        )
        yield from format_header(
            [
                ("model", f"{size}: {self.setup.parameter_count:,} parameters"),
                (
                    "",
                    f"sees {model.history} steps in {model.history_patches} patches, foretells {model.horizon}",
                ),
            ]
        )
        yield from self.data.describe()
        yield from self.setup.describe(
            f"{self._run.data.batch_windows * self._run.train.accumulate:,} windows"
        )

    def run_metadata(self) -> dict[str, object]:
        """What its curves are called."""
        return {"loss_title": "Loss, standardised units", "scores": {"mse": "MSE", "mae": "MAE"}}

    def write_data_report(self, out: Path) -> None:
        write_series_report(out, self.data)

    def make_step(self, learner: Learner) -> TrainStep[SeriesBatch]:
        return EagerStep(self, learner, self._run.train.seed, self._run.train.clip)

    def batches(self, start: DataPosition) -> Iterator[tuple[SeriesBatch, DataPosition]]:
        batches = self._batches(start)
        return prefetch_items(batches, PREFETCH_BATCHES) if self._device.type == "cuda" else batches

    def _batches(self, start: DataPosition) -> Iterator[tuple[SeriesBatch, DataPosition]]:
        windows, size = self.data.train, self._run.data.batch_windows
        longest = 1 + max(self._run.model.history, self._run.model.horizon)
        plan = TokenBudget(size * longest, size, sort_by_length=False)
        for numbers, after in stream_batches(windows, plan, self._run.train.seed, Place(**start)):
            yield windows.batch(numbers), asdict(after)

    def batch_counts(self, batch: SeriesBatch) -> BatchCounts:
        return BatchCounts(batch.history.numel(), batch.target.numel())

    def loss(self, batch: SeriesBatch) -> Tensor:
        batch = batch.to(self._device)
        with self.setup.autocast():
            foretold = self.model(batch.history, batch.past_features, batch.future_features, batch.target)
            return forecast_loss(foretold.float(), batch.target, self._run.model.quantiles, self._run.loss)

    def locate_lines(self, batch: SeriesBatch) -> list[FileLines]:
        return self.data.source_lines(batch.window_indices)

    def fingerprint(self) -> Mapping[str, str]:
        return self.data.fingerprint

    @torch.no_grad()
    def validate(self) -> ValidationResult:
        """The loss as it is trained on, and the errors of the mean, over the validation windows."""
        self.model.eval()
        valid, most = self.data.valid, self._run.data.valid_windows
        numbers = evenly_spaced_indices(valid.epoch_size, most)
        sums, values = torch.zeros(3, dtype=torch.float64), 0
        for first in range(0, len(numbers), VALIDATION_BATCH_WINDOWS):
            batch = valid.batch(numbers[first : first + VALIDATION_BATCH_WINDOWS]).to(self._device)
            with self.setup.autocast():
                foretold = self.model.forecast(
                    batch.history, batch.past_features, batch.future_features
                ).float()
            loss = forecast_loss(foretold, batch.target, self._run.model.quantiles, self._run.loss)
            error = foretold[..., 0] - batch.target
            sums += torch.stack([loss, error.square().sum(), error.abs().sum()]).double().cpu()
            values += error.numel()
        loss, squared, absolute = (sums / values).tolist()
        return ValidationResult({"loss": loss, "mse": squared, "mae": absolute})

    def save(self, folder: Path) -> dict[str, Any]:
        tables, files = self.data, dict(self.data.fingerprint)
        facts = {
            "parameters": self.setup.parameter_count,
            "trained_on": {"rows": len(tables.split.train), "files": files, "left_out": {}},
            "validated_on": {"rows": len(tables.split.valid), "files": files, "left_out": {}},
        }
        return write_forecaster_files(folder, self.model, tables.metadata, to_toml(self._run), facts)


def evenly_spaced_indices(count: int, max_count: int | None) -> np.ndarray:
    """Numbers below `count`, all or as many as `most`, as far apart as can be."""
    if max_count is None or count <= max_count:
        return np.arange(count)
    return np.linspace(0, count - 1, max_count).round().astype(np.int64)


def forecast_loss(
    prediction: Float[Tensor, "batch horizon channels outputs"],
    target: Float[Tensor, "batch horizon channels"],
    quantiles: tuple[float, ...],
    config: ForecastLossConfig,
) -> Float[Tensor, ""]:
    """The sum over values of the point's error and of the quantiles' mean pinball loss."""
    loss = _point_loss(prediction[..., 0], target, config.point)
    if quantiles and config.pinball:
        loss = loss + config.pinball * pinball_loss(prediction[..., 1:], target, quantiles) / len(quantiles)
    return loss


def pinball_loss(
    prediction: Float[Tensor, "batch horizon channels quantiles"],
    target: Float[Tensor, "batch horizon channels"],
    quantiles: tuple[float, ...],
) -> Float[Tensor, ""]:
    """The sum over values and quantiles; least where each share of the values lies below its quantile."""
    losses = []
    for share, quantile in zip(quantiles, prediction.unbind(-1), strict=True):
        error = target - quantile
        losses.append(torch.maximum(share * error, (share - 1) * error).sum())
    return torch.stack(losses).sum()


def _point_loss(foretold: Tensor, target: Tensor, kind: PointLoss) -> Tensor:
    match kind:
        case "squared":
            return functional.mse_loss(foretold, target, reduction="sum")
        case "absolute":
            return functional.l1_loss(foretold, target, reduction="sum")
        case "huber":
            return functional.huber_loss(foretold, target, reduction="sum")
        case _:
            assert_never(kind)
