"""From settings to a published model, or on from where a training was cut short: the same for every task."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

from rich.console import Console

from regard.checkpoint import publish_model, read_manifest
from regard.config import to_toml
from regard.train.interrupt import InterruptHandler
from regard.train.logs.metrics_file import METRICS_FILE
from regard.train.logs.training_log import TrainingLog
from regard.train.loop import TrainingResult, find_stop_reason, run_training_loop
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
    TrainingState,
    find_resumable_checkpoint,
    read_data_hashes,
    read_training_state,
    reject_changed_data,
    restore_training,
)
from regard.train.step import Learner, TrainStep
from regard.train.task import Trainable

BatchT = TypeVar("BatchT")


@runtime_checkable
class TrainingTask(Trainable[BatchT], Protocol[BatchT]):
    """What a training asks of a task, beside what the loop does."""

    @property
    def setup(self) -> TrainingSetup: ...

    @property
    def card_text(self) -> CardText:
        """What its model card calls things."""
        ...

    def describe(self) -> Iterator[str]:
        """What is about to happen, for the person who asked for it."""
        ...

    def run_metadata(self) -> Mapping[str, object]:
        """What else stays the same over the run, for whoever draws its curves."""
        ...

    def make_step(self, learner: Learner) -> TrainStep[BatchT]:
        """The way to take a step."""
        ...

    def write_data_report(self, out: Path) -> None:
        """`data.json` in the run's folder: what was found in the data."""
        ...


def train_and_publish(
    run: RunConfig,
    out: Path,
    console: Console,
    fingerprints: Callable[[], Mapping[str, str]],
    make_task: Callable[[Path | None], TrainingTask[BatchT]],
    render_curves: CurvesRenderer | None = None,
) -> TrainingResult:
    """Trains, and leaves the best model in `out`/model, with curves if `draw` makes them.

    `fingerprints` are the SHA-256 of the files, known before anything is made of them; `make` reads them.
    It is given the last whole checkpoint of a run that was cut short, which goes on from there as if it
    had never stopped.
    """
    with open_run_folder(out, to_toml(run), _changeable_settings(run)):
        begun = find_resumable_checkpoint(out, say := lambda said: console.print(f"  {said}"))
        if begun is not None and (finished := _finished_result(run, out, read_training_state(begun))):
            console.print(f"  {out} is finished; {_how_to_train_longer(run)}")
            return finished
        if begun is not None:
            reject_changed_data(out, read_data_hashes(begun), fingerprints())
        task = make_task(begun)
        learner = task.setup.build_learner()
        state = TrainingState() if begun is None else restore_training(begun, task, learner, say)
        task.write_data_report(out)
        for line in task.describe():
            console.print(f"  {line}")
        if state.step:
            console.print(f"  goes on from step {state.step:,} of {run.train.steps:,}")
        return _train_task(task, learner, state, out, console, render_curves)


def _train_task(
    task: TrainingTask[BatchT],
    learner: Learner,
    state: TrainingState,
    out: Path,
    console: Console,
    draw: CurvesRenderer | None,
) -> TrainingResult:
    course, config = task.setup, task.setup.run.train
    step = task.make_step(learner)
    with _open_log(course, out, console, state) as log, InterruptHandler() as interrupt:
        log.log_run_metadata({**course.run_metadata(out.resolve().name), **task.run_metadata()})
        outcome = run_training_loop(
            task, out, config, learner, step, course.learning_rate, log, interrupt, state
        )
        if outcome.stop_reason != "interrupt":
            spent = TrainingCost(
                log.step, log.elapsed_seconds, course.device_description, course.precision_name
            )
            _publish_best(outcome, task, out, spent, draw)
    return outcome


def _open_log(course: TrainingSetup, out: Path, console: Console, state: TrainingState) -> TrainingLog:
    config = course.run.train
    return TrainingLog(
        out / METRICS_FILE,
        console,
        config.steps,
        resumed_step=state.step,
        seconds_before=state.seconds,
        minutes=config.minutes,
        tensorboard=config.tensorboard,
        speed_unit=course.speed_unit,
        has_perplexity=course.has_perplexity,
    )


def _publish_best(
    outcome: TrainingResult,
    task: TrainingTask[BatchT],
    out: Path,
    spent: TrainingCost,
    draw: CurvesRenderer | None,
) -> None:
    """The best model, with its card and its curves beside it."""
    facts = {"step": outcome.step, "metrics": dict(outcome.metrics)}
    manifest = {**read_manifest(outcome.best_folder), **facts}
    run = task.setup.run
    beside = build_card_files(
        out, manifest, find_changed_settings(run, type(run)()), spent, task.card_text, draw
    )
    publish_model(
        outcome.best_folder, out / "model", exclude=TRAINING_FILES, metadata=facts, extra_files=beside
    )


def _changeable_settings(run: RunConfig) -> list[str]:
    """What may differ from one start to the next, since no step depends on it."""
    length = ["train.steps"] if run.optimizer.cooldown is None else []
    return [*length, "train.minutes", "train.patience", "train.tensorboard", "compute.memory"]


def _finished_result(run: RunConfig, out: Path, state: TrainingState) -> TrainingResult | None:
    over = find_stop_reason(state, run.train, state.seconds)
    if over is None or not (out / "model").is_dir():
        return None
    manifest = read_manifest(out / "model")
    return TrainingResult(out / "model", manifest["step"], manifest["metrics"], over)


def _how_to_train_longer(run: RunConfig) -> str:
    if run.optimizer.cooldown is None:
        return "to train longer, give the same command with a larger train.steps"
    return "its cooldown is over: to train longer, start another run with a larger train.steps"
