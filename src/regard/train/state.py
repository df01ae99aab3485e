"""All it takes to go on as if never stopped: a checkpoint is a model folder with this beside the weights."""

import json
import math
import os
import re
from collections.abc import Callable, Mapping
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
from regard.train.step import Learner
from regard.train.task import BatchT, DataPosition, Trainable
from regard.train.weights import load_tensors, load_weights, save_tensors

STATE_FILE, OPTIMIZER_FILE = "state.json", "optimizer.safetensors"
TRAINING_FILES = (STATE_FILE, OPTIMIZER_FILE)
"""What a checkpoint has and a published model has not."""


@dataclass(frozen=True)
class BestCheckpoint:
    """The best checkpoint so far."""

    step: int
    metrics: Mapping[str, Any]
    """As the manifest has them: finite figures, and what they need beside them."""


@dataclass(frozen=True)
class TrainingState:
    """Where a training stands."""

    step: int = 0
    position: DataPosition = field(default_factory=dict)
    """Where the next batch begins."""
    seconds: float = 0.0
    """Spent on it, by all the processes that it took."""
    validated: int = 0
    """The last step that was."""
    best: BestCheckpoint | None = None
    waited: int = 0
    """Validations since the best one."""
    bad: int = 0
    """Steps skipped in a row, up to this one."""


def checkpoint_path(run: Path, step: int) -> Path:
    return run / f"step-{step:06}"


def write_checkpoint(
    run: Path, task: Trainable[BatchT], learner: Learner, state: TrainingState, metrics: Mapping[str, Any]
) -> None:
    """The model as shown, and what it takes to go on; whole or not at all."""

    def fill(place: Path) -> dict[str, Any]:
        facts = task.save(place)
        save_tensors(place / OPTIMIZER_FILE, learner.state_tensors())
        written = {"state": asdict(state), "data": dict(task.fingerprint())}
        (place / STATE_FILE).write_text(
            json.dumps(written, indent=2, allow_nan=False) + "\n", encoding="utf-8"
        )
        return {**facts, "step": state.step, "metrics": dict(metrics)}

    write_folder_atomically(checkpoint_path(run, state.step), fill)


def checkpoint_bytes(learner: Learner) -> int:
    """About how large a checkpoint is: its tensors."""
    tensors = [*learner.model.parameters(), *learner.state_tensors().values()]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def find_resumable_checkpoint(run: Path, notify: Callable[[str], None]) -> Path | None:
    """The last checkpoint whose every file is what was written.

    Each later one is named and put aside, where no step that comes again will find it in its way. One
    of a later regard is not damaged, and refused.
    """
    found = list_checkpoints(run)
    while found:
        folder = found.pop()
        try:
            _require_training_files(folder)
        except FormatError:
            raise
        except CheckpointError as error:
            aside = folder.with_name(f"{folder.name}.damaged")
            if aside.exists():
                remove_folder_atomically(aside)
            os.rename(folder, aside)
            then = "the one before is taken" if found else "there is none before, so the run begins again"
            notify(f"{strip_advice(error)}; it is put aside as {aside.name} and {then}")
        else:
            return folder
    return None


def read_training_state(folder: Path) -> TrainingState:
    """Where the training stood, by a checkpoint that is known to be whole."""
    state, _ = _read(folder)
    return state


def read_data_hashes(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file that the training read, by the same."""
    _, data = _read(folder)
    return data


def restore_training(
    folder: Path, task: Trainable[BatchT], learner: Learner, notify: Callable[[str], None]
) -> TrainingState:
    """Puts weights, moments and mean back as they were; refused where the data is not what it was."""
    state, data = _read(folder)
    reject_changed_data(folder.parent, data, task.fingerprint())
    with learner.ema_weights():
        load_weights(folder, task.model)
        learner.load_state_tensors(
            load_tensors(folder / OPTIMIZER_FILE), f"{folder / OPTIMIZER_FILE} does not fit the model"
        )
    return _without_damaged_best(folder, state, notify)


def reject_changed_data(run: Path, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuses other data than a run began with, and names the files: by their SHA-256 and their order."""
    if list(before.items()) == list(now.items()):
        return
    changed = [name for name in now if before.get(name) != now[name]] or list(now)
    raise DataError(
        f"{', '.join(changed)} changed since {run} was begun (SHA-256 or order differs); "
        "put the old content back to go on, or choose another --out"
    )


def finite_metrics(metrics: Mapping[str, float]) -> dict[str, float]:
    """Without what JSON has no word for."""
    return {name: value for name, value in metrics.items() if math.isfinite(value)}


def strip_advice(error: CheckpointError) -> str:
    """What is wrong; copying the folder again is not what a run does about it."""
    return re.sub(r"; copy .*", "", str(error))


def _require_training_files(folder: Path) -> None:
    manifest = read_manifest(folder)
    for name in TRAINING_FILES:
        if name not in manifest["files"]:
            raise CheckpointError(f"{folder / MANIFEST_FILE} is damaged: it does not name {name}")
    if checkpoint_path(folder.parent, read_training_state(folder).step) != folder:
        raise CheckpointError(f"{folder} is damaged: {STATE_FILE} is of another step")


def _read(folder: Path) -> tuple[TrainingState, dict[str, str]]:
    try:
        written = json.loads((folder / STATE_FILE).read_bytes())
        best = written["state"].pop("best")
        return TrainingState(
            **written["state"], best=None if best is None else BestCheckpoint(**best)
        ), written["data"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{folder / STATE_FILE} cannot be read: {error}") from None


def _without_damaged_best(folder: Path, state: TrainingState, say: Callable[[str], None]) -> TrainingState:
    """A best that cannot be published is none; the next validation finds another."""
    best = folder if state.best is None else checkpoint_path(folder.parent, state.best.step)
    try:
        if best != folder:
            read_manifest(best)
    except CheckpointError as error:
        say(f"{strip_advice(error)}; it was the best so far, and another is looked for from here on")
        return replace(state, best=None, waited=0, validated=0)
    return state
