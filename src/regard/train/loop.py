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

from regard.checkpoint import (
    list_checkpoints,
    read_manifest,
    remove_folder_atomically,
    write_folder_atomically,
)
from regard.errors import CheckpointError, RegardError, SaveError, require_setting
from regard.train.interrupt import InterruptHandler, WorkAbandoned
from regard.train.logs.step_stats import StepStats
from regard.train.logs.training_log import TrainingLog
from regard.train.optimizer import average_weights
from regard.train.state import (
    BestCheckpoint,
    TrainingState,
    checkpoint_bytes,
    checkpoint_path,
    finite_metrics,
    strip_advice,
    write_checkpoint,
)
from regard.train.step import Learner, TrainStep
from regard.train.task import BatchT, DataPosition, Trainable, ValidationResult, merge_file_lines
from regard.train.weights import copy_tensors

StopReason = Literal["steps", "minutes", "patience", "interrupt"]
SelectionMetric = Literal["loss", "bleu", "accuracy"]

MAX_SKIPPED_STEPS = 10
"""Skipped in a row, they end a training."""
MAX_FAILED_SAVES = 3
"""In a row, they end a training."""
AVERAGED_FOLDER = "mean"


@dataclass(frozen=True)
class TrainConfig:
    """How long to train and what to keep of it."""

    steps: int = 10_000
    minutes: float | None = None
    """Stop after this long even if steps are left, time before a resume counted; none is no limit."""
    patience: int | None = None
    """Stop after so many validations in a row that bring nothing better; none is never."""
    judge: SelectionMetric = "loss"
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
            require_setting(
                getattr(self, name) >= 1, f"train.{name}", getattr(self, name), "it must be at least 1"
            )
        require_setting(self.keep_last >= 2, "train.keep_last", self.keep_last, "it must be at least 2")
        for name in ("minutes", "clip"):
            value = getattr(self, name)
            positive = value is None or 0 < value < math.inf
            require_setting(positive, f"train.{name}", value, "it must be a number above 0, or none")
        for name, least in (("patience", 1), ("average", 2)):
            value = getattr(self, name)
            enough = value is None or value >= least
            require_setting(enough, f"train.{name}", value, f"it must be at least {least}, or none")
        require_setting(
            self.ema is None or 0 < self.ema < 1, "train.ema", self.ema, "it must be between 0 and 1, or none"
        )
        require_setting(
            0 <= self.seed < 2**32, "train.seed", self.seed, "it must be at least 0 and below 2^32"
        )


@dataclass(frozen=True)
class TrainingResult:
    """The best model folder, and why training ended."""

    best_folder: Path
    step: int
    metrics: Mapping[str, Any]
    stop_reason: StopReason


def run_training_loop(
    task: Trainable[BatchT],
    folder: Path,
    config: TrainConfig,
    learner: Learner,
    step: TrainStep[BatchT],
    schedule: Callable[[int], float],
    log: TrainingLog,
    interrupt: InterruptHandler,
    state: TrainingState,
) -> TrainingResult:
    """Trains from `state` until steps, minutes or patience are over, or someone interrupts.

    An interrupt saves and validates nothing: what comes out in the end must not depend on it.
    """
    return _TrainingLoop(task, folder, config, learner, step, schedule, log, interrupt, state).run()


def find_stop_reason(state: TrainingState, config: TrainConfig, seconds: float) -> StopReason | None:
    """Why a training that stands there is over, if it is."""
    if state.step >= config.steps:
        return "steps"
    if config.minutes is not None and seconds >= config.minutes * 60:
        return "minutes"
    if config.patience is not None and state.waited >= config.patience:
        return "patience"
    return None


