"""Where a command writes what it found: a file that is whole or absent, or a stream as it is."""

import os
import shutil
from pathlib import Path

from regard.errors import RegardError


def refuse_unwritable(path: Path) -> None:
    """Before the work, not after it."""
    if path.is_dir():
        raise RegardError(f"{path} cannot be written: it is a folder")
    if _is_stream(path):
        return
    folder = path.resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise RegardError(f"{path} cannot be written: {folder} is not a folder you may write to")


def write_output(path: Path, content: bytes) -> None:
    """A file appears whole or not at all; a pipe or a device is written as it is."""
    try:
        if _is_stream(path):
            with path.open("ab") as stream:
                stream.write(content)
        else:
            _replace(path.resolve(), content)  # what a link points to, not the link
    except OSError as error:
        raise RegardError(f"{path} cannot be written: {error.strerror}") from None


def _is_stream(path: Path) -> bool:
    """A pipe or a device, or what /dev/stdout stands for."""
    return (path.exists() and not path.is_file()) or path.absolute().parts[1:2] in (("dev",), ("proc",))


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.writing-{os.getpid()}")
    try:
        temporary.write_bytes(content)
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
