"""From settings to a published model, or on from where a training was cut short: the same for every task."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

from rich.console import Console

from regard.checkpoint import publish, read_manifest
from regard.config import to_toml
from regard.train.interrupt import Interrupt
from regard.train.logs.training_log import Log
from regard.train.loop import Outcome, ending, train
from regard.train.model_card import Draw, Spent, Words, differences, papers
from regard.train.run_folder import METRICS, open_run
from regard.train.setup import Course, TaskRun
from regard.train.state import TRAINING, State, newest_whole, read_data, read_state, refuse_changed, resume
from regard.train.step import Learner, Step
from regard.train.task import Trainable

Batch = TypeVar("Batch")


@runtime_checkable
class Task(Trainable[Batch], Protocol[Batch]):
    """What a training asks of a task, beside what the loop does."""

    @property
    def course(self) -> Course: ...

    @property
    def words(self) -> Words:
        """What its model card calls things."""
        ...

    def plan(self) -> Iterator[str]:
        """What is about to happen, for the person who asked for it."""
        ...

    def facts(self) -> Mapping[str, object]:
        """What else stays the same over the run, for whoever draws its curves."""
        ...

    def step(self, learner: Learner) -> Step[Batch]:
        """The way to take a step."""
        ...

    def write_report(self, out: Path) -> None:
        """`data.json` in the run's folder: what was found in the data."""
        ...


def train_run(
    run: TaskRun,
    out: Path,
    console: Console,
    fingerprints: Callable[[], Mapping[str, str]],
    make: Callable[[Path | None], Task[Batch]],
    draw: Draw | None = None,
) -> Outcome:
    """Trains, and leaves the best model in `out`/model, with curves if `draw` makes them.

    `fingerprints` are the SHA-256 of the files, known before anything is made of them; `make` reads them.
    It is given the last whole checkpoint of a run that was cut short, which goes on from there as if it
    had never stopped.
    """
    with open_run(out, to_toml(run), _free_settings(run)):
        begun = newest_whole(out, say := lambda said: console.print(f"  {said}"))
        if begun is not None and (finished := _finished(run, out, read_state(begun))):
            console.print(f"  {out} is finished; {_longer(run)}")
            return finished
        if begun is not None:
            refuse_changed(out, read_data(begun), fingerprints())
        task = make(begun)
        learner = task.course.learner()
        state = State() if begun is None else resume(begun, task, learner, say)
        task.write_report(out)
        for line in task.plan():
            console.print(f"  {line}")
        if state.step:
            console.print(f"  goes on from step {state.step:,} of {run.train.steps:,}")
        return _train(task, learner, state, out, console, draw)


def _train(
    task: Task[Batch], learner: Learner, state: State, out: Path, console: Console, draw: Draw | None
) -> Outcome:
    course, config = task.course, task.course.run.train
    step = task.step(learner)
    with _log(course, out, console, state) as log, Interrupt() as interrupt:
        log.began({**course.facts(out.resolve().name), **task.facts()})
        outcome = train(task, out, config, learner, step, course.rate, log, interrupt, state)
        if outcome.ending != "interrupt":
            spent = Spent(log.step, log.seconds, course.device_said, course.precision_said)
            _publish(outcome, task, out, spent, draw)
    return outcome


def _log(course: Course, out: Path, console: Console, state: State) -> Log:
    config = course.run.train
    return Log(
        out / METRICS,
        console,
        config.steps,
        after=state.step,
        seconds=state.seconds,
        minutes=config.minutes,
        tensorboard=config.tensorboard,
        unit=course.unit,
        perplexity=course.perplexity,
    )


def _publish(outcome: Outcome, task: Task[Batch], out: Path, spent: Spent, draw: Draw | None) -> None:
    """The best model, with its card and its curves beside it."""
    facts = {"step": outcome.step, "metrics": dict(outcome.metrics)}
    manifest = {**read_manifest(outcome.best), **facts}
    run = task.course.run
    beside = papers(out, manifest, differences(run, type(run)()), spent, task.words, draw)
    publish(outcome.best, out / "model", without=TRAINING, facts=facts, beside=beside)


def _free_settings(run: TaskRun) -> list[str]:
    """What may differ from one start to the next, since no step depends on it."""
    length = ["train.steps"] if run.optimizer.cooldown is None else []
    return [*length, "train.minutes", "train.patience", "train.tensorboard", "compute.memory"]


def _finished(run: TaskRun, out: Path, state: State) -> Outcome | None:
    over = ending(state, run.train, state.seconds)
    if over is None or not (out / "model").is_dir():
        return None
    manifest = read_manifest(out / "model")
    return Outcome(out / "model", manifest["step"], manifest["metrics"], over)


def _longer(run: TaskRun) -> str:
    if run.optimizer.cooldown is None:
        return "to train longer, give the same command with a larger train.steps"
    return "its cooldown is over: to train longer, start another run with a larger train.steps"
