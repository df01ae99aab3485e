"""Output of commands: files that appear whole or not at all, streams, and the name of the command."""

import json
import math
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

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


def replace_closed_streams() -> None:
    """Take the place of stdin, stdout and stderr that are closed (`>&-`), so that no other file gets it.

    Writing to a closed stdout is an error; what is written to a closed stderr is lost.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:  # the new descriptor is the lowest that is free
            os.set_inheritable(os.open(os.devnull, os.O_WRONLY if descriptor == 2 else os.O_RDONLY), True)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def ignore_zero_width() -> None:
    """Remove COLUMNS=0, which shells without a terminal set: tables of no width would be empty."""
    if not os.environ.get("COLUMNS", "1").strip("0"):
        del os.environ["COLUMNS"]


def discard_stdout() -> None:
    """Discard what stdout has not written yet, which would fail again when Python exits."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    with suppress(OSError, ValueError):  # a test may have replaced the stream
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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


def print_json(document: Any, indent: int | None = 2) -> None:
    """Print a document as JSON, in UTF-8 whatever the locale."""
    sys.stdout.buffer.write(f"{format_json(document, indent)}\n".encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def format_json(document: Any, indent: int | None = 2) -> str:
    """Return a document as JSON; what is not finite becomes null."""
    return json.dumps(_without_non_finite(document), indent=indent, ensure_ascii=False, allow_nan=False)


def _without_non_finite(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _without_non_finite(each) for key, each in value.items()}
        case list() | tuple():
            return [_without_non_finite(each) for each in value]
        case _:
            return value


def write_line_report(issues: "Sequence[LineIssue]", file: BinaryIO) -> None:
    """Write each issue as a line of JSON."""
    file.writelines(issue.to_json().encode("utf-8") + b"\n" for issue in issues)


def is_stream_path(path: Path) -> bool:
    """Whether a path is a pipe or a device, also through /dev/stdout."""
    return (path.exists() and not path.is_file()) or path.absolute().parts[1:2] in (("dev",), ("proc",))
