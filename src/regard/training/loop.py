"""The training loop of every task: steps, validation, checkpoints, early stopping, checkpoint averaging."""

import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Generic, Literal

from regard.checkpoint import (
    list_checkpoints,
    read_manifest,
    remove_folder_atomically,
    write_folder_atomically,
)
from regard.config import check_ranges, setting
from regard.errors import CheckpointError, RegardError, SaveError, require_setting
from regard.text.corpus_files import FileLines, merge_file_lines
from regard.training.callbacks import Callback, Record, asks_to_stop
from regard.training.interrupt import InterruptHandler, WorkAbandoned
from regard.training.logs.step_stats import StepStats
from regard.training.logs.training_log import TrainingLog
from regard.training.optimizer import average_weights
from regard.training.state import (
    BestCheckpoint,
    TrainingState,
    checkpoint_bytes,
    checkpoint_path,
    find_checkpoint_before,
    finite_metrics,
    parse_checkpoint_step,
    strip_advice,
    write_checkpoint,
)
from regard.training.step import Learner, TrainStep
from regard.training.task import BatchCounts, BatchT, DataPosition, Trainable, ValidationResult
from regard.training.weights import copy_tensors

StopReason = Literal["steps", "minutes", "patience", "callback", "interrupt"]
SelectionMetric = Literal["loss", "bleu", "accuracy"]

MAX_SKIPPED_STEPS = 10
"""Consecutive steps with a loss or gradient that is not finite, after which the training stops."""
MAX_FAILED_SAVES = 3
"""Consecutive checkpoints that could not be written, after which the training stops."""
PLANNED_SETTINGS = (
    "train.steps",
    "train.save_every",
    "train.ema",
    "optimizer.warmup",
    "optimizer.peak",
    "optimizer.cooldown",
)
"""Settings that can be fitted to the length of a training."""
AVERAGED_FOLDER = "mean"
"""Folder of the model whose weights are the mean of the last checkpoints."""


@dataclass(frozen=True)
class TrainConfig:
    """How long to train, how often to validate, and which checkpoints to keep."""

    steps: int = setting(10_000, can_change=True, flag="--steps", at_least=1, at_most=10**9)
    """Optimizer steps."""
    minutes: float | None = setting(None, can_change=True, flag="--minutes", at_most=10**7)
    """Time limit of the training, including the time before a resume; none is no limit. The settings in \
    `planned` are fitted to it when the training starts."""
    epochs: float | None = setting(None, can_change=True, flag="--epochs", at_most=10**6)
    """Limit of passes over the training data; none is no limit. Of several limits the first one reached \
    ends the training."""
    planned: tuple[str, ...] = setting((), can_change=True)
    """Settings that are fitted to the length of the training; `regard train` lists those that nobody set."""
    patience: int | None = setting(None, can_change=True, at_least=1, at_most=10**6)
    """Early stopping: stop after this many validations without improvement; none is never."""
    judge: SelectionMetric = "loss"
    """The validation metric that selects the best checkpoint; which metrics exist depends on the task."""
    save_every: int = setting(1000, at_least=1, at_most=10**9)
    """Steps between validations, each of which writes a checkpoint."""
    keep_last: int = setting(2, at_least=2, at_most=10**6)
    """Checkpoints to keep besides the best one; at least two, in case one is damaged."""
    log_every: int = setting(20, at_least=1, at_most=10**6)
    """Steps between lines of metrics.jsonl."""
    accumulate: int = setting(1, at_least=1, at_most=1000)
    """Gradient accumulation: batches per optimizer step."""
    clip: float | None = setting(None, at_most=1000000000.0)
    """Gradient clipping: the largest allowed norm; none, as in the paper, is no clipping."""
    ema: float | None = None
    """Decay of an exponential moving average of the weights, such as 0.999, which is validated and saved \
    in place of the raw weights; none is off."""
    average: int | None = setting(None, at_least=2, at_most=1000)
    """At the end, validate the mean of this many last checkpoints, too (section 6.1); none is off."""
    seed: int = setting(1, flag="--seed", at_least=0, at_most=2**32 - 1)
    """Seed of the initial weights, dropout and the order of the batches."""
    tensorboard: bool = setting(False, can_change=True)
    """Write the curves for TensorBoard, too; needs the package tensorboard."""

    def __post_init__(self) -> None:
        check_ranges(self, "train")
        for name in ("minutes", "epochs", "clip"):
            value = getattr(self, name)
            positive = value is None or 0 < value < math.inf
            require_setting(positive, f"train.{name}", value, "it must be a number above 0, or none")
        require_setting(
            self.ema is None or 0 < self.ema < 1, "train.ema", self.ema, "it must be between 0 and 1, or none"
        )
        for name in self.planned:
            known = name in PLANNED_SETTINGS
            require_setting(known, "train.planned", name, f"there are {', '.join(PLANNED_SETTINGS)}")

    @property
    def needs_plan(self) -> bool:
        """Whether the schedule depends on what is known only when the training starts."""
        return bool(self.planned) and (self.minutes is not None or self.epochs is not None)


