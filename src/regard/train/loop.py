"""Trainable, and the loop over it: loss, gradient, step, and now and then a look at the validation part."""

import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

from regard.errors import ConfigError, RegardError
from regard.train.interrupt import Interrupt
from regard.train.log import Log

Batch = TypeVar("Batch")
Ending = Literal["steps", "minutes", "interrupt"]


@dataclass(frozen=True)
class TrainConfig:
    """How long to train and what to keep of it."""

    steps: int = 10_000
    minutes: float | None = None
    """Stop after this long even if steps are left; none is no limit."""
    save_every: int = 1000
    """Steps between validations, each of which writes a checkpoint."""
    keep: int = 2
    """Checkpoints kept, and the best besides."""
    log_every: int = 20
    """Steps between lines of metrics.jsonl."""
    label_smoothing: float = 0.1
    clip: float | None = None
    """Longest gradient allowed; none, as in the paper, is any."""
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("steps", "save_every", "keep", "log_every"):
            _require(getattr(self, name) >= 1, name, getattr(self, name), "it must be at least 1")
        for name in ("minutes", "clip"):
            value = getattr(self, name)
            _require(value is None or value > 0, name, value, "it must be more than 0, or none")
        smoothing = self.label_smoothing
        _require(0 <= smoothing < 1, "label_smoothing", smoothing, "it must be at least 0, below 1")
        _require(self.seed >= 0, "seed", self.seed, "it must be 0 or more")


@dataclass(frozen=True)
class Validation:
    """How good the model is now: `metrics` has at least `loss`; the sample is for a person to read."""

    metrics: Mapping[str, float]
    sample: str = ""


@runtime_checkable
class Trainable(Protocol[Batch]):
    """All that the loop asks of a task."""

    @property
    def model(self) -> nn.Module: ...

    def batches(self) -> Iterator[Batch]:
        """Batches without end."""
        ...

    def loss(self, batch: Batch) -> tuple[Tensor, int]:
        """The loss summed over what counts, and how many count."""
        ...

    def validate(self) -> Validation: ...

    def save(self, folder: Path, step: int, metrics: Mapping[str, float]) -> None:
        """Writes the model as it is now."""
        ...


@dataclass(frozen=True)
class Outcome:
    """The best checkpoint, and why training ended."""

    best: Path
    step: int
    metrics: Mapping[str, float]
    ending: Ending


def train(
    task: Trainable[Batch],
    folder: Path,
    config: TrainConfig,
    optimizer: torch.optim.Optimizer,
    rate: Callable[[int], float],
    log: Log,
) -> Outcome:
    """Trains until steps or minutes are over or someone interrupts; validates and saves before it leaves."""
    task.model.train()
    best: Outcome | None = None
    loss, tokens, since = 0.0, 0, time.monotonic()
    with Interrupt() as interrupt:
        for step, batch in enumerate(task.batches(), start=1):
            torch.manual_seed(_key(config.seed, step))
            batch_loss, batch_tokens = task.loss(batch)
            _update(task.model, batch_loss / batch_tokens, optimizer, rate(step), config.clip)
            loss, tokens = loss + batch_loss.detach(), tokens + batch_tokens
            ending = _ending(step, config, log.seconds, interrupt)
            if ending or step % config.log_every == 0:
                mean = _finite(float(loss) / tokens, step)
                log.stepped(step, mean, rate(step), tokens / (time.monotonic() - since))
                loss, tokens, since = 0.0, 0, time.monotonic()
            if ending or step % config.save_every == 0:
                best = _keep_better(best, _checkpoint(task, folder, step, ending or "steps", log))
                _prune(folder, best.best, config.keep)
                since = time.monotonic()
            if ending and best:
                return replace(best, ending=ending)
    raise RegardError("there is nothing to train on")


def _update(
    model: nn.Module, loss: Tensor, optimizer: torch.optim.Optimizer, rate: float, clip: float | None
) -> None:
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    if clip is not None:
        nn.utils.clip_grad_norm_(model.parameters(), clip)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()


def _checkpoint(task: Trainable[Batch], folder: Path, step: int, ending: Ending, log: Log) -> Outcome:
    if ending == "interrupt":
        log.note("stopping; the model is saved first (Ctrl-C again leaves at once, without saving)")
    validation = task.validate()
    task.model.train()
    log.validated(step, validation.metrics, validation.sample)
    path = folder / f"step-{step:06}"
    task.save(path, step, validation.metrics)
    return Outcome(path, step, validation.metrics, ending)


def _keep_better(best: Outcome | None, new: Outcome) -> Outcome:
    return new if best is None or new.metrics["loss"] < best.metrics["loss"] else best


def _prune(folder: Path, best: Path, keep: int) -> None:
    for path in sorted(folder.glob("step-*"))[:-keep]:
        if path != best:
            shutil.rmtree(path)


def _ending(step: int, config: TrainConfig, seconds: float, interrupt: Interrupt) -> Ending | None:
    if interrupt.asked:
        return "interrupt"
    if step >= config.steps:
        return "steps"
    if config.minutes is not None and seconds >= config.minutes * 60:
        return "minutes"
    return None


def _finite(loss: float, step: int) -> float:
    if math.isfinite(loss):
        return loss
    raise RegardError(
        f"the loss is {loss} at step {step}; a lower optimizer.peak or a longer optimizer.warmup would help"
    )


def _key(seed: int, step: int) -> int:
    """Randomness keyed by seed and step: dropout belongs to the data, not to how the process got here."""
    return seed * 1_000_003 + step


def _require(condition: bool, name: str, value: object, right: str) -> None:
    if not condition:
        raise ConfigError(f"train.{name} = {value} cannot work; {right}")
