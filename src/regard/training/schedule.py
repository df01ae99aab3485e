"""Length of a training: the steps that fit its limits of time and epochs, and the schedule that fits them."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import torch

from regard.training.loop import TrainConfig
from regard.training.setup import RunConfig, Schedule
from regard.training.step import Learner, TrainStep
from regard.training.task import BatchT, Trainable

Limits = Mapping[str, int | float | None]
"""The limits of a training by setting: steps, minutes and epochs."""

TIME_MARGIN = 0.1
"""Share of the time that is not planned, for a machine that becomes slower."""
MEASURED_SHARE = 0.05
"""Share of the time in which the speed of a step is measured."""
MAX_MEASURED_SECONDS = 30.0
UNTIMED_STEPS, MIN_TIMED_STEPS = 2, 3
"""The first steps are slower than later ones."""
VALIDATION_SHARE = 0.1
"""Share of the time for validations and checkpoints. They are not measured: a model that has learned nothing
translates each sentence up to the longest length, which took most of a minute."""
VALIDATIONS = 10
"""Of a training; one per minute, if its limit is less than ten."""
MIN_SAVE_EVERY, MAX_SAVE_EVERY = 20, 10_000
WARMUP_SHARE, COOLDOWN_SHARE = 0.2, 0.5
"""Longest warm-up, and the cooldown of a schedule without one, as shares of the steps."""
SHORT_EMA_DECAY, LONG_EMA_DECAY = 0.99, 0.999
LONG_EMA_MIN_STEPS = 3000
"""Steps from which a moving average over about a thousand steps is better than one over a hundred."""


@dataclass(frozen=True)
class MeasuredSpeed:
    """What a step costs on the device of a run."""

    step_seconds: float
    spent_seconds: float = 0.0
    """Of the measurement itself."""

    def steps_within(self, seconds: float) -> int:
        """Return the steps that fit a time, beside validations and what is left free."""
        left = seconds * (1 - TIME_MARGIN - VALIDATION_SHARE) - self.spent_seconds
        return max(1, int(left / self.step_seconds))


def read_limits(train: TrainConfig) -> dict[str, int | float | None]:
    """Return the limits that were asked for; a planned number of steps is none."""
    steps = None if "train.steps" in train.planned else train.steps
    return {"steps": steps, "minutes": train.minutes, "epochs": train.epochs}


def fit_schedule(run: RunConfig, steps: int, validations: int = VALIDATIONS) -> Schedule:
    """Return the schedule of a run with another number of steps; only its planned settings change.

    A schedule without a cooldown gets one, since its end is known.
    """
    optimizer, train, planned = run.optimizer, run.train, run.train.planned
    warmup = max(1, min(optimizer.warmup, int(steps * WARMUP_SHARE)))
    cooldown = max(1, int(steps * COOLDOWN_SHARE))
    if optimizer.cooldown is not None:
        cooldown = scale_cooldown(optimizer.cooldown, train.steps, steps)
    new: dict[str, object] = {
        "train.save_every": min(MAX_SAVE_EVERY, max(MIN_SAVE_EVERY, -(-steps // validations))),
        "optimizer.warmup": warmup,
        "optimizer.cooldown": cooldown,
    }
    if train.ema is not None:
        new["train.ema"] = LONG_EMA_DECAY if steps >= LONG_EMA_MIN_STEPS else SHORT_EMA_DECAY
    if warmup < optimizer.warmup:  # with the full peak after a short warm-up, nothing was learned
        peak = optimizer.peak or (run.model.d_model * optimizer.warmup) ** -0.5
        new["optimizer.peak"] = peak * (warmup / optimizer.warmup) ** 0.5
    return Schedule(
        replace(optimizer, **_planned_values("optimizer", new, planned)),
        replace(train, steps=steps, **_planned_values("train", new, planned)),
    )


def scale_cooldown(cooldown: int, steps: int, new_steps: int) -> int:
    """Return the cooldown that is the same share of another number of steps."""
    return max(1, round(new_steps * min(1.0, cooldown / steps)))


def plan_schedule(
    run: RunConfig, steps_per_epoch: Callable[[], int], measure: Callable[[], MeasuredSpeed]
) -> tuple[Schedule, MeasuredSpeed | None]:
    """Return the schedule of a new run: the first of its limits ends the training, and the schedule fits it.

    The speed is measured only for a limit of time.
    """
    limits, speed = read_limits(run.train), None
    steps = min(count_limited_steps(limits, steps_per_epoch), default=None)
    validations = VALIDATIONS
    if run.train.minutes is not None:
        speed = measure()
        validations = min(VALIDATIONS, max(1, int(run.train.minutes)))
        fitting = speed.steps_within(run.train.minutes * 60)
        steps = fitting if steps is None else min(steps, fitting)
    assert steps is not None, "without limits there is nothing to plan"
    return fit_schedule(run, steps, validations), speed


def count_limited_steps(limits: Limits, steps_per_epoch: Callable[[], int]) -> list[int]:
    """Return the steps of the limits that are not of time."""
    counts = [] if (steps := limits["steps"]) is None else [int(steps)]
    if (epochs := limits["epochs"]) is not None:
        counts.append(max(1, math.ceil(epochs * steps_per_epoch())))
    return counts


def describe_plan(schedule: Schedule, speed: MeasuredSpeed | None) -> str:
    """Return the plan in one line, after the limits of time and epochs that it fits."""
    train = schedule.train
    limits = [] if train.minutes is None else [f"{train.minutes:g} minute{'' if train.minutes == 1 else 's'}"]
    limits += [] if train.epochs is None else [f"{train.epochs:g} epoch{'' if train.epochs == 1 else 's'}"]
    steps, _, rest = schedule.describe().partition(" steps")
    measured = "" if speed is None else f" (measured {speed.step_seconds:.2g} s each)"
    about = "" if train.minutes is None else "about "
    return f"{' or '.join(limits)}: {about}{steps} steps{measured}{rest}"


def measure_speed(
    task: Trainable[BatchT],
    learner: Learner,
    step: TrainStep[BatchT],
    train: TrainConfig,
    clock: Callable[[], float] = time.monotonic,
) -> MeasuredSpeed:
    """Time real steps within a small share of `train.minutes`.

    The learning rate is zero and the optimizer is reset, so that the training is the same as without it.
    """
    assert train.minutes is not None
    started = clock()
    budget = min(MAX_MEASURED_SECONDS, train.minutes * 60 * MEASURED_SHARE)
    devices = range(torch.cuda.device_count())
    with torch.random.fork_rng(devices=list(devices)):
        step_seconds = _time_steps(task, step, train.accumulate, budget, clock)
    learner.reset_optimizer()
    return MeasuredSpeed(step_seconds, clock() - started)


def _time_steps(
    task: Trainable[BatchT],
    step: TrainStep[BatchT],
    accumulate: int,
    budget: float,
    clock: Callable[[], float],
) -> float:
    """Return the mean seconds of the first steps after a few that are not timed."""
    task.model.train()
    batches = (batch for batch, _ in task.batches({}))
    started = timed_from = clock()
    number = 0
    while number < UNTIMED_STEPS + MIN_TIMED_STEPS or clock() - started < budget:
        number += 1
        step(number, islice(batches, accumulate), 0.0).loss.item()  # waits for the device
        if number == UNTIMED_STEPS:
            timed_from = clock()
    return max(1e-9, clock() - timed_from) / (number - UNTIMED_STEPS)


def _planned_values(section: str, values: Mapping[str, object], planned: Sequence[str]) -> dict[str, Any]:
    """Return the values of the planned settings in a section."""
    return {
        name.partition(".")[2]: value
        for name, value in values.items()
        if name in planned and name.startswith(f"{section}.")
    }
