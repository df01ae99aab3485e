"""A run's folder: one process at a time, one set of settings, nothing half written left in it."""

import os
import shutil
import tomllib
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from regard.checkpoint import list_checkpoints, remove_leftovers, write_file_atomically
from regard.config import DEFAULT_TASK, TASK_KEY, read_settings, read_task
from regard.errors import ConfigError, RegardError
from regard.train.logs.metrics_file import METRICS_FILE

SETTINGS_FILE, DATA_REPORT_FILE, LOCK_FILE = "config.toml", "data.json", ".lock"
TENSORBOARD_FOLDER = "tensorboard"


@contextmanager
def open_run_folder(out: Path, settings: str, changeable: Collection[str]) -> Iterator[None]:
    """The folder of a new run, or of one that was begun with these settings; those in `free` may differ.

    A run that fails before its first checkpoint leaves things as they were.
    """
    reject_unusable_folder(out)
    made = not out.exists()
    with _write_errors_named(out):
        out.mkdir(parents=True, exist_ok=True)
    with _locked(out):
        begun = (out / SETTINGS_FILE).exists()
        if begun:
            _reject_other_settings(out, settings, changeable)
        try:
            with _write_errors_named(out):
                remove_leftovers(out)
                write_file_atomically(out / SETTINGS_FILE, settings)
            yield
        except BaseException:
            if not begun and not list_checkpoints(out):
                _remove_new_run(out, made)
            raise


def reject_unusable_folder(out: Path) -> None:
    """Says at once what would otherwise be found out after the training."""
    strange = out.is_dir() and any(path.name != LOCK_FILE for path in out.iterdir())
    if strange and not (out / SETTINGS_FILE).is_file():
        raise RegardError(f"{out} is not empty and holds no run; choose another --out, or delete it first")
    parent = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise RegardError(f"{out} cannot be written: {parent} is not a folder you may write to")


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Holds a lock that dies with the process, whatever it dies of.

    It is the process's own: workers that were forked do not hold it when they outlive their parent.
    """
    if os.name == "nt":
        yield
        return
    import fcntl

    with _write_errors_named(out):
        file = (out / LOCK_FILE).open("a")
    with file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RegardError(
                f"{out} is in use by another process; wait until it has ended, or choose another --out"
            ) from None
        yield


@contextmanager
def _write_errors_named(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RegardError(f"{out} cannot be written: {error.strerror}") from None


def _reject_other_settings(out: Path, settings: str, free: Collection[str]) -> None:
    before, now = _flatten(read_settings(out / SETTINGS_FILE)), _flatten(tomllib.loads(settings))
    before[TASK_KEY], now[TASK_KEY] = (
        read_task(out / SETTINGS_FILE),
        tomllib.loads(settings).get(TASK_KEY, DEFAULT_TASK),
    )
    differ = [
        f"{name} was {before.get(name, 'not there')} and is {now.get(name, 'not there')}"
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name) and name not in free
    ]
    if differ:
        raise ConfigError(
            f"{out} was begun with other settings: {', '.join(differ)}; "
            "give the same ones to go on, or choose another --out"
        )


def _flatten(document: dict[str, Any]) -> dict[str, object]:
    sections = {name: section for name, section in document.items() if isinstance(section, dict)}
    return {f"{name}.{key}": value for name, section in sections.items() for key, value in section.items()}


def _remove_new_run(out: Path, made: bool) -> None:
    with suppress(OSError):  # whatever went wrong matters more than this
        for name in (SETTINGS_FILE, METRICS_FILE, DATA_REPORT_FILE, LOCK_FILE):
            (out / name).unlink(missing_ok=True)
        shutil.rmtree(out / TENSORBOARD_FOLDER, ignore_errors=True)
        if made:
            out.rmdir()
