"""Trainable, and the loop over it: loss, gradient, step, and now and then a look at the validation part."""

import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

from regard.checkpoint import checkpoints
from regard.errors import RegardError, require
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
    keep_last: int = 2
    """Checkpoints that stay, and the best besides."""
    log_every: int = 20
    """Steps between lines of metrics.jsonl."""
    clip: float | None = None
    """Longest gradient allowed; none, as in the paper, is any."""
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("steps", "save_every", "keep_last", "log_every"):
            require(getattr(self, name) >= 1, f"train.{name}", getattr(self, name), "it must be at least 1")
        for name in ("minutes", "clip"):
            value = getattr(self, name)
            positive = value is None or 0 < value < math.inf
            require(positive, f"train.{name}", value, "it must be a number above 0, or none")
        require(0 <= self.seed < 2**32, "train.seed", self.seed, "it must be at least 0 and below 2^32")


@dataclass(frozen=True)
class Validation:
    """How good the model is now: `metrics` has at least `loss`."""

    metrics: Mapping[str, float]
    details: Mapping[str, str] = field(default_factory=dict)
    """What the metrics need beside them to be compared with others."""
    sample: str = ""
    """For a person to read."""


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

    def save(self, folder: Path, step: int, validation: Validation) -> None:
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
    interrupt: Interrupt,
) -> Outcome:
    """Trains until steps or minutes are over or someone interrupts; validates and saves before it leaves."""
    task.model.train()
    best: Outcome | None = None
    loss, tokens, since = 0.0, 0, time.perf_counter()
    for step, batch in enumerate(task.batches(), start=1):
        torch.manual_seed(_key(config.seed, step))
        batch_loss, batch_tokens = task.loss(batch)
        _update(task.model, batch_loss / batch_tokens, optimizer, rate(step), config.clip)
        loss, tokens = loss + batch_loss.detach(), tokens + batch_tokens
        ending = _ending(step, config, log.seconds, interrupt)
        save = ending is not None or step % config.save_every == 0
        if save or step % config.log_every == 0:
            mean = _finite(float(loss) / tokens, step)
            log.stepped(step, mean, rate(step), tokens / (time.perf_counter() - since))
            loss, tokens, since = 0.0, 0, time.perf_counter()
        if save:
            best = _better(best, _checkpoint(task, folder, step, log))
            _prune(folder, best.best, config.keep_last)
            since = time.perf_counter()
            ending = ending or _ending(step, config, log.seconds, interrupt)
            if ending:
                _finite(best.metrics["loss"], best.step)
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


def _checkpoint(task: Trainable[Batch], folder: Path, step: int, log: Log) -> Outcome:
    validation = task.validate()
    task.model.train()
    path = folder / f"step-{step:06}"
    task.save(path, step, validation)
    log.validated(step, validation.metrics, validation.details, validation.sample)
    return Outcome(path, step, validation.metrics, "steps")


def _better(best: Outcome | None, new: Outcome) -> Outcome:
    """The one with the lower loss; what is no number is never better than what is."""
    if best is None or math.isnan(best.metrics["loss"]) or new.metrics["loss"] < best.metrics["loss"]:
        return new
    return best


def _prune(folder: Path, best: Path, keep_last: int) -> None:
    for path in checkpoints(folder)[:-keep_last]:
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
