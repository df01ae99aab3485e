"""Run folder: locked by one process, tied to one set of settings, and cleaned of incomplete files."""

import os
import shutil
import tomllib
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from regard.checkpoint import (
    CONFIG_FILE,
    list_checkpoints,
    list_seed_runs,
    remove_leftovers,
    write_file_atomically,
)
from regard.config import DEFAULT_TASK, TASK_KEY, read_settings, read_task
from regard.errors import ConfigError, RegardError
from regard.training.logs.metrics_file import METRICS_FILE

DATA_REPORT_FILE, LOCK_FILE = "data.json", ".lock"
TENSORBOARD_FOLDER = "tensorboard"
MEMORY_DATA_FOLDER = "data"
"""Folder of training data that were given in memory, from Python."""
MEMORY_DATA_FILES = (
    "pairs.jsonl",
    "valid_pairs.jsonl",
    "labelled.jsonl",
    "valid_labelled.jsonl",
    "series.csv",
)
RUN_FILES = (CONFIG_FILE, METRICS_FILE, DATA_REPORT_FILE, LOCK_FILE)
RUN_NAMES = (*RUN_FILES, TENSORBOARD_FOLDER, MEMORY_DATA_FOLDER, "model")
"""What a training writes to its run folder, besides the checkpoints."""


def read_run_settings(out: Path) -> dict[str, dict[str, object]] | None:
    """Return the settings of an existing run, or None if the folder is no run.

    Before there was `data.split_seed`, the training seed selected the held-out lines.
    """
    if not (out / CONFIG_FILE).is_file():
        return None
    settings = read_settings(out / CONFIG_FILE)
    seed = settings.get("train", {}).get("seed")
    if seed is not None and "held_out" in settings.get("data", {}):
        settings["data"].setdefault("split_seed", seed)
    return settings


@contextmanager
def open_run_folder(
    out: Path, settings: str, changeable: Collection[str], defaults: str = ""
) -> Iterator[None]:
    """Lock the folder of a new run, or of one with these settings; those in `changeable` may differ.

    `defaults` are the values of settings that an older run does not have.
    A new run that fails before its first checkpoint leaves nothing behind.
    """
    reject_unusable_folder(out)
    is_new_folder = not out.exists()
    make_run_folder(out)
    with lock_run_folder(out):
        is_new_run = not (out / CONFIG_FILE).exists()
        if not is_new_run:
            _reject_other_settings(out, settings, changeable, defaults)
        try:
            with _name_folder_in_errors(out):
                remove_leftovers(out)
                write_file_atomically(out / CONFIG_FILE, settings)
            yield
        except BaseException:
            if is_new_run and not list_checkpoints(out):
                _remove_new_run(out, is_new_folder)
            raise


def reject_unusable_folder(out: Path) -> None:
    """Refuse, before any work, a folder that is no run or that cannot be written."""
    has_files = out.is_dir() and any(
        path.name != LOCK_FILE and not _is_memory_data(path) for path in out.iterdir()
    )
    if runs := list_seed_runs(out):
        seeds = ",".join(run.name.removeprefix("seed-") for run in runs)
        raise RegardError(
            f"{out} holds the runs of several seeds; give --seeds {seeds} to go on with them, "
            f"--out {runs[0]} for one of them, or another --out"
        )
    if has_files and not (out / CONFIG_FILE).is_file():
        raise RegardError(f"{out} is not empty and holds no run; choose another --out, or delete it first")
    parent = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise RegardError(f"{out} cannot be written: {parent} is not a folder you may write to")


def _is_memory_data(path: Path) -> bool:
    """Return whether a path of a run folder is the folder of data from memory, and holds nothing else."""
    if path.name != MEMORY_DATA_FOLDER or not path.is_dir():
        return False
    names = (LOCK_FILE, *MEMORY_DATA_FILES)
    return all(file.name in names or ".writing-" in file.name for file in path.iterdir())


def make_run_folder(out: Path) -> None:
    with _name_folder_in_errors(out):
        out.mkdir(parents=True, exist_ok=True)


@contextmanager
def lock_run_folder(out: Path) -> Iterator[None]:
    """Hold a lock that ends with the process; forked children do not inherit it."""
    lock = FileLock(out / LOCK_FILE)
    try:
        with _name_folder_in_errors(out):
            lock.acquire(blocking=False)
    except Timeout:
        raise RegardError(
            f"{out} is in use by another process; wait until it has ended, or choose another --out"
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _name_folder_in_errors(out: Path) -> Iterator[None]:
    try:
        yield
    except Timeout:  # an OSError, too
        raise
    except OSError as error:
        raise RegardError(f"{out} cannot be written: {error.strerror}") from None


def _reject_other_settings(out: Path, settings: str, changeable: Collection[str], defaults: str) -> None:
    before = _flatten(tomllib.loads(defaults)) | _flatten(read_run_settings(out) or {})
    now = _flatten(tomllib.loads(settings))
    before[TASK_KEY] = read_task(out / CONFIG_FILE)
    now[TASK_KEY] = tomllib.loads(settings).get(TASK_KEY, DEFAULT_TASK)
    changes = [
        f"{name} was {before.get(name, 'not there')} and is {now.get(name, 'not there')}"
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name) and name not in changeable
    ]
    if changes:
        raise ConfigError(
            f"{out} was started with other settings: {', '.join(changes)}; "
            "give the same ones to resume, or choose another --out"
        )


def _flatten(document: dict[str, Any]) -> dict[str, object]:
    sections = {name: section for name, section in document.items() if isinstance(section, dict)}
    return {f"{name}.{key}": value for name, section in sections.items() for key, value in section.items()}


def _remove_new_run(out: Path, is_new_folder: bool) -> None:
    with suppress(OSError):  # the error that ended the run is the one to report
        for name in RUN_FILES:
            (out / name).unlink(missing_ok=True)
        shutil.rmtree(out / TENSORBOARD_FOLDER, ignore_errors=True)
        if is_new_folder:
            out.rmdir()
