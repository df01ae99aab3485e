"""Inputs of translate and classify: files named on the command line, texts of --text, or stdin."""

import argparse
import shlex
from argparse import Namespace
from pathlib import Path

from regard.cli.args.path_args import INPUT_PATH, check_paths
from regard.errors import RegardError

MAX_SHOWN_TEXT = 60


def add_input_arguments(
    parser: argparse.ArgumentParser, group: "argparse._ArgumentGroup", file_help: str, text_help: str
) -> None:
    """Add FILE ..., --input and --text."""
    parser.add_argument("files", metavar="FILE", type=INPUT_PATH, nargs="*", default=[], help=file_help)
    group.add_argument(
        "-i", "--input", metavar="FILE", type=INPUT_PATH, help="another way to name the FILE (default: stdin)"
    )
    group.add_argument("--text", metavar="TEXT", action="append", default=[], help=text_help)


def split_inputs(options: Namespace, verb: str) -> list[Namespace]:
    """Return the options once per input file, with `input` and `output` set; once for stdin or texts.

    Several files need a folder for their outputs, which is created; a single file may have one.
    """
    files = [*options.files, *([] if options.input is None else [options.input])]
    for path in files:
        if path.is_dir() and options.model.is_file():
            raise RegardError(f"the model comes first: regard {verb} {path} {options.model}")
        if path.is_dir():
            hint = "; models that translate together are given with --ensemble" if verb == "translate" else ""
            raise RegardError(f"{path} is a folder; give files{hint}")
        if not path.exists():
            raise RegardError(_missing_file(path, options, verb))
    if files and options.text:
        raise RegardError(f"{files[0]} and --text are two inputs; give a file or texts, not both")
    for text in options.text:
        _check_text(text)
    output = options.output
    if len(files) > 1:
        if output is None or (output.exists() and not output.is_dir()):
            raise RegardError(f"{len(files)} files need a folder for their outputs; give -o DIR")
        output.mkdir(exist_ok=True)
    if output is None or not output.is_dir():
        return [_with_paths(options, files[0] if files else None, output)]
    if not files:
        raise RegardError(f"{output} cannot be written: it is a folder; give a file name")
    names = [_output_name(path) for path in files]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise RegardError(f"two of the files are called {repeated}, but all outputs go to {output}")
    requests = [_with_paths(options, path, output / name) for path, name in zip(files, names, strict=True)]
    for request in requests:
        check_paths(options.parser, request)
    return requests


def _output_name(path: Path) -> str:
    """Return the name of the output of a file; outputs are not compressed."""
    from regard.text.compression import COMPRESSED_SUFFIXES

    return path.stem if path.suffix.lower() in COMPRESSED_SUFFIXES else path.name


def _with_paths(options: Namespace, path: Path | None, output: Path | None) -> Namespace:
    return Namespace(**{**vars(options), "files": [], "input": path, "output": output})


def _missing_file(path: Path, options: Namespace, verb: str) -> str:
    shown = str(path) if len(str(path)) <= MAX_SHOWN_TEXT else f"{str(path)[:MAX_SHOWN_TEXT]}..."
    if path.suffix and " " not in str(path):
        return f"{shown} does not exist; give the path of a file"
    text = shlex.quote(str(path)) if len(str(path)) <= MAX_SHOWN_TEXT else '"..."'
    command = f"regard {verb} {options.model} --text {text}"
    return f"{shown} does not exist; for a text instead of a file: {command}"


def _check_text(text: str) -> None:
    if "\n" in text.rstrip("\n"):
        raise RegardError("--text has several lines; give --text for each, or a file")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise RegardError("--text is not UTF-8; check the encoding of the terminal") from None
