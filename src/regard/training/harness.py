"""Training of any task from settings to a published model: new runs, resumed runs and finished ones."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from rich.console import Console

from regard.checkpoint import publish_model, read_manifest
from regard.config import flatten_settings, run_traits, to_toml
from regard.training.customization import NO_CUSTOMIZATION, Customization
from regard.training.extend import (
    describe_extension,
    discard_checkpoints_after,
    extend_run,
    has_new_limits,
    read_schedule,
    reject_fewer_steps,
)
from regard.training.interrupt import InterruptHandler
from regard.training.logs.console import format_header
from regard.training.logs.metrics_file import METRICS_FILE
from regard.training.logs.training_log import TrainingLog
from regard.training.loop import TrainingLoop, TrainingResult, find_stop_reason
from regard.training.model_card import (
    CardText,
    CurvesRenderer,
    TrainingCost,
    build_card_files,
    find_changed_settings,
)
from regard.training.run_folder import open_run_folder
from regard.training.schedule import MeasuredSpeed, describe_plan, measure_speed, plan_schedule, read_limits
from regard.training.setup import RunConfig, Schedule, TrainingSetup, replace_sections
from regard.training.state import (
    TRAINING_FILES,
    ResumePoint,
    TrainingState,
    find_resume_point,
    reject_changed_data,
    restore_training,
)
from regard.training.step import Learner, TrainStep
from regard.training.task import Trainable

BatchT = TypeVar("BatchT")


@runtime_checkable
class TrainingTask(Trainable[BatchT], Protocol[BatchT]):
    """A task that can be trained into a run folder: what the loop needs, and texts for people."""

    @property
    def setup(self) -> TrainingSetup: ...

    @property
    def card_text(self) -> CardText:
        """The task's words in the model card."""
        ...

    def describe(self) -> Iterator[str]:
        """Yield the lines that are printed before the training starts."""
        ...

    def run_metadata(self) -> Mapping[str, object]:
        """Return constants of the run that its curves are compared with, such as the lowest possible loss."""
        ...

    def count_epoch_batches(self) -> int:
        """Return the number of batches of the first epoch."""
        ...

    def set_schedule(self, schedule: Schedule) -> None:
        """Train with this schedule, which is known only after the task was made."""
        ...

    def make_step(self, learner: Learner) -> TrainStep[BatchT]:
        """Return the implementation of a training step."""
        ...

    def write_data_report(self, out: Path) -> None:
        """Write `data.json`, the statistics of the data, to the run folder."""
        ...

    def calibrate(self, folder: Path) -> Mapping[str, object]:
        """Return manifest entries that are measured with the best model, in `folder`, on validation data."""
        ...


def train_and_publish(
    run: RunConfig,
    out: Path,
    console: Console,
    fingerprints: Callable[[], Mapping[str, str]],
    make_task: Callable[[ResumePoint | None], TrainingTask[BatchT]],
    render_curves: CurvesRenderer | None = None,
    custom: Customization = NO_CUSTOMIZATION,
) -> TrainingResult:
    """Train in the run folder `out` and publish the best model as `out`/model.

    A run that was interrupted resumes from its last undamaged checkpoint, which `make_task` receives.
    `fingerprints` returns the SHA-256 of the data files before they are prepared, so that a changed file is
    refused early.
    """
    reject_fewer_steps(run, out)
    with open_run_folder(out, to_toml(run), _changeable_settings(run), to_toml(type(run)())):

        def notify(message: str) -> None:
            console.print(f"  {message}")

        checkpoint = find_resume_point(out, notify)
        is_changed = checkpoint is not None and has_new_limits(run, checkpoint)
        if checkpoint is not None:
            custom.reject_other_parts(out, checkpoint.manifest)
            if not is_changed and (result := _finished_result(run, out, checkpoint)) is not None:
                notify(f"{out} is finished; {_how_to_train_longer(result, checkpoint, out)}")
                return result
            reject_changed_data(out, checkpoint.data_hashes, fingerprints())
        task = make_task(checkpoint)
        if checkpoint is not None and is_changed:
            checkpoint = _extend(task, run.train.steps, out, checkpoint, notify)
            task = make_task(None) if checkpoint is None else task
        learner = task.setup.build_learner()
        state = TrainingState()
        if checkpoint is not None:
            state = restore_training(checkpoint, task, learner, notify)
        state = replace(state, limits=read_limits(run.train))
        step = task.make_step(learner)
        plan = None
        if checkpoint is None and run.train.needs_plan:
            speed = _plan(task, learner, step)
            state = replace(state, seconds=0.0 if speed is None else speed.spent_seconds)
            plan = describe_plan(task.setup.schedule, speed)
        task.write_data_report(out)
        for line in task.describe():
            notify(line)
        if run.train.needs_plan:
            plan = plan or describe_plan(task.setup.schedule, None)
            notify(next(format_header([("plan", plan)])))
        if state.step:
            notify(f"resumes from step {state.step:,} of {task.setup.run.train.steps:,}")
        return _train_task(task, learner, step, state, out, console, render_curves, custom)


