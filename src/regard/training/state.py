"""Training state: checkpoints that a training resumes from exactly, and checks of what they contain."""

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from regard.checkpoint import (
    MANIFEST_FILE,
    list_checkpoints,
    read_manifest,
    remove_folder_atomically,
    write_folder_atomically,
)
from regard.errors import CheckpointError, DataError, FormatError
from regard.training.step import Learner
from regard.training.task import BatchT, DataPosition, Trainable
from regard.training.weights import load_tensors, load_weights, save_tensors

STATE_FILE, OPTIMIZER_FILE = "state.json", "optimizer.safetensors"
TRAINING_FILES = (STATE_FILE, OPTIMIZER_FILE)
"""Files of a checkpoint that a published model does not have."""


@dataclass(frozen=True)
class BestCheckpoint:
    """The best checkpoint so far."""

    step: int
    metrics: Mapping[str, Any]
    """As in the manifest: finite metrics, and their signatures."""


@dataclass(frozen=True)
class TrainingState:
    """Progress of a training."""

    step: int = 0
    position: DataPosition = field(default_factory=dict)
    """Where the next batch starts in the data."""
    seconds: float = 0.0
    """Training time, over all processes of the run."""
    validated: int = 0
    """The last step with a validation."""
    best: BestCheckpoint | None = None
    validations_since_best: int = 0
    """Validations since the best one."""
    consecutive_skips: int = 0
    """Consecutive skipped steps up to this one."""
    limits: Mapping[str, int | float | None] = field(default_factory=dict)
    """The limits of steps, minutes and epochs that the schedule was planned for."""


@dataclass(frozen=True)
class ResumePoint:
    """An undamaged checkpoint to resume a training from."""

    folder: Path
    manifest: Mapping[str, Any]
    state: TrainingState
    data_hashes: Mapping[str, str]
    """The SHA-256 of each data file that the training read."""


def checkpoint_path(run: Path, step: int) -> Path:
    return run / f"step-{step:06}"


def parse_checkpoint_step(path: Path) -> int:
    """Return the step in the name of a checkpoint."""
    return int(path.name.removeprefix("step-"))


def write_checkpoint(
    run: Path, task: Trainable[BatchT], learner: Learner, state: TrainingState, metrics: Mapping[str, Any]
) -> None:
    """Write the model with its current weights and the training state, as a whole or not at all."""

    def write_files(folder: Path) -> dict[str, Any]:
        metadata = task.save(folder)
        save_tensors(folder / OPTIMIZER_FILE, learner.state_tensors())
        content = {"state": asdict(state), "data": dict(task.fingerprint())}
        text = json.dumps(content, indent=2, allow_nan=False) + "\n"
        (folder / STATE_FILE).write_text(text, encoding="utf-8")
        return {**metadata, "step": state.step, "metrics": dict(metrics)}

    write_folder_atomically(checkpoint_path(run, state.step), write_files)


def checkpoint_bytes(learner: Learner) -> int:
    """Return the approximate size of a checkpoint: that of its tensors."""
    tensors = [*learner.model.parameters(), *learner.state_tensors().values()]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def find_resume_point(run: Path, notify: Callable[[str], None]) -> ResumePoint | None:
    """Return the last undamaged checkpoint of a run, every file checked.

    Each damaged one after it is reported and renamed, so that its step can be written again. A checkpoint
    in a later format is not damaged: it raises `FormatError`.
    """
    folders = list_checkpoints(run)
    while folders:
        folder = folders.pop()
        try:
            return read_resume_point(folder)
        except FormatError:
            raise
        except CheckpointError as error:
            damaged = folder.with_name(f"{folder.name}.damaged")
            if damaged.exists():
                remove_folder_atomically(damaged)
            os.rename(folder, damaged)
            fallback = "the checkpoint before it is used" if folders else "training starts from the beginning"
            notify(f"{strip_advice(error)}; it is renamed to {damaged.name}, and {fallback}")
    return None


def read_resume_point(folder: Path) -> ResumePoint:
    """Read the training state of a checkpoint after checking every file."""
    manifest = read_manifest(folder)
    for name in TRAINING_FILES:
        if name not in manifest["files"]:
            raise CheckpointError(f"{folder / MANIFEST_FILE} is damaged: it does not name {name}")
    state, data_hashes = _read_state_file(folder)
    if checkpoint_path(folder.parent, state.step) != folder:
        raise CheckpointError(f"{folder} is damaged: {STATE_FILE} is of another step")
    return ResumePoint(folder, manifest, state, data_hashes)


def find_checkpoint_before(checkpoints: Sequence[Path], last_step: int) -> list[Path]:
    """Return the last checkpoint up to a step, if there is one, and the best checkpoint before it."""
    earlier = [path for path in checkpoints if parse_checkpoint_step(path) <= last_step]
    if not earlier:
        return []
    try:
        best = _read_state_file(earlier[-1])[0].best
    except CheckpointError:  # a damaged one is found when it is needed
        return earlier[-1:]
    return [earlier[-1]] if best is None else [earlier[-1], checkpoint_path(earlier[-1].parent, best.step)]


def restore_training(
    checkpoint: ResumePoint, task: Trainable[BatchT], learner: Learner, notify: Callable[[str], None]
) -> TrainingState:
    """Restore weights, optimizer moments and averaged weights; refuse data that has changed."""
    folder = checkpoint.folder
    reject_changed_data(folder.parent, checkpoint.data_hashes, task.fingerprint())
    with learner.ema_weights():
        load_weights(folder, task.model)
        tensors = load_tensors(folder / OPTIMIZER_FILE)
        learner.load_state_tensors(tensors, f"{folder / OPTIMIZER_FILE} does not fit the model")
    return _without_damaged_best(folder, checkpoint.state, notify)


def reject_changed_data(run: Path, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuse data files whose SHA-256 or order differ from those the run was started with."""
    if list(before.items()) == list(now.items()):
        return
    changed = [name for name in now if before.get(name) != now[name]] or list(now)
    raise DataError(
        f"{', '.join(changed)} changed since {run} was started (SHA-256 or order differs); "
        "restore the old content to resume, or choose another --out"
    )


def finite_metrics(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics that JSON can express: neither NaN nor infinity."""
    return {name: value for name, value in metrics.items() if math.isfinite(value)}


def strip_advice(error: CheckpointError) -> str:
    """Return what is wrong with a folder without the advice to copy it again, which a run cannot follow."""
    return re.sub(r"; copy .*", "", str(error))


def _read_state_file(folder: Path) -> tuple[TrainingState, dict[str, str]]:
    try:
        content = json.loads((folder / STATE_FILE).read_bytes())
        best = content["state"].pop("best")
        best = None if best is None else BestCheckpoint(**best)
        return TrainingState(**content["state"], best=best), content["data"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{folder / STATE_FILE} cannot be read: {error}") from None


def _without_damaged_best(folder: Path, state: TrainingState, notify: Callable[[str], None]) -> TrainingState:
    """Forget a best checkpoint that is damaged and cannot be published; the next validation finds another."""
    best_folder = folder if state.best is None else checkpoint_path(folder.parent, state.best.step)
    try:
        if best_folder != folder:
            read_manifest(best_folder)
    except CheckpointError as error:
        notify(f"{strip_advice(error)}; it was the best checkpoint, and the next validation selects another")
        return replace(state, best=None, validations_since_best=0, validated=0)
    return state
