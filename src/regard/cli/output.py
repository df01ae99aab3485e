"""Output of commands: files that appear whole or not at all, streams, and the name of the command."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from regard.checkpoint import open_atomically
from regard.errors import RegardError, SaveError

if TYPE_CHECKING:
    from regard.jobs.line_report import LineIssue


def command_name() -> str:
    """Return `regard` if it is on the PATH, else how it was called, for commands shown to the user."""
    called = Path(sys.argv[0])
    if shutil.which("regard"):
        return "regard"
    return str(called) if called.name == "regard" else f"{sys.executable} -m regard"


def reject_unwritable(path: Path) -> None:
    """Reject an output path that cannot be written, before the work starts."""
    if path.is_dir():
        raise RegardError(f"{path} cannot be written: it is a folder; give a file name")
    if is_stream_path(path):
        return
    folder = path.resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise RegardError(f"{path} cannot be written: {folder} is not a writable folder")


def reject_same_file(paths: Mapping[str, Path | None]) -> None:
    """Reject two flags that name the same file: the second would overwrite the first."""
    flags: dict[Path, str] = {}
    for flag, path in paths.items():
        if path is None or is_stream_path(path):
            continue
        other = flags.setdefault(path.resolve(), flag)
        if other != flag:
            raise RegardError(f"{path} is {other} and {flag}; give one of them another name")


@contextmanager
def open_output(path: Path) -> Iterator[BinaryIO]:
    """Open an output: a file appears whole or not at all, a pipe or device is written directly."""
    try:
        target = path.resolve()  # write through a symbolic link
        with path.open("ab") if is_stream_path(path) else open_atomically(target) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise SaveError(f"{path} cannot be written: {error.strerror}") from None


def write_output(path: Path, content: bytes) -> None:
    """Write a whole output."""
    with open_output(path) as file:
        file.write(content)


def write_line_report(issues: "Sequence[LineIssue]", file: BinaryIO) -> None:
    """Write each issue as a line of JSON."""
    file.writelines(issue.to_json().encode("utf-8") + b"\n" for issue in issues)


def is_stream_path(path: Path) -> bool:
    """Whether a path is a pipe or a device, also through /dev/stdout."""
    return (path.exists() and not path.is_file()) or path.absolute().parts[1:2] in (("dev",), ("proc",))
