"""Output of commands: files that appear whole or not at all, streams, and the name of the command."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from regard.checkpoint import open_atomically
from regard.errors import SaveError

if TYPE_CHECKING:
    from regard.jobs.line_report import LineIssue


def command_name() -> str:
    """Return `regard` if it is on the PATH, else how it was called, for commands shown to the user."""
    called = Path(sys.argv[0])
    if shutil.which("regard"):
        return "regard"
    return str(called) if called.name == "regard" else f"{sys.executable} -m regard"


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
