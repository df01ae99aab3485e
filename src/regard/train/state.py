"""All it takes to go on as if never stopped: a checkpoint is a model folder with this beside the weights."""

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from regard.checkpoint import MANIFEST, checkpoints, read_manifest, remove_whole, write_whole
from regard.errors import CheckpointError, DataError, FormatError
from regard.train.step import Learner
from regard.train.task import Batch, Position, Trainable
from regard.train.weights import load_tensors, load_weights, save_tensors

STATE, TENSORS = "state.json", "optimizer.safetensors"
TRAINING = (STATE, TENSORS)
"""What a checkpoint has and a published model has not."""


@dataclass(frozen=True)
class Best:
    """The best checkpoint so far."""

    step: int
    metrics: Mapping[str, Any]
    """As the manifest has them: finite figures, and what they need beside them."""


@dataclass(frozen=True)
class State:
    """Where a training stands."""

    step: int = 0
    position: Position = field(default_factory=dict)
    """Where the next batch begins."""
    seconds: float = 0.0
    """Spent on it, by all the processes that it took."""
    validated: int = 0
    """The last step that was."""
    best: Best | None = None
    waited: int = 0
    """Validations since the best one."""
    bad: int = 0
    """Steps skipped in a row, up to this one."""


def checkpoint_path(run: Path, step: int) -> Path:
    return run / f"step-{step:06}"


def write_checkpoint(
    run: Path, task: Trainable[Batch], learner: Learner, state: State, metrics: Mapping[str, Any]
) -> None:
    """The model as shown, and what it takes to go on; whole or not at all."""

    def fill(place: Path) -> dict[str, Any]:
        facts = task.save(place)
        save_tensors(place / TENSORS, learner.tensors())
        written = {"state": asdict(state), "data": dict(task.fingerprint())}
        (place / STATE).write_text(json.dumps(written, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        return {**facts, "step": state.step, "metrics": dict(metrics)}

    write_whole(checkpoint_path(run, state.step), fill)


def bytes_needed(learner: Learner) -> int:
    """About how large a checkpoint is: its tensors."""
    tensors = [*learner.model.parameters(), *learner.tensors().values()]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def newest_whole(run: Path, say: Callable[[str], None]) -> Path | None:
    """The last checkpoint whose every file is what was written.

    Each later one is named and put aside, where no step that comes again will find it in its way. One
    of a later regard is not damaged, and refused.
    """
    found = checkpoints(run)
    while found:
        folder = found.pop()
        try:
            _require_state(folder)
        except FormatError:
            raise
        except CheckpointError as error:
            aside = folder.with_name(f"{folder.name}.damaged")
            if aside.exists():
                remove_whole(aside)
            os.rename(folder, aside)
            then = "the one before is taken" if found else "there is none before, so the run begins again"
            say(f"{without_advice(error)}; it is put aside as {aside.name} and {then}")
        else:
            return folder
    return None


def read_state(folder: Path) -> State:
    """Where the training stood, by a checkpoint that is known to be whole."""
    state, _ = _read(folder)
    return state


def read_data(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file that the training read, by the same."""
    _, data = _read(folder)
    return data


def resume(folder: Path, task: Trainable[Batch], learner: Learner, say: Callable[[str], None]) -> State:
    """Puts weights, moments and mean back as they were; refused where the data is not what it was."""
    state, data = _read(folder)
    refuse_changed(folder.parent, data, task.fingerprint())
    with learner.shown():
        load_weights(folder, task.model)
        learner.restore(load_tensors(folder / TENSORS), f"{folder / TENSORS} does not fit the model")
    return _without_damaged_best(folder, state, say)


def refuse_changed(run: Path, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuses other data than a run began with, and names the files: by their SHA-256 and their order."""
    if list(before.items()) == list(now.items()):
        return
    changed = [name for name in now if before.get(name) != now[name]] or list(now)
    raise DataError(
        f"{', '.join(changed)} changed since {run} was begun (SHA-256 or order differs); "
        "put the old content back to go on, or choose another --out"
    )


def finite(metrics: Mapping[str, float]) -> dict[str, float]:
    """Without what JSON has no word for."""
    return {name: value for name, value in metrics.items() if math.isfinite(value)}


def without_advice(error: CheckpointError) -> str:
    """What is wrong; copying the folder again is not what a run does about it."""
    return re.sub(r"; copy .*", "", str(error))


def _require_state(folder: Path) -> None:
    manifest = read_manifest(folder)
    for name in TRAINING:
        if name not in manifest["files"]:
            raise CheckpointError(f"{folder / MANIFEST} is damaged: it does not name {name}")
    if checkpoint_path(folder.parent, read_state(folder).step) != folder:
        raise CheckpointError(f"{folder} is damaged: {STATE} is of another step")


def _read(folder: Path) -> tuple[State, dict[str, str]]:
    try:
        written = json.loads((folder / STATE).read_bytes())
        best = written["state"].pop("best")
        return State(**written["state"], best=None if best is None else Best(**best)), written["data"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{folder / STATE} cannot be read: {error}") from None


def _without_damaged_best(folder: Path, state: State, say: Callable[[str], None]) -> State:
    """A best that cannot be published is none; the next validation finds another."""
    best = folder if state.best is None else checkpoint_path(folder.parent, state.best.step)
    try:
        if best != folder:
            read_manifest(best)
    except CheckpointError as error:
        say(f"{without_advice(error)}; it was the best so far, and another is looked for from here on")
        return replace(state, best=None, waited=0, validated=0)
    return state