class _TrainingLoop(Generic[BatchT]):
    def __init__(
        self,
        task: Trainable[BatchT],
        folder: Path,
        config: TrainConfig,
        learner: Learner,
        step: TrainStep[BatchT],
        rate: Callable[[int], float],
        log: TrainingLog,
        interrupt: InterruptHandler,
        state: TrainingState,
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

    def run(self) -> TrainingResult:
        self._task.model.train()
        batches = self._task.batches(self._state.position)
        try:
            while True:
                over = find_stop_reason(self._state, self._config, self._log.elapsed_seconds)
                if self._validation_due(over):
                    self._record_validation(self._validate(), last=over is not None)
                elif over is not None:
                    return self._finish(over)
                elif self._interrupt.requested:
                    return self._save_and_stop()
                else:
                    self._train_interval(batches)
        except WorkAbandoned:
            return self._save_and_stop()

    def _train_interval(self, batches: Iterator[tuple[BatchT, DataPosition]]) -> None:
        """Steps until the next line of the log; the device is asked nothing before its end."""
        gathered, began = StepStats(), time.perf_counter()
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
            counts = [self._task.batch_counts(batch) for batch in some]
            gathered.add(step, starts, counts, self._step(step, some, rate))
            if self._ends_interval(step):
                break
        bad = self._report_skipped_steps(gathered)
        seconds = time.perf_counter() - began  # the wait for the device is over
        self._state = replace(self._state, step=step, position=position, bad=bad)
        self._log.log_interval(gathered.to_interval(position.get("epoch", 0), rate, seconds))

    def _ends_interval(self, step: int) -> bool:
        config = self._config
        regular = step % config.log_every == 0 or step % config.save_every == 0 or step >= config.steps
        late = config.minutes is not None and self._log.elapsed_seconds >= config.minutes * 60
        return regular or late or self._interrupt.requested

    def _report_skipped_steps(self, gathered: StepStats) -> int:
        """Names each step that was skipped; how many were in a row, up to the last one."""
        bad = self._state.bad
        for step, starts, skipped in gathered.skipped_flags():
            bad = bad + 1 if skipped else 0
            if skipped:
                again = (next(self._task.batches(start))[0] for start in starts)
                self._log.log_skipped_step(
                    step,
                    merge_file_lines(lines for batch in again for lines in self._task.locate_lines(batch)),
                )
            if bad >= MAX_SKIPPED_STEPS:
                raise RegardError(
                    f"the loss or its gradient is not finite, {bad} steps in a row up to step {step}; "
                    "a lower optimizer.peak or a longer optimizer.warmup may help, or a look at the data "
                    f"named above; {self._describe_last_checkpoint()}"
                )
        return bad

    def _validation_due(self, over: StopReason | None) -> bool:
        state = self._state
        regular = over is not None or state.step % self._config.save_every == 0
        return regular and 0 < state.step != state.validated

    def _validate(self) -> ValidationResult:
        """Abandoned at a signal: it changes nothing, and is done again after a resume."""
        with self._learner.ema_weights():
            try:
                with self._interrupt.raise_on_signal():
                    return self._task.validate()
            finally:
                self._task.model.train()

    def _record_validation(self, validation: ValidationResult, last: bool) -> None:
        """Logs, saves, and takes it for the best if it is and could be saved."""
        step, metrics = self._state.step, {**finite_metrics(validation.metrics), **validation.details}
        better = self._is_better(validation.metrics)
        self._log.log_validation(step, validation, best=better)
        self._state = replace(self._state, validated=step)
        if better:
            judged = replace(self._state, best=BestCheckpoint(step, metrics), waited=0)
        else:
            judged = replace(self._state, waited=self._state.waited + 1)
        if self._save(judged, metrics, last):
            self._state = judged
            self._prune_checkpoints()

    def _save(self, state: TrainingState, metrics: Mapping[str, Any], last: bool) -> bool:
        """Whether the checkpoint is there: a full disk costs that and no more, unless it was the last one."""
        if self._saved == state.step:  # resumed from it, and only now validated
            return True
        try:
            with self._learner.ema_weights():
                state = replace(state, seconds=round(self._log.elapsed_seconds, 3))
                write_checkpoint(self._folder, self._task, self._learner, state, metrics)
        except SaveError as error:
            self._failed += 1
            said = f"{error}; it needs {checkpoint_bytes(self._learner):,} bytes{_describe_free_space(self._folder)}"
            if last or self._failed >= MAX_FAILED_SAVES:
                raise SaveError(f"{said}; {self._describe_last_checkpoint()}") from error
            self._log.log_message(f"{said}; training goes on, {self._describe_last_checkpoint()}")
            return False
        self._saved, self._failed = state.step, 0
        return True

    def _save_and_stop(self) -> TrainingResult:
        """Saves without a validation."""
        state = self._state
        if state.step:
            self._save(state, {}, last=True)
        best = checkpoint_path(self._folder, state.best.step if state.best else state.step)
        return TrainingResult(best, state.step, state.best.metrics if state.best else {}, "interrupt")

    def _finish(self, over: StopReason) -> TrainingResult:
        best = self._state.best
        if best is None:
            raise RegardError(
                f"train.judge = {self._config.judge} was no finite number at any validation; "
                "a lower optimizer.peak or a longer optimizer.warmup may help"
            )
        outcome = TrainingResult(checkpoint_path(self._folder, best.step), best.step, best.metrics, over)
        return (
            outcome
            if self._config.average is None
            else self._average_checkpoints(outcome, self._config.average)
        )

    def _average_checkpoints(self, outcome: TrainingResult, count: int) -> TrainingResult:
        """The mean of the last checkpoints, if it is better than the best of them."""
        found = [path for path in list_checkpoints(self._folder) if self._is_scheduled(path)][-count:]
        last = [path for path in found if self._is_intact(path)]
        if not last:
            return outcome
        weights = dict(self._task.model.named_parameters())
        held = {name: weight.detach().clone() for name, weight in weights.items()}
        copy_tensors(weights, average_weights(last), "the mean does not fit the model")
        try:
            with self._interrupt.raise_on_signal():
                validation = self._task.validate()
            self._log.log_averaged_checkpoints(self._state.step, len(last), self._config.judge, validation)
            return (
                self._write_averaged_model(validation, outcome)
                if self._is_better(validation.metrics)
                else outcome
            )
        finally:
            self._task.model.train()
            copy_tensors(weights, held, "the weights do not fit the model")

    def _is_intact(self, path: Path) -> bool:
        """One that is not is named, and the mean taken without it."""
        try:
            read_manifest(path)
        except CheckpointError as error:
            self._log.log_message(f"{strip_advice(error)}; the mean is taken without it")
            return False
        return True

    def _write_averaged_model(self, validation: ValidationResult, outcome: TrainingResult) -> TrainingResult:
        path = self._folder / AVERAGED_FOLDER
        metrics = {**finite_metrics(validation.metrics), **validation.details}
        facts = {"step": self._state.step, "metrics": metrics}
        write_folder_atomically(path, lambda place: {**self._task.save(place), **facts}, overwrite=True)
        return replace(outcome, best_folder=path, step=self._state.step, metrics=metrics)

    def _is_better(self, metrics: Mapping[str, float]) -> bool:
        """Than the best so far; what is no number is never better."""
        judge = self._config.judge
        if judge not in metrics:
            raise RegardError(f"train.judge = {judge} cannot work here; there are {', '.join(metrics)}")
        value, best = metrics[judge], self._state.best
        if not math.isfinite(value) or best is None:
            return math.isfinite(value)
        return value < best.metrics[judge] if judge == "loss" else value > best.metrics[judge]

    def _prune_checkpoints(self) -> None:
        """Leaves the last ones, those the mean is taken of, and the best."""
        found = list_checkpoints(self._folder)
        kept = found[-self._config.keep_last :]
        if self._config.average is not None:
            kept += [path for path in found if self._is_scheduled(path)][-self._config.average :]
        if self._state.best is not None:
            kept.append(checkpoint_path(self._folder, self._state.best.step))
        for path in found:
            if path not in kept:
                with suppress(OSError):  # it is in nobody's way
                    remove_folder_atomically(path)

    def _is_scheduled(self, path: Path) -> bool:
        """Whether it would be there if nobody had interrupted."""
        step = int(path.name.removeprefix("step-"))
        return step % self._config.save_every == 0 or step == self._state.validated

    def _describe_last_checkpoint(self) -> str:
        found = list_checkpoints(self._folder)
        return f"the last good checkpoint is {found[-1]}" if found else "nothing has been saved yet"


def _describe_free_space(folder: Path) -> str:
    try:
        return f" and {shutil.disk_usage(folder).free:,} are free"
    except OSError:
        return ""
