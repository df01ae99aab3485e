"""Path arguments, each declared as input or output, and the rule that no output replaces an input or a model.

`regard.cli.main` applies the rule before every command, so that no command can forget it.
"""

import argparse
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regard.api.run_inputs import is_same_file, reject_inputs_in_run_folder, resolve_path
from regard.checkpoint import CONFIG_FILE, MANIFEST_FILE
from regard.cli.args.help_format import flag_name
from regard.cli.output import is_stream_path
from regard.errors import RegardError

STDOUT_NAME = "-"
"""The name that stands for stdout."""


@dataclass(frozen=True)
class PathArgument:
    """The `type` of an argument that is a path: what a command does with it, and the type of its value."""

    role: Literal["input", "output", "run folder"]
    convert: Callable[[str], Any] = Path
    may_replace: tuple[str, ...] = ()
    """The names of input arguments which the command may replace."""
    may_be_folder: bool = False
    """Whether an output may be a folder, in which the command chooses the names."""

    def __call__(self, text: str) -> Any:
        return self.convert(text)


INPUT_PATH = PathArgument("input")
"""A file, model or run that is read."""
INPUT_NAME = PathArgument("input", str)
"""The same, as a string: a setting of a run, or a text that may be the name of a file."""
OUTPUT_FILE = PathArgument("output")
OUTPUT_FILE_OR_STDOUT = PathArgument("output", lambda name: None if name == STDOUT_NAME else Path(name))
"""A file that is written; None is stdout."""
OUTPUT_FOR_FILES = PathArgument("output", OUTPUT_FILE_OR_STDOUT.convert, may_be_folder=True)
"""The same, or a folder for the outputs of several files."""
OUTPUT_OF_DOCUMENTS = PathArgument(
    "output", OUTPUT_FILE_OR_STDOUT.convert, may_replace=("input", "files"), may_be_folder=True
)
"""The same; a document may be replaced by its translation, which the command checks itself."""
OUTPUT_FOLDER = PathArgument("output", may_be_folder=True)
"""A folder that is written to."""
RUN_FOLDER = PathArgument("run folder")
"""The folder that a training writes to."""


@dataclass(frozen=True)
class _GivenPath:
    """A path on the command line; stdin and stdout are file descriptors."""

    flag: str
    path: Path | int
    argument: PathArgument
    name: str = ""
    """The attribute of the parsed options."""

    @property
    def title(self) -> str:
        return f"{self.flag} {self.path}" if isinstance(self.path, Path) else self.flag

    @property
    def is_stream(self) -> bool:
        return isinstance(self.path, Path) and is_stream_path(self.path)


def check_paths(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Reject outputs that cannot be written or that would replace an input, a model or another output."""
    paths = [*_given_paths(parser, options), *_standard_streams()]
    inputs = [given for given in paths if given.argument.role == "input"]
    outputs = [given for given in paths if given.argument.role == "output"]
    for number, output in enumerate(outputs):
        if isinstance(output.path, Path):
            if not (output.argument.may_be_folder and output.path.is_dir()):
                _reject_unwritable(output.path)
            _reject_file_of_model(output.path, output.title, inputs)
        for given in inputs:
            if given.name not in output.argument.may_replace:
                _reject_same_file(output, given)
        for other in outputs[:number]:
            _reject_same_output(output, other)
    for given in paths:
        if given.argument.role == "run folder" and isinstance(given.path, Path):
            _reject_file_of_model(given.path, given.title)
            reject_inputs_in_run_folder(
                given.path, ((each.flag, each.path) for each in inputs if isinstance(each.path, Path))
            )


def path_actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments of a parser that are declared as paths."""
    return [action for action in parser._actions if isinstance(action.type, PathArgument)]


def reject_replaced_input(output: Path | None, path: Path | None) -> None:
    """Reject an --out that is the input file, in a command that knows only later whether it may be."""
    if output is not None and path is not None:
        _reject_same_file(_GivenPath("--out", output, OUTPUT_FILE), _GivenPath("the input", path, INPUT_PATH))


def _given_paths(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Iterator[_GivenPath]:
    """Yield the paths among the arguments of a command, each with the flag that the user knows."""
    for action in path_actions(parser):
        assert isinstance(action.type, PathArgument)
        value = getattr(options, action.dest)
        for each in value if isinstance(value, list) else [value]:
            if each is not None:
                yield _GivenPath(flag_name(action), Path(each), action.type, action.dest)


def _standard_streams() -> Iterator[_GivenPath]:
    """Yield stdin and stdout: the shell may have redirected them to a file."""
    yield _GivenPath("stdin", 0, INPUT_PATH)
    yield _GivenPath("stdout", 1, OUTPUT_FILE)


def _reject_unwritable(path: Path) -> None:
    """Reject an output path that cannot be written, before the work starts."""
    if path.is_dir():
        raise RegardError(f"{path} cannot be written: it is a folder; give a file name")
    if is_stream_path(path):
        return
    folder = path.resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise RegardError(f"{path} cannot be written: {folder} is not a writable folder")


def _reject_same_file(output: _GivenPath, given: _GivenPath) -> None:
    """Reject an output that is an input, also through a link or another spelling of its name."""
    if is_same_file(output.path, given.path, regular=True):
        raise RegardError(f"{output.title} would replace {given.title}; give another name to one of them")


def _reject_same_output(output: _GivenPath, other: _GivenPath) -> None:
    """Reject two outputs with one name; names that differ in case only are one on some file systems."""
    if output.is_stream or other.is_stream:
        return
    names = [
        str(resolve_path(each.path)).casefold() for each in (output, other) if isinstance(each.path, Path)
    ]
    if names[1:] == names[:1] or is_same_file(output.path, other.path, regular=True):
        raise RegardError(f"{output.title} is also {other.title}; give one of them another name")


def _reject_file_of_model(path: Path, title: str, inputs: Iterable[_GivenPath] = ()) -> None:
    """Reject a path inside any model folder, a file of any run, and a hard link to one of the inputs."""
    resolved = resolve_path(path)
    for folder in (resolved, *resolved.parents):
        name = next(iter(resolved.relative_to(folder).parts), "")
        if _is_model_folder(folder) or _is_run_file(folder, name):
            raise RegardError(f"{title} belongs to the model or run {folder}; give another name")
    if resolved.is_file() and resolved.stat().st_nlink > 1:
        for given in inputs:
            if isinstance(given.path, Path) and _has_file(given.path, resolved):
                raise RegardError(f"{title} is a link to a file of {given.title}; give another name")


def _is_model_folder(folder: Path) -> bool:
    return (folder / MANIFEST_FILE).is_file() and (folder / CONFIG_FILE).is_file()


def _is_run_file(folder: Path, name: str) -> bool:
    """Return whether a folder is a run, and the name one that a training writes there."""
    from regard.training.logs.metrics_file import METRICS_FILE

    if not (folder / CONFIG_FILE).is_file() or not (folder / METRICS_FILE).is_file():
        return False
    from regard.training.run_folder import RUN_NAMES

    return name.casefold() in RUN_NAMES


def _has_file(folder: Path, path: Path) -> bool:
    """Return whether a model or run, or a model in the run, has a file under any name."""
    if not (folder / CONFIG_FILE).is_file():
        return False
    folders = [folder, *(each for each in folder.iterdir() if _is_model_folder(each))]
    return any(is_same_file(path, each) for place in folders for each in place.iterdir())