def _plan(task: TrainingTask[BatchT], learner: Learner, step: TrainStep[BatchT]) -> MeasuredSpeed | None:
    """Fit the schedule of a new run to its limits of time and epochs; return the speed if it was measured."""
    train = task.setup.run.train
    schedule, speed = plan_schedule(
        task.setup.run,
        lambda: -(-task.count_epoch_batches() // train.accumulate),
        lambda: measure_speed(task, learner, step, train),
    )
    task.set_schedule(schedule)
    if learner.ema is not None and schedule.train.ema is not None:
        learner.ema.decay = schedule.train.ema
    return speed


def _extend(
    task: TrainingTask[BatchT],
    steps: int,
    out: Path,
    checkpoint: ResumePoint,
    notify: Callable[[str], None],
) -> ResumePoint | None:
    """Give a run with new limits its new schedule; return the checkpoint it continues from."""
    run, before = task.setup.run, read_schedule(checkpoint.folder)
    run = replace_sections(run, train=replace(run.train, steps=steps))
    extension = extend_run(run, checkpoint, lambda: -(-task.count_epoch_batches() // run.train.accumulate))
    if extension.schedule.train.steps > before.train.steps:
        notify(describe_extension(out, extension, before))
        discard_checkpoints_after(out, extension.checkpoint)
    task.set_schedule(extension.schedule)
    return extension.checkpoint


def _train_task(
    task: TrainingTask[BatchT],
    learner: Learner,
    step: TrainStep[BatchT],
    state: TrainingState,
    out: Path,
    console: Console,
    render_curves: CurvesRenderer | None,
    custom: Customization,
) -> TrainingResult:
    setup = task.setup
    with _open_log(setup, out, console, state) as log, InterruptHandler() as interrupt:
        log.log_run_metadata({**setup.run_metadata(out.resolve().name), **task.run_metadata()})
        for callback in custom.callbacks:
            callback.on_start(flatten_settings(setup.run))
        result = TrainingLoop(
            task=task,
            folder=out,
            config=setup.run.train,
            learner=learner,
            step=step,
            schedule=setup.learning_rate,
            log=log,
            interrupt=interrupt,
            state=state,
            last_step_before_cooldown=setup.schedule.last_step_before_cooldown,
            callbacks=custom.callbacks,
        ).run()
        if result.stop_reason != "interrupt":
            cost = TrainingCost(log.step, log.elapsed_seconds, setup.device_description, setup.precision_name)
            _publish_best(result, task, out, cost, render_curves)
            result = replace(result, best_folder=out / "model")
        for callback in custom.callbacks:
            callback.on_end(result)
    return result


def _open_log(setup: TrainingSetup, out: Path, console: Console, state: TrainingState) -> TrainingLog:
    config = setup.run.train
    return TrainingLog(
        out / METRICS_FILE,
        console,
        config.steps,
        resumed_step=state.step,
        seconds_before=state.seconds,
        minutes=config.minutes,
        tensorboard=config.tensorboard,
        speed_unit=setup.speed_unit,
        has_perplexity=setup.has_perplexity,
    )


def _publish_best(
    result: TrainingResult,
    task: TrainingTask[BatchT],
    out: Path,
    cost: TrainingCost,
    render_curves: CurvesRenderer | None,
) -> None:
    """Publish the best model with its card and training curves."""
    run = task.setup.run
    changed_settings = find_changed_settings(run, type(run)())

    def build_extra_files(manifest: Mapping[str, Any]) -> Mapping[str, str]:
        return build_card_files(out, manifest, changed_settings, cost, task.card_text, render_curves)

    publish_model(
        result.best_folder,
        out / "model",
        exclude=TRAINING_FILES,
        metadata={
            "step": result.step,
            "metrics": dict(result.metrics),
            **task.calibrate(result.best_folder),
        },
        build_extra_files=build_extra_files,
    )


def _changeable_settings(run: RunConfig) -> list[str]:
    """Return the settings that may differ when a run is resumed; planned ones follow its length."""
    return [name for name, traits in run_traits(run).items() if traits.can_change] + [*run.train.planned]


def _finished_result(run: RunConfig, out: Path, checkpoint: ResumePoint) -> TrainingResult | None:
    steps = read_schedule(checkpoint.folder).train.steps
    reason = find_stop_reason(checkpoint.state, replace(run.train, steps=steps), checkpoint.state.seconds)
    if reason is None or not (out / "model").is_dir():
        return None
    manifest = read_manifest(out / "model")
    return TrainingResult(out / "model", manifest["step"], manifest["metrics"], reason)


def _how_to_train_longer(result: TrainingResult, checkpoint: ResumePoint, out: Path) -> str:
    flags = f"--steps {2 * checkpoint.state.step}"
    if result.stop_reason == "patience":
        flags = "--set train.patience=none"
    elif (minutes := checkpoint.state.limits.get("minutes")) is not None:
        flags = f"--minutes {2 * minutes:g}"
    return f"to train longer: regard train --out {shlex.quote(str(out))} {flags}"
