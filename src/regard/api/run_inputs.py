"""Inputs of a training: none may lie in the run folder, which the training writes to."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from regard.checkpoint import CONFIG_FILE
from regard.config import run_traits
from regard.errors import RegardError


def reject_inputs_in_run_folder(folder: Path, inputs: Iterable[tuple[str, Path]]) -> None:
    """Reject inputs inside the folder that a training writes to, except its settings and data from memory."""
    from regard.training.run_folder import MEMORY_DATA_FILES, MEMORY_DATA_FOLDER

    own_files = [folder / CONFIG_FILE, *(folder / MEMORY_DATA_FOLDER / name for name in MEMORY_DATA_FILES)]
    for flag, path in inputs:
        resolved = resolve_path(path)
        is_inside = any(is_same_file(folder, each) for each in (resolved, *resolved.parents))
        if is_inside and not any(is_same_file(path, own) for own in own_files):
            raise RegardError(
                f"{flag} {path} is in the run folder {folder}, which the training writes to; move it, or "
                "choose another --out"
            )


def input_settings(run: object) -> Iterator[tuple[str, Path]]:
    """Yield each setting of a run that names an input, with its path."""
    for name, traits in run_traits(run).items():
        section, _, key = name.partition(".")
        value = getattr(getattr(run, section), key)
        if traits.is_path and traits.flag is not None and value is not None:
            yield from ((name, Path(path)) for path in ((value,) if isinstance(value, str) else value))


def is_same_file(first: Path | int, second: Path | int, regular: bool = False) -> bool:
    """Return whether two paths or file descriptors are one file or folder; `regular` excludes devices."""
    with suppress(OSError, ValueError):  # one does not exist, or is a text that cannot be a path
        status = os.stat(first)
        return os.path.samestat(status, os.stat(second)) and (not regular or stat.S_ISREG(status.st_mode))
    return False


def resolve_path(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a text that cannot be a path
        return path.absolute()
