"""Setup of a training, for any task: model, device, precision, optimizer and learning rate schedule."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import torch
from torch import nn

from regard.training.device import (
    PRECISION_NAMES,
    ComputeConfig,
    autocast_to,
    choose_device,
    choose_precision,
    describe_device,
)
from regard.training.logs.console import format_header
from regard.training.loop import TrainConfig
from regard.training.model_files import read_config_section
from regard.training.optimizer import Ema, OptimizerConfig, build_optimizer, learning_rate
from regard.training.step import Learner

SCHEDULE_POINTS = 200
"""Points of the learning rate schedule that are recorded for its curve."""


@runtime_checkable
class SizedModel(Protocol):
    """Model settings as far as the learning rate schedule needs them."""

    @property
    def d_model(self) -> int: ...


@runtime_checkable
class RunConfig(Protocol):
    """Sections that the settings of every run have, whatever its task."""

    task: ClassVar[str]

    @property
    def model(self) -> SizedModel: ...

    @property
    def optimizer(self) -> OptimizerConfig: ...

    @property
    def train(self) -> TrainConfig: ...

    @property
    def compute(self) -> ComputeConfig: ...


RunConfigT = TypeVar("RunConfigT", bound=RunConfig)


@dataclass(frozen=True)
class Schedule:
    """Optimizer and training settings that fit one number of steps."""

    optimizer: OptimizerConfig
    train: TrainConfig

    @property
    def last_step_before_cooldown(self) -> int | None:
        """The last step whose learning rate does not depend on the end; None without a cooldown."""
        cooldown = self.optimizer.cooldown
        return None if cooldown is None else max(0, self.train.steps + 1 - cooldown)

    def describe(self) -> str:
        """Return steps, warm-up and cooldown as text."""
        cooldown = self.optimizer.cooldown
        end = "no cooldown" if cooldown is None else f"cooldown {min(cooldown, self.train.steps):,}"
        return f"{self.train.steps:,} steps, warm-up {self.optimizer.warmup:,}, {end}"


@dataclass(frozen=True)
class TrainingSetup:
    """A model, and how it is trained."""

    run: RunConfig
    model: nn.Module
    """On its device."""
    speed_unit: str = "tok"
    """Unit of the training speed, per second."""
    has_perplexity: bool = False
    """Whether the loss is per token, so that perplexity is meaningful."""

    @property
    def schedule(self) -> Schedule:
        return Schedule(self.run.optimizer, self.run.train)

    @property
    def device(self) -> torch.device:
        return choose_device(self.run.compute.device)

    @property
    def precision(self) -> torch.dtype:
        return choose_precision(self.run.compute.precision, self.device)

    @property
    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())

    @property
    def device_description(self) -> str:
        return describe_device(self.device)

    @property
    def precision_name(self) -> str:
        return str(self.precision).removeprefix("torch.")

    def autocast(self) -> AbstractContextManager[object]:
        """Compute matrix products in the run's precision while entered."""
        return autocast_to(self.precision, self.device)

    def learning_rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        run = self.run
        return learning_rate(step, run.train.steps, run.model.d_model, run.optimizer)

    def build_learner(self) -> Learner:
        """Return the model with its optimizer and averaged weights."""
        decay = self.run.train.ema
        ema = None if decay is None else Ema(self.model, decay)
        return Learner(self.model, build_optimizer(self.model, self.run.optimizer), ema)

    def describe(self, step_size: str) -> Iterator[str]:
        """Yield lines on the device and the number of steps; `step_size` is the amount of data per step."""
        train = self.run.train
        limit = "" if train.minutes is None or train.needs_plan else f", at most {train.minutes:g} minutes"
        steps = f"{train.steps:,} steps of {step_size}{limit}; Ctrl-C stops and saves"
        yield from format_header(
            [("device", f"{self.device_description}, {self.precision_name}"), ("train", steps)]
        )

    def run_metadata(self, name: str) -> dict[str, object]:
        """Return the constants of the run that are recorded with its curves."""
        run, steps, optimizer = self.run, self.run.train.steps, self.run.optimizer
        points = {1, optimizer.warmup, steps - (optimizer.cooldown or 0), steps}
        points |= {1 + steps * i // SCHEDULE_POINTS for i in range(SCHEDULE_POINTS)}
        planned = [
            [step, float(f"{learning_rate(step, steps, run.model.d_model, optimizer):.6g}")]
            for step in sorted(points)
            if 1 <= step <= steps
        ]
        return {
            "name": name,
            "parameters": self.parameter_count,
            "device": self.device_description,
            "precision": self.precision_name,
            "steps": steps,
            "d_model": run.model.d_model,
            "peak": optimizer.peak or (run.model.d_model * optimizer.warmup) ** -0.5,
            "warmup": optimizer.warmup,
            "cooldown": optimizer.cooldown,
            "planned": planned,
            "clip": run.train.clip,
        }


def resolve_device(run: RunConfigT, checkpoint: Path | None) -> RunConfigT:
    """Return the run with its actual device and precision; a resumed run keeps those of its checkpoint.

    It keeps its schedule, too: what was planned when it started.
    """
    compute = run.compute
    if checkpoint is not None:
        before = read_config_section(checkpoint, ComputeConfig, "compute")
        compute = replace(compute, device=before.device, precision=before.precision)
        run = _restore_schedule(run, checkpoint)
    device = choose_device(compute.device)
    precision = PRECISION_NAMES[choose_precision(compute.precision, device)]
    return replace_sections(run, compute=replace(compute, device=device.type, precision=precision))


def _restore_schedule(run: RunConfigT, checkpoint: Path) -> RunConfigT:
    """Return the run with the planned settings of a checkpoint."""
    train = read_config_section(checkpoint, TrainConfig, "train")
    optimizer = read_config_section(checkpoint, OptimizerConfig, "optimizer")
    planned: dict[str, dict[str, Any]] = {"train": {}, "optimizer": {}}
    for name in run.train.planned:
        section, _, key = name.partition(".")
        planned[section][key] = getattr(train if section == "train" else optimizer, key)
    if run.train.needs_plan:
        planned["train"]["steps"] = train.steps
    return replace_sections(
        run,
        train=replace(run.train, **planned["train"]),
        optimizer=replace(run.optimizer, **planned["optimizer"]),
    )


def replace_sections(run: RunConfigT, **sections: object) -> RunConfigT:
    """Return the run with these sections replaced; runs are dataclasses, which a protocol cannot express."""
    return replace(run, **sections)  # pyright: ignore[reportArgumentType, reportCallIssue]
