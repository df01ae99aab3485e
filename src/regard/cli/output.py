"""How the user called us, so that what we tell them to type works."""

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
    """`regard` where that is on the path, else the way to it, as after `make demo` in a fresh clone."""
    called = Path(sys.argv[0])
    if shutil.which("regard"):
        return "regard"
    return str(called) if called.name == "regard" else f"{sys.executable} -m regard"


def reject_unwritable(path: Path) -> None:
    """Before the work, not after it."""
    if path.is_dir():
        raise RegardError(f"{path} cannot be written: it is a folder")
    if is_stream_path(path):
        return
    folder = path.resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise RegardError(f"{path} cannot be written: {folder} is not a folder you may write to")


def reject_same_file(paths: Mapping[str, Path | None]) -> None:
    """Flags that name one file: what the second of them means would take the place of the first's."""
    named: dict[Path, str] = {}
    for flag, path in paths.items():
        if path is None or is_stream_path(path):
            continue
        other = named.setdefault(path.resolve(), flag)
        if other != flag:
            raise RegardError(f"{path} is {other} and {flag}; give one of them another name")


@contextmanager
def open_output(path: Path) -> Iterator[BinaryIO]:
    """A file appears whole or not at all; a pipe or a device is written as it is."""
    try:
        with (
            path.open("ab") if is_stream_path(path) else open_atomically(path.resolve()) as file
        ):  # not a link, its end
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise SaveError(f"{path} cannot be written: {error.strerror}") from None


def write_output(path: Path, content: bytes) -> None:
    """All of it at once."""
    with open_output(path) as file:
        file.write(content)


def write_line_report(troubles: "Sequence[LineIssue]", said: BinaryIO | None) -> None:
    """Each as a line of JSON, where somebody wants them."""
    if said is not None:
        said.writelines(trouble.to_json().encode("utf-8") + b"\n" for trouble in troubles)


def is_stream_path(path: Path) -> bool:
    """A pipe or a device, or what /dev/stdout stands for."""
    return (path.exists() and not path.is_file()) or path.absolute().parts[1:2] in (("dev",), ("proc",))
