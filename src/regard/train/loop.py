"""The loop over a Trainable: steps, now and then a look at the validation part, and a checkpoint."""

import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Generic, Literal

from regard.checkpoint import checkpoints, read_manifest, remove_whole, write_whole
from regard.errors import CheckpointError, RegardError, SaveError, require
from regard.train.interrupt import Abandoned, Interrupt
from regard.train.logs.step_stats import Gathered
from regard.train.logs.training_log import Log
from regard.train.optimizer import mean_weights
from regard.train.state import (
    Best,
    State,
    bytes_needed,
    checkpoint_path,
    finite,
    without_advice,
    write_checkpoint,
)
from regard.train.step import Learner, Step
from regard.train.task import Batch, Position, Trainable, Validation, together
from regard.train.weights import copy_into

Ending = Literal["steps", "minutes", "patience", "interrupt"]
Judge = Literal["loss", "bleu", "accuracy"]

BAD_STEPS = 10
"""Skipped in a row, they end a training."""
FAILED_SAVES = 3
"""In a row, they end a training."""
MEAN = "mean"


@dataclass(frozen=True)
class TrainConfig:
    """How long to train and what to keep of it."""

    steps: int = 10_000
    minutes: float | None = None
    """Stop after this long even if steps are left, time before a resume counted; none is no limit."""
    patience: int | None = None
    """Stop after so many validations in a row that bring nothing better; none is never."""
    judge: Judge = "loss"
    """What makes a checkpoint the best, on the validation part; which there are depends on the task."""
    save_every: int = 1000
    """Steps between validations, each of which writes a checkpoint."""
    keep_last: int = 2
    """Checkpoints that stay, and the best besides; two at least, in case one is damaged."""
    log_every: int = 20
    """Steps between lines of metrics.jsonl."""
    accumulate: int = 1
    """Batches whose gradients make one step."""
    clip: float | None = None
    """Longest gradient allowed; none, as in the paper, is any."""
    ema: float | None = None
    """Decay of a moving mean of the weights, as 0.999, which is then judged and saved; none is off."""
    average: int | None = None
    """At the end, the mean of so many last checkpoints is judged too (section 6.1); none is off."""
    seed: int = 1
    tensorboard: bool = False
    """Write the curves for TensorBoard, too; needs the package tensorboard."""

    def __post_init__(self) -> None:
        for name in ("steps", "save_every", "log_every", "accumulate"):
            require(getattr(self, name) >= 1, f"train.{name}", getattr(self, name), "it must be at least 1")
        require(self.keep_last >= 2, "train.keep_last", self.keep_last, "it must be at least 2")
        for name in ("minutes", "clip"):
            value = getattr(self, name)
            positive = value is None or 0 < value < math.inf
            require(positive, f"train.{name}", value, "it must be a number above 0, or none")
        for name, least in (("patience", 1), ("average", 2)):
            value = getattr(self, name)
            enough = value is None or value >= least
            require(enough, f"train.{name}", value, f"it must be at least {least}, or none")
        require(
            self.ema is None or 0 < self.ema < 1, "train.ema", self.ema, "it must be between 0 and 1, or none"
        )
        require(0 <= self.seed < 2**32, "train.seed", self.seed, "it must be at least 0 and below 2^32")


@dataclass(frozen=True)
class Outcome:
    """The best model folder, and why training ended."""

    best: Path
    step: int
    metrics: Mapping[str, Any]
    ending: Ending


def train(
    task: Trainable[Batch],
    folder: Path,
    config: TrainConfig,
    learner: Learner,
    step: Step[Batch],
    rate: Callable[[int], float],
    log: Log,
    interrupt: Interrupt,
    state: State,
) -> Outcome:
    """Trains from `state` until steps, minutes or patience are over, or someone interrupts.

    An interrupt saves and validates nothing: what comes out in the end must not depend on it.
    """
    return _Loop(task, folder, config, learner, step, rate, log, interrupt, state).run()


def ending(state: State, config: TrainConfig, seconds: float) -> Ending | None:
    """Why a training that stands there is over, if it is."""
    if state.step >= config.steps:
        return "steps"
    if config.minutes is not None and seconds >= config.minutes * 60:
        return "minutes"
    if config.patience is not None and state.waited >= config.patience:
        return "patience"
    return None


