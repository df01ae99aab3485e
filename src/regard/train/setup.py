"""Course: how a model is trained, whatever it is for: on which device, how exactly, how fast, how long."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Protocol, TypeVar, runtime_checkable

import torch
from torch import nn

from regard.train.device import (
    NAMES,
    ComputeConfig,
    choose_device,
    choose_precision,
    computing_in,
    device_name,
)
from regard.train.logs.console import header
from regard.train.loop import TrainConfig
from regard.train.model_files import read_section
from regard.train.optimizer import Ema, OptimizerConfig, adam, learning_rate
from regard.train.step import Learner

PLANNED = 200
"""Points of the planned learning rate that are recorded."""


@runtime_checkable
class SizedModel(Protocol):
    """What the optimizer's schedule must know of a model's settings."""

    @property
    def d_model(self) -> int: ...


@runtime_checkable
class TaskRun(Protocol):
    """The sections that the settings of every run have, each task beside its own."""

    task: ClassVar[str]

    @property
    def model(self) -> SizedModel: ...

    @property
    def optimizer(self) -> OptimizerConfig: ...

    @property
    def train(self) -> TrainConfig: ...

    @property
    def compute(self) -> ComputeConfig: ...


Run = TypeVar("Run", bound=TaskRun)


@dataclass(frozen=True)
class Course:
    """A model and what moves it."""

    run: TaskRun
    model: nn.Module
    """On its device already."""
    unit: str = "tok"
    """What the speed is counted in."""
    perplexity: bool = False
    """Whether the loss is that of a next token, whose perplexity says something."""

    @property
    def device(self) -> torch.device:
        return choose_device(self.run.compute.device)

    @property
    def precision(self) -> torch.dtype:
        return choose_precision(self.run.compute.precision, self.device)

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())

    @property
    def device_said(self) -> str:
        return device_name(self.device)

    @property
    def precision_said(self) -> str:
        return str(self.precision).removeprefix("torch.")

    def computing(self) -> AbstractContextManager[object]:
        """Within, products are computed in the run's precision."""
        return computing_in(self.precision, self.device)

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        run = self.run
        return learning_rate(step, run.train.steps, run.model.d_model, run.optimizer)

    def learner(self) -> Learner:
        """The model, and what will move it."""
        decay = self.run.train.ema
        ema = None if decay is None else Ema(self.model, decay)
        return Learner(self.model, adam(self.model, self.run.optimizer), ema)

    def plan(self, amount: str) -> Iterator[str]:
        """Device and length, for the person who asked for it; `amount` is what a step sees."""
        train = self.run.train
        limit = "" if train.minutes is None else f", at most {train.minutes:g} minutes"
        steps = f"{train.steps:,} steps of {amount}{limit}; Ctrl-C stops and saves"
        yield from header([("device", f"{self.device_said}, {self.precision_said}"), ("plan", steps)])

    def facts(self, name: str) -> dict[str, object]:
        """What stays the same over the run, for whoever draws its curves."""
        run, steps, optimizer = self.run, self.run.train.steps, self.run.optimizer
        points = {1, optimizer.warmup, steps - (optimizer.cooldown or 0), steps}
        points |= {1 + steps * i // PLANNED for i in range(PLANNED)}
        planned = [
            [step, float(f"{learning_rate(step, steps, run.model.d_model, optimizer):.6g}")]
            for step in sorted(points)
            if 1 <= step <= steps
        ]
        return {
            "name": name,
            "parameters": self.parameters,
            "device": self.device_said,
            "precision": self.precision_said,
            "steps": steps,
            "d_model": run.model.d_model,
            "peak": optimizer.peak or (run.model.d_model * optimizer.warmup) ** -0.5,
            "warmup": optimizer.warmup,
            "cooldown": optimizer.cooldown,
            "planned": planned,
            "clip": run.train.clip,
        }


def with_device(run: Run, begun: Path | None) -> Run:
    """The run with device and precision as they will be; one that goes on keeps what its checkpoint has."""
    compute = run.compute
    if begun is not None:
        kept = read_section(begun, ComputeConfig, "compute")
        compute = replace(compute, device=kept.device, precision=kept.precision)
    device = choose_device(compute.device)
    precision = NAMES[choose_precision(compute.precision, device)]
    return with_sections(run, compute=replace(compute, device=device.type, precision=precision))


def with_sections(run: Run, **sections: object) -> Run:
    """The run with these sections in place of its own; runs are dataclasses, which no protocol can say."""
    return replace(run, **sections)  # pyright: ignore[reportArgumentType, reportCallIssue]
