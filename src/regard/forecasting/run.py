"""Forecasting, from a table with a time column to a model folder."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from rich.console import Console
from torch import Tensor

from regard.config import to_toml
from regard.data.prefetch import ahead
from regard.data.stream import BatchPlan, stream
from regard.data.stream import Position as Place
from regard.errors import require
from regard.forecasting.dataset import Tables, fingerprints, prepare, write_report
from regard.forecasting.model_folder import TASK, fill_forecaster
from regard.forecasting.series.config import SeriesConfig
from regard.forecasting.series.windows import SeriesBatch
from regard.forecasting.task import ForecastLossConfig, forecast_loss
from regard.model.forecaster import Forecaster, ForecasterConfig
from regard.train.device import ComputeConfig, choose_device
from regard.train.harness import train_run
from regard.train.logs.console import header
from regard.train.loop import Outcome, TrainConfig
from regard.train.model_card import Draw, Words
from regard.train.optimizer import OptimizerConfig
from regard.train.setup import Course, with_device
from regard.train.step import EagerStep, Learner, Step
from regard.train.task import Counts, Lines, Position, Validation

AHEAD = 8
"""Batches that lie ready for a GPU, so that it never waits for one."""
AT_ONCE = 1024
"""Windows that are judged together: without gradients they take little room."""


@dataclass(frozen=True)
class ForecastRun:
    """All settings of a run, one TOML section each."""

    task: ClassVar[str] = TASK
    model: ForecasterConfig = field(default_factory=ForecasterConfig)
    data: SeriesConfig = field(default_factory=SeriesConfig)
    optimizer: OptimizerConfig = field(
        default_factory=lambda: OptimizerConfig(warmup=100, peak=1e-3, cooldown=600, weight_decay=0.01)
    )
    loss: ForecastLossConfig = field(default_factory=ForecastLossConfig)
    train: TrainConfig = field(
        default_factory=lambda: TrainConfig(steps=800, save_every=50, clip=1.0, ema=0.99)
    )
    compute: ComputeConfig = field(default_factory=lambda: ComputeConfig(precision="fp32"))
    """In fp32: the digits of a series matter, and such models are small."""

    def __post_init__(self) -> None:
        judge = self.train.judge
        require(judge == "loss", "train.judge", judge, "a forecast is judged by its loss")


def train_forecasting(run: ForecastRun, out: Path, console: Console, draw: Draw | None = None) -> Outcome:
    """Reads the table, trains, and leaves the best model in `out`/model; `draw` makes its curves."""

    def make(begun: Path | None) -> ForecastTask:
        return ForecastTask(with_device(run, begun), prepare(run.data, run.model.history, run.model.horizon))

    return train_run(run, out, console, lambda: fingerprints(run.data), make, draw)


class ForecastTask:
    """Forecasting as the training loop sees it: satisfies `tasks.training.Task`."""

    def __init__(self, run: ForecastRun, tables: Tables) -> None:
        """How many series are read as one, and what is known of a time, the table decides."""
        known = tables.known
        channels = len(known.columns) if run.data.together else 1
        self._run = replace(run, model=replace(run.model, channels=channels, calendar=2 * len(known.cycles)))
        self.tables = tables
        torch.manual_seed(run.train.seed)
        self.model = Forecaster(self._run.model).to(choose_device(run.compute.device))
        self.course = Course(self._run, self.model, unit="values")
        self._device = self.course.device

    @property
    def words(self) -> Words:
        return Words(
            learnt="forecast",
            unit="rows",
            command="regard forecast THIS_FOLDER data.csv -o forecast.csv",
            judged="errors in units of each series' standard deviation over the training rows",
            scores={"mse": "MSE", "mae": "MAE", "loss": "loss: MSE and the quantiles' pinball loss"},
            digits=4,
        )

    def plan(self) -> Iterator[str]:
        """What is about to happen, for the person who asked for it."""
        model = self._run.model
        size = (
            f"{model.encoder_layers}+{model.decoder_layers} layers, {model.d_model} wide, {model.heads} heads"
        )
        yield from header(
            [
                ("model", f"{size}: {self.course.parameters:,} parameters"),
                ("", f"sees {model.history} steps in {model.seen} patches, foretells {model.horizon}"),
            ]
        )
        yield from self.tables.plan()
        yield from self.course.plan(f"{self._run.data.batch_windows * self._run.train.accumulate:,} windows")

    def facts(self) -> dict[str, object]:
        """What its curves are called."""
        return {"loss_title": "Loss, standardised units", "scores": {"mse": "MSE", "mae": "MAE"}}

    def write_report(self, out: Path) -> None:
        write_report(out, self.tables)

    def step(self, learner: Learner) -> Step[SeriesBatch]:
        return EagerStep(self, learner, self._run.train.seed, self._run.train.clip)

    def batches(self, start: Position) -> Iterator[tuple[SeriesBatch, Position]]:
        batches = self._batches(start)
        return ahead(batches, AHEAD) if self._device.type == "cuda" else batches

    def _batches(self, start: Position) -> Iterator[tuple[SeriesBatch, Position]]:
        windows, size = self.tables.train, self._run.data.batch_windows
        longest = 1 + max(self._run.model.history, self._run.model.horizon)
        plan = BatchPlan(size * longest, size, sort=False)
        for numbers, after in stream(windows, plan, self._run.train.seed, Place(**start)):
            yield windows.batch(numbers), asdict(after)

    def counts(self, batch: SeriesBatch) -> Counts:
        return Counts(batch.history.numel(), batch.target.numel())

    def loss(self, batch: SeriesBatch) -> Tensor:
        batch = batch.to(self._device)
        with self.course.computing():
            foretold = self.model(batch.history, batch.past, batch.future, batch.target)
            return forecast_loss(foretold.float(), batch.target, self._run.model.quantiles, self._run.loss)

    def where(self, batch: SeriesBatch) -> list[Lines]:
        return self.tables.lines_of(batch.windows)

    def fingerprint(self) -> Mapping[str, str]:
        return self.tables.fingerprint

    @torch.no_grad()
    def validate(self) -> Validation:
        """The loss as it is trained on, and the errors of the mean, over the validation windows."""
        self.model.eval()
        valid, most = self.tables.valid, self._run.data.valid_windows
        numbers = evenly(valid.turns, most)
        sums, values = torch.zeros(3, dtype=torch.float64), 0
        for first in range(0, len(numbers), AT_ONCE):
            batch = valid.batch(numbers[first : first + AT_ONCE]).to(self._device)
            with self.course.computing():
                foretold = self.model.forecast(batch.history, batch.past, batch.future).float()
            loss = forecast_loss(foretold, batch.target, self._run.model.quantiles, self._run.loss)
            error = foretold[..., 0] - batch.target
            sums += torch.stack([loss, error.square().sum(), error.abs().sum()]).double().cpu()
            values += error.numel()
        loss, squared, absolute = (sums / values).tolist()
        return Validation({"loss": loss, "mse": squared, "mae": absolute})

    def save(self, folder: Path) -> dict[str, Any]:
        tables, files = self.tables, dict(self.tables.fingerprint)
        facts = {
            "parameters": self.course.parameters,
            "trained_on": {"rows": len(tables.parts.train), "files": files, "left_out": {}},
            "validated_on": {"rows": len(tables.parts.valid), "files": files, "left_out": {}},
        }
        return fill_forecaster(folder, self.model, tables.known, to_toml(self._run), facts)


def evenly(count: int, most: int | None) -> np.ndarray:
    """Numbers below `count`, all or as many as `most`, as far apart as can be."""
    if most is None or count <= most:
        return np.arange(count)
    return np.linspace(0, count - 1, most).round().astype(np.int64)