class _Loop(Generic[Batch]):
    def __init__(
        self,
        task: Trainable[Batch],
        folder: Path,
        config: TrainConfig,
        learner: Learner,
        step: Step[Batch],
        rate: Callable[[int], float],
        log: Log,
        interrupt: Interrupt,
        state: State,
    ) -> None:
        self._task = task
        self._folder = folder
        self._config = config
        self._learner = learner
        self._step = step
        self._rate = rate
        self._log = log
        self._interrupt = interrupt
        self._state = state
        self._saved = state.step
        self._failed = 0

    def run(self) -> Outcome:
        self._task.model.train()
        batches = self._task.batches(self._state.position)
        try:
            while True:
                over = ending(self._state, self._config, self._log.seconds)
                if self._due(over):
                    self._judge(self._validated(), last=over is not None)
                elif over is not None:
                    return self._finish(over)
                elif self._interrupt.asked:
                    return self._leave()
                else:
                    self._stretch(batches)
        except Abandoned:
            return self._leave()

    def _stretch(self, batches: Iterator[tuple[Batch, Position]]) -> None:
        """Steps until the next line of the log; the device is asked nothing before its end."""
        gathered, began = Gathered(), time.perf_counter()
        step, position = self._state.step, self._state.position
        while True:
            step += 1
            starts, some = [], []
            for batch, after in islice(batches, self._config.accumulate):
                starts.append(position)
                some.append(batch)
                position = after
            if not some:
                raise RegardError("there is nothing to train on")
            rate = self._rate(step)
            counts = [self._task.counts(batch) for batch in some]
            gathered.add(step, starts, counts, self._step(step, some, rate))
            if self._pauses(step):
                break
        bad = self._report(gathered)
        seconds = time.perf_counter() - began  # the wait for the device is over
        self._state = replace(self._state, step=step, position=position, bad=bad)
        self._log.stepped(gathered.stretch(position.get("epoch", 0), rate, seconds))

    def _pauses(self, step: int) -> bool:
        config = self._config
        regular = step % config.log_every == 0 or step % config.save_every == 0 or step >= config.steps
        late = config.minutes is not None and self._log.seconds >= config.minutes * 60
        return regular or late or self._interrupt.asked

    def _report(self, gathered: Gathered) -> int:
        """Names each step that was skipped; how many were in a row, up to the last one."""
        bad = self._state.bad
        for step, starts, skipped in gathered.flags():
            bad = bad + 1 if skipped else 0
            if skipped:
                again = (next(self._task.batches(start))[0] for start in starts)
                self._log.skipped(
                    step, together(lines for batch in again for lines in self._task.where(batch))
                )
            if bad >= BAD_STEPS:
                raise RegardError(
                    f"the loss or its gradient is not finite, {bad} steps in a row up to step {step}; "
                    "a lower optimizer.peak or a longer optimizer.warmup may help, or a look at the data "
                    f"named above; {self._last_good()}"
                )
        return bad

    def _due(self, over: Ending | None) -> bool:
        state = self._state
        regular = over is not None or state.step % self._config.save_every == 0
        return regular and 0 < state.step != state.validated

    def _validated(self) -> Validation:
        """Abandoned at a signal: it changes nothing, and is done again after a resume."""
        with self._learner.shown():
            try:
                with self._interrupt.abandoning():
                    return self._task.validate()
            finally:
                self._task.model.train()

    def _judge(self, validation: Validation, last: bool) -> None:
        """Logs, saves, and takes it for the best if it is and could be saved."""
        step, metrics = self._state.step, {**finite(validation.metrics), **validation.details}
        better = self._better(validation.metrics)
        self._log.validated(step, validation, best=better)
        self._state = replace(self._state, validated=step)
        if better:
            judged = replace(self._state, best=Best(step, metrics), waited=0)
        else:
            judged = replace(self._state, waited=self._state.waited + 1)
        if self._save(judged, metrics, last):
            self._state = judged
            self._prune()

    def _save(self, state: State, metrics: Mapping[str, Any], last: bool) -> bool:
        """Whether the checkpoint is there: a full disk costs that and no more, unless it was the last one."""
        if self._saved == state.step:  # resumed from it, and only now validated
            return True
        try:
            with self._learner.shown():
                state = replace(state, seconds=round(self._log.seconds, 3))
                write_checkpoint(self._folder, self._task, self._learner, state, metrics)
        except SaveError as error:
            self._failed += 1
            said = f"{error}; it needs {bytes_needed(self._learner):,} bytes{_free(self._folder)}"
            if last or self._failed >= FAILED_SAVES:
                raise SaveError(f"{said}; {self._last_good()}") from error
            self._log.said(f"{said}; training goes on, {self._last_good()}")
            return False
        self._saved, self._failed = state.step, 0
        return True

    def _leave(self) -> Outcome:
        """Saves without a validation."""
        state = self._state
        if state.step:
            self._save(state, {}, last=True)
        best = checkpoint_path(self._folder, state.best.step if state.best else state.step)
        return Outcome(best, state.step, state.best.metrics if state.best else {}, "interrupt")

    def _finish(self, over: Ending) -> Outcome:
        best = self._state.best
        if best is None:
            raise RegardError(
                f"train.judge = {self._config.judge} was no finite number at any validation; "
                "a lower optimizer.peak or a longer optimizer.warmup may help"
            )
        outcome = Outcome(checkpoint_path(self._folder, best.step), best.step, best.metrics, over)
        return outcome if self._config.average is None else self._mean(outcome, self._config.average)

    def _mean(self, outcome: Outcome, count: int) -> Outcome:
        """The mean of the last checkpoints, if it is better than the best of them."""
        found = [path for path in checkpoints(self._folder) if self._regular(path)][-count:]
        last = [path for path in found if self._whole(path)]
        if not last:
            return outcome
        weights = dict(self._task.model.named_parameters())
        held = {name: weight.detach().clone() for name, weight in weights.items()}
        copy_into(weights, mean_weights(last), "the mean does not fit the model")
        try:
            with self._interrupt.abandoning():
                validation = self._task.validate()
            self._log.averaged(self._state.step, len(last), self._config.judge, validation)
            return self._write_mean(validation, outcome) if self._better(validation.metrics) else outcome
        finally:
            self._task.model.train()
            copy_into(weights, held, "the weights do not fit the model")

    def _whole(self, path: Path) -> bool:
        """One that is not is named, and the mean taken without it."""
        try:
            read_manifest(path)
        except CheckpointError as error:
            self._log.said(f"{without_advice(error)}; the mean is taken without it")
            return False
        return True

    def _write_mean(self, validation: Validation, outcome: Outcome) -> Outcome:
        path = self._folder / MEAN
        metrics = {**finite(validation.metrics), **validation.details}
        facts = {"step": self._state.step, "metrics": metrics}
        write_whole(path, lambda place: {**self._task.save(place), **facts}, over=True)
        return replace(outcome, best=path, step=self._state.step, metrics=metrics)

    def _better(self, metrics: Mapping[str, float]) -> bool:
        """Than the best so far; what is no number is never better."""
        judge = self._config.judge
        if judge not in metrics:
            raise RegardError(f"train.judge = {judge} cannot work here; there are {', '.join(metrics)}")
        value, best = metrics[judge], self._state.best
        if not math.isfinite(value) or best is None:
            return math.isfinite(value)
        return value < best.metrics[judge] if judge == "loss" else value > best.metrics[judge]

    def _prune(self) -> None:
        """Leaves the last ones, those the mean is taken of, and the best."""
        found = checkpoints(self._folder)
        kept = found[-self._config.keep_last :]
        if self._config.average is not None:
            kept += [path for path in found if self._regular(path)][-self._config.average :]
        if self._state.best is not None:
            kept.append(checkpoint_path(self._folder, self._state.best.step))
        for path in found:
            if path not in kept:
                with suppress(OSError):  # it is in nobody's way
                    remove_whole(path)

    def _regular(self, path: Path) -> bool:
        """Whether it would be there if nobody had interrupted."""
        step = int(path.name.removeprefix("step-"))
        return step % self._config.save_every == 0 or step == self._state.validated

    def _last_good(self) -> str:
        found = checkpoints(self._folder)
        return f"the last good checkpoint is {found[-1]}" if found else "nothing has been saved yet"


def _free(folder: Path) -> str:
    try:
        return f" and {shutil.disk_usage(folder).free:,} are free"
    except OSError:
        return ""
