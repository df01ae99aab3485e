"""Training of any task from settings to a published model: new runs, resumed runs and finished ones."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from rich.console import Console

from regard.checkpoint import publish_model, read_manifest
from regard.config import run_traits, to_toml
from regard.train.interrupt import InterruptHandler
from regard.train.logs.metrics_file import METRICS_FILE
from regard.train.logs.training_log import TrainingLog
from regard.train.loop import TrainingLoop, TrainingResult, find_stop_reason
from regard.train.model_card import (
    CardText,
    CurvesRenderer,
    TrainingCost,
    build_card_files,
    find_changed_settings,
)
from regard.train.run_folder import open_run_folder
from regard.train.setup import RunConfig, TrainingSetup
from regard.train.state import (
    TRAINING_FILES,
    ResumePoint,
    TrainingState,
    find_resume_point,
    reject_changed_data,
    restore_training,
)
from regard.train.step import Learner, TrainStep
from regard.train.task import Trainable

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
) -> TrainingResult:
    """Train in the run folder `out` and publish the best model as `out`/model.

    A run that was interrupted resumes from its last undamaged checkpoint, which `make_task` receives.
    `fingerprints` returns the SHA-256 of the data files before they are prepared, so that a changed file is
    refused early.
    """
    with open_run_folder(out, to_toml(run), _changeable_settings(run)):

        def notify(message: str) -> None:
            console.print(f"  {message}")

        checkpoint = find_resume_point(out, notify)
        if checkpoint is not None:
            if (result := _finished_result(run, out, checkpoint.state)) is not None:
                notify(f"{out} is finished; {_how_to_train_longer(run)}")
                return result
            reject_changed_data(out, checkpoint.data_hashes, fingerprints())
        task = make_task(checkpoint)
        learner = task.setup.build_learner()
        state = TrainingState()
        if checkpoint is not None:
            state = restore_training(checkpoint, task, learner, notify)
        task.write_data_report(out)
        for line in task.describe():
            notify(line)
        if state.step:
            notify(f"resumes from step {state.step:,} of {run.train.steps:,}")
        return _train_task(task, learner, state, out, console, render_curves)


def _train_task(
    task: TrainingTask[BatchT],
    learner: Learner,
    state: TrainingState,
    out: Path,
    console: Console,
    render_curves: CurvesRenderer | None,
) -> TrainingResult:
    setup = task.setup
    step = task.make_step(learner)
    with _open_log(setup, out, console, state) as log, InterruptHandler() as interrupt:
        log.log_run_metadata({**setup.run_metadata(out.resolve().name), **task.run_metadata()})
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
        ).run()
        if result.stop_reason != "interrupt":
            cost = TrainingCost(log.step, log.elapsed_seconds, setup.device_description, setup.precision_name)
            _publish_best(result, task, out, cost, render_curves)
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
    """Return the settings that may differ when a run is resumed; a cooldown fixes the number of steps."""
    names = [name for name, traits in run_traits(run).items() if traits.can_change]
    return [name for name in names if name != "train.steps" or run.optimizer.cooldown is None]


def _finished_result(run: RunConfig, out: Path, state: TrainingState) -> TrainingResult | None:
    reason = find_stop_reason(state, run.train, state.seconds)
    if reason is None or not (out / "model").is_dir():
        return None
    manifest = read_manifest(out / "model")
    return TrainingResult(out / "model", manifest["step"], manifest["metrics"], reason)


def _how_to_train_longer(run: RunConfig) -> str:
    if run.optimizer.cooldown is None:
        return "to train longer, give the same command with a larger train.steps"
    return "its cooldown is over: to train longer, start another run with a larger train.steps"
