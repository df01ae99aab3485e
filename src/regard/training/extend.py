"""A run that is made longer: the checkpoint it continues from, and the schedule that it continues with."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from regard.checkpoint import list_checkpoints, remove_folder_atomically
from regard.errors import CheckpointError, ConfigError
from regard.training.loop import TrainConfig
from regard.training.model_files import read_config_section
from regard.training.optimizer import OptimizerConfig
from regard.training.schedule import (
    TIME_MARGIN,
    count_limited_steps,
    read_limits,
    scale_cooldown,
)
from regard.training.setup import RunConfig, Schedule
from regard.training.state import ResumePoint, parse_checkpoint_step, read_resume_point


@dataclass(frozen=True)
class RunExtension:
    """How a run with new limits goes on."""

    checkpoint: ResumePoint | None
    """The checkpoint it continues from; None: from the beginning."""
    schedule: Schedule


def read_schedule(checkpoint: Path) -> Schedule:
    """Return the schedule that a checkpoint was written with."""
    return Schedule(
        read_config_section(checkpoint, OptimizerConfig, "optimizer"),
        read_config_section(checkpoint, TrainConfig, "train"),
    )


def has_new_limits(run: RunConfig, checkpoint: ResumePoint) -> bool:
    """Return whether the run has other limits than those that its checkpoint was planned for."""
    now = read_limits(run.train)
    before = checkpoint.state.limits
    if not before:  # written before runs were planned
        train = read_schedule(checkpoint.folder).train
        before = {**read_limits(train), "steps": None if now["steps"] is None else train.steps}
    return dict(before) != now


def reject_fewer_steps(run: RunConfig, out: Path) -> None:
    """Refuse fewer steps for a run with a cooldown, which may have begun."""
    checkpoints, limits = list_checkpoints(out), read_limits(run.train)
    steps = limits["steps"]
    if not checkpoints or steps is None or limits["minutes"] is not None or limits["epochs"] is not None:
        return
    with suppress(CheckpointError):  # a damaged one is reported later
        before = read_schedule(checkpoints[-1])
        if before.optimizer.cooldown is not None and steps < before.train.steps:
            raise ConfigError(
                f"{out} was started with other settings: train.steps was {before.train.steps} and is "
                f"{steps}, but a cooldown is planned for that end; give more steps, or choose another --out"
            )


def extend_run(run: RunConfig, checkpoint: ResumePoint, steps_per_epoch: Callable[[], int]) -> RunExtension:
    """Return how a run goes on with its new limits.

    Up to its cooldown the learning rate does not depend on the number of steps. So a longer run continues
    from the last checkpoint before the cooldown, and is the run that it would have been from the beginning.
    """
    before = read_schedule(checkpoint.folder)
    last = before.last_step_before_cooldown
    start = checkpoint if last is None else _find_checkpoint(checkpoint, last)
    steps = _count_steps(run, steps_per_epoch, start or checkpoint, before.train.steps)
    if last is not None and steps <= before.train.steps:  # time may end it earlier, with the same schedule
        return RunExtension(checkpoint, _with_steps(before, run, before.train.steps))
    return RunExtension(start, _with_steps(before, run, steps))


def discard_checkpoints_after(out: Path, checkpoint: ResumePoint | None) -> None:
    """Delete the later checkpoints, the last one first, so that a crash leaves a run that can resume."""
    step = 0 if checkpoint is None else checkpoint.state.step
    for path in reversed(list_checkpoints(out)):
        if parse_checkpoint_step(path) > step:
            remove_folder_atomically(path)


def describe_extension(out: Path, extension: RunExtension, before: Schedule) -> str:
    """Return in one line how the run goes on."""
    train = extension.schedule.train
    length = f"{out} is made longer, from {before.train.steps:,} to {train.steps:,} steps"
    last = before.last_step_before_cooldown
    if last is None:
        return length
    model = f"the new one is planned for the new end, and {out / 'model'} stays until then"
    if extension.checkpoint is None:
        return f"{length}: no checkpoint is older than its cooldown, so it starts again at step 1; {model}"
    step = extension.checkpoint.state.step
    return f"{length}: it continues from step {step:,}, before its cooldown began; {model}"


def _find_checkpoint(checkpoint: ResumePoint, last_step: int) -> ResumePoint | None:
    """Return the last undamaged checkpoint up to a step."""
    if checkpoint.state.step <= last_step:
        return checkpoint
    for path in reversed(list_checkpoints(checkpoint.folder.parent)):
        if parse_checkpoint_step(path) <= last_step:
            with suppress(CheckpointError):
                return read_resume_point(path)
    return None


def _count_steps(run: RunConfig, steps_per_epoch: Callable[[], int], start: ResumePoint, default: int) -> int:
    """Return the number of steps that the limits allow, at the speed of the training so far."""
    counts, minutes = count_limited_steps(read_limits(run.train), steps_per_epoch), run.train.minutes
    if minutes is not None and run.train.planned and start.state.step:
        seconds_per_step = max(1e-9, start.state.seconds / start.state.step)
        left = minutes * 60 * (1 - TIME_MARGIN) - start.state.seconds
        counts.append(start.state.step + max(0, int(left / seconds_per_step)))
    return min(counts, default=default)


def _with_steps(before: Schedule, run: RunConfig, steps: int) -> Schedule:
    """Return the schedule with another end; warm-up, validations and EMA stay, as they have begun."""
    cooldown = before.optimizer.cooldown
    if cooldown is not None and "optimizer.cooldown" in run.train.planned:
        cooldown = scale_cooldown(cooldown, before.train.steps, steps)
    train = replace(run.train, steps=steps, save_every=before.train.save_every, ema=before.train.ema)
    return Schedule(replace(before.optimizer, cooldown=cooldown), train)