@dataclass(frozen=True)
class TrainingResult:
    """The folder of the best model, and why the training stopped."""

    best_folder: Path
    step: int
    metrics: Mapping[str, Any]
    stop_reason: StopReason


def find_stop_reason(state: TrainingState, config: TrainConfig, seconds: float) -> StopReason | None:
    """Return why a training in this state is over; None if it is not, as before its first step."""
    if state.step >= config.steps:
        return "steps"
    if config.minutes is not None and state.step and seconds >= config.minutes * 60:
        return "minutes"
    if config.patience is not None and state.validations_since_best >= config.patience:
        return "patience"
    return None


@dataclass(kw_only=True)
class TrainingLoop(Generic[BatchT]):
    """Trains from `state` until the limit of steps, minutes or patience, or until an interrupt."""

    task: Trainable[BatchT]
    folder: Path
    """The run folder."""
    config: TrainConfig
    learner: Learner
    step: TrainStep[BatchT]
    schedule: Callable[[int], float]
    """The learning rate of a step."""
    log: TrainingLog
    interrupt: InterruptHandler
    state: TrainingState = field(default_factory=TrainingState)
    last_step_before_cooldown: int | None = None
    """The checkpoint before it is kept, so that a longer training can continue from there."""
    callbacks: Sequence[Callback] = ()

    def __post_init__(self) -> None:
        self._is_stopped_by_callback = False
        self._saved_step = self.state.step
        self._failed_saves = 0

    def run(self) -> TrainingResult:
        """Train. An interrupt saves without a validation, so that the final model does not depend on it."""
        self.task.model.train()
        batches = self.task.batches(self.state.position)
        try:
            while True:
                reason = self._find_stop_reason()
                if self._is_validation_due(reason):
                    self._record_validation(self._validate(), is_last=reason is not None)
                elif reason is not None:
                    return self._finish(reason)
                elif self.interrupt.requested:
                    return self._save_and_stop()
                else:
                    self._train_interval(batches)
        except WorkAbandoned:
            return self._save_and_stop()

    def _find_stop_reason(self) -> StopReason | None:
        reason = find_stop_reason(self.state, self.config, self.log.elapsed_seconds)
        return "callback" if reason is None and self._is_stopped_by_callback else reason

    def _call_callbacks(self, method: Literal["on_log", "on_validation"], record: Record) -> None:
        """Call a method of each callback. If it fails, the training can be resumed from this step."""
        for callback in self.callbacks:
            try:
                is_stop = asks_to_stop(getattr(callback, method)(record))
            except Exception:
                self._save_and_stop()
                self.log.log_message(
                    f"{type(callback).__name__}.{method} failed; step {self.state.step:,} is saved"
                )
                raise
            self._is_stopped_by_callback = self._is_stopped_by_callback or is_stop

    def _train_interval(self, batches: Iterator[tuple[BatchT, DataPosition]]) -> None:
        """Train until the next line of the log; the device is not synchronized before its end."""
        stats, start_time = StepStats(), time.perf_counter()
        step, position = self.state.step, self.state.position
        while True:
            step_batches = _StepBatches(self, batches, position)
            try:
                result = self.step(step + 1, step_batches, self.schedule(step + 1))
            except WorkAbandoned:
                if step == self.state.step:
                    raise
                break
            step, position = step + 1, step_batches.position
            stats.add(step, step_batches.positions, step_batches.counts, result)
            if self._ends_interval(step):
                break
        skips = self._report_skipped_steps(stats)
        seconds = time.perf_counter() - start_time  # the device has finished: its figures were read
        self.state = replace(self.state, step=step, position=position, consecutive_skips=skips)
        interval = stats.to_interval(position.get("epoch", 0), self.schedule(step), seconds)
        self._call_callbacks("on_log", self.log.log_interval(interval))

    def _ends_interval(self, step: int) -> bool:
        config = self.config
        scheduled = step % config.log_every == 0 or step % config.save_every == 0 or step >= config.steps
        is_late = config.minutes is not None and self.log.elapsed_seconds >= config.minutes * 60
        return scheduled or is_late or self.interrupt.requested

    def _report_skipped_steps(self, stats: StepStats) -> int:
        """Log each skipped step; return how many consecutive steps were skipped up to the last one."""
        skips = self.state.consecutive_skips
        for step, positions, is_skipped in stats.skipped_flags():
            skips = skips + 1 if is_skipped else 0
            if is_skipped:
                self.log.log_skipped_step(step, self._locate_lines(positions))
            if skips >= MAX_SKIPPED_STEPS:
                raise RegardError(
                    f"the loss or its gradient is not finite, {skips} steps in a row up to step {step}; "
                    "a lower optimizer.peak or a longer optimizer.warmup may help, or check the data lines "
                    f"named above; {self._describe_last_checkpoint()}"
                )
        return skips

    def _locate_lines(self, positions: Sequence[DataPosition]) -> list[FileLines]:
        """Return the lines of the batches at these positions, which are built again."""
        batches = (next(self.task.batches(position))[0] for position in positions)
        return merge_file_lines(lines for batch in batches for lines in self.task.locate_lines(batch))

    def _is_validation_due(self, reason: StopReason | None) -> bool:
        scheduled = reason is not None or self.state.step % self.config.save_every == 0
        return scheduled and 0 < self.state.step != self.state.validated

    def _validate(self) -> ValidationResult:
        """Validate the weights that will be saved. A signal abandons it; a resume does it again."""
        with self.learner.ema_weights():
            try:
                with self.interrupt.raise_on_signal():
                    return self.task.validate()
            finally:
                self.task.model.train()

    def _record_validation(self, validation: ValidationResult, is_last: bool) -> None:
        """Log the validation and save a checkpoint, the best one if it improves and could be saved."""
        metrics = {**finite_metrics(validation.metrics), **validation.details}
        is_better = self._is_better(validation.metrics)
        record = self.log.log_validation(self.state.step, validation, best=is_better)
        self.state = replace(self.state, validated=self.state.step)
        if is_better:
            next_state = replace(
                self.state, best=BestCheckpoint(self.state.step, metrics), validations_since_best=0
            )
        else:
            next_state = replace(self.state, validations_since_best=self.state.validations_since_best + 1)
        if self._save(next_state, metrics, is_last):
            self.state = next_state
            self._prune_checkpoints()
        self._call_callbacks("on_validation", record)

    def _save(self, state: TrainingState, metrics: Mapping[str, Any], is_last: bool) -> bool:
        """Write a checkpoint and return whether it is there; only the last one must not fail."""
        if self._saved_step == state.step:  # resumed from it, and only now validated
            return True
        try:
            with self.learner.ema_weights():
                state = replace(state, seconds=round(self.log.elapsed_seconds, 3))
                write_checkpoint(self.folder, self.task, self.learner, state, metrics)
        except SaveError as error:
            self._failed_saves += 1
            needed, free = checkpoint_bytes(self.learner), _describe_free_space(self.folder)
            message = f"{error}; it needs {needed:,} bytes{free}"
            if is_last or self._failed_saves >= MAX_FAILED_SAVES:
                raise SaveError(f"{message}; {self._describe_last_checkpoint()}") from error
            self.log.log_message(f"{message}; training continues, {self._describe_last_checkpoint()}")
            return False
        self._saved_step, self._failed_saves = state.step, 0
        return True

    def _save_and_stop(self) -> TrainingResult:
        """Save without a validation."""
        state = self.state
        if state.step:
            self._save(state, {}, is_last=True)
        best_folder = checkpoint_path(self.folder, state.best.step if state.best else state.step)
        return TrainingResult(best_folder, state.step, state.best.metrics if state.best else {}, "interrupt")

    def _finish(self, reason: StopReason) -> TrainingResult:
        best = self.state.best
        if best is None:
            raise RegardError(
                f"train.judge = {self.config.judge} was not finite at any validation; "
                "a lower optimizer.peak or a longer optimizer.warmup may help"
            )
        result = TrainingResult(checkpoint_path(self.folder, best.step), best.step, best.metrics, reason)
        return (
            result if self.config.average is None else self._average_checkpoints(result, self.config.average)
        )

    def _average_checkpoints(self, result: TrainingResult, count: int) -> TrainingResult:
        """Return the mean of the last checkpoints if it is better than the best of them, else `result`."""
        scheduled = [path for path in list_checkpoints(self.folder) if self._is_scheduled(path)]
        checkpoints = [path for path in scheduled[-count:] if self._is_intact(path)]
        if not checkpoints:
            return result
        weights = dict(self.task.model.named_parameters())
        saved_weights = {name: weight.detach().clone() for name, weight in weights.items()}
        copy_tensors(weights, average_weights(checkpoints), "the averaged weights do not fit the model")
        try:
            with self.interrupt.raise_on_signal():
                validation = self.task.validate()
            self.log.log_averaged_checkpoints(
                self.state.step, len(checkpoints), self.config.judge, validation
            )
            return (
                self._write_averaged_model(validation, result)
                if self._is_better(validation.metrics)
                else result
            )
        finally:
            self.task.model.train()
            copy_tensors(weights, saved_weights, "the weights do not fit the model")

    def _is_intact(self, path: Path) -> bool:
        """Return whether a checkpoint is undamaged; log one that is not."""
        try:
            read_manifest(path)
        except CheckpointError as error:
            self.log.log_message(f"{strip_advice(error)}; checkpoints are averaged without it")
            return False
        return True

    def _write_averaged_model(self, validation: ValidationResult, result: TrainingResult) -> TrainingResult:
        path = self.folder / AVERAGED_FOLDER
        metrics = {**finite_metrics(validation.metrics), **validation.details}
        metadata = {"step": self.state.step, "metrics": metrics}
        write_folder_atomically(path, lambda folder: {**self.task.save(folder), **metadata}, overwrite=True)
        return replace(result, best_folder=path, step=self.state.step, metrics=metrics)

    def _is_better(self, metrics: Mapping[str, float]) -> bool:
        """Return whether the metrics beat the best so far; NaN and infinity never do."""
        judge = self.config.judge
        if judge not in metrics:
            raise RegardError(f"train.judge = {judge} cannot work here; there are {', '.join(metrics)}")
        value, best = metrics[judge], self.state.best
        if not math.isfinite(value) or best is None:
            return math.isfinite(value)
        return value < best.metrics[judge] if judge == "loss" else value > best.metrics[judge]

    def _prune_checkpoints(self) -> None:
        """Delete all checkpoints but the last ones, those that will be averaged, and the best."""
        checkpoints = list_checkpoints(self.folder)
        needed = checkpoints[-self.config.keep_last :]
        if self.config.average is not None:
            needed += [path for path in checkpoints if self._is_scheduled(path)][-self.config.average :]
        if self.state.best is not None:
            needed.append(checkpoint_path(self.folder, self.state.best.step))
        if (last := self.last_step_before_cooldown) is not None:
            needed += find_checkpoint_before(checkpoints, last)
        for path in checkpoints:
            if path not in needed:
                with suppress(OSError):  # a checkpoint too many does no harm
                    remove_folder_atomically(path)

    def _is_scheduled(self, path: Path) -> bool:
        """Return whether the checkpoint would exist without any interrupt."""
        step = parse_checkpoint_step(path)
        return step % self.config.save_every == 0 or step == self.state.validated

    def _describe_last_checkpoint(self) -> str:
        checkpoints = list_checkpoints(self.folder)
        return (
            f"the last good checkpoint is {checkpoints[-1]}"
            if checkpoints
            else "no checkpoint has been saved"
        )


class _StepBatches(Generic[BatchT]):
    """The batches of one step, one at a time, and what is logged of them.

    A stop signal between two of them abandons the step, which may take minutes.
    """

    def __init__(
        self,
        loop: TrainingLoop[BatchT],
        batches: Iterator[tuple[BatchT, DataPosition]],
        position: DataPosition,
    ) -> None:
        self._loop, self._batches = loop, batches
        self.position = position
        """Where the next batch starts in the data."""
        self.positions: list[DataPosition] = []
        self.counts: list[BatchCounts] = []

    def __iter__(self) -> Iterator[BatchT]:
        for batch, next_position in islice(self._batches, self._loop.config.accumulate):
            if self.positions and self._loop.interrupt.requested:
                raise WorkAbandoned
            self.positions.append(self.position)
            self.counts.append(self._loop.task.batch_counts(batch))
            self.position = next_position
            yield batch
        if not self.positions:
            raise RegardError("the training data has no batches")


def _describe_free_space(folder: Path) -> str:
    try:
        return f" and {shutil.disk_usage(folder).free:,} are free"
    except OSError:
        return ""
