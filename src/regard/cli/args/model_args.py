"""Arguments shared by commands that load a model: search, engine, the model folder, unused flags."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from regard.cli.args.number_args import NumberArgument, setting_argument
from regard.config import DEFAULT_TASK
from regard.errors import RegardError
from regard.inference.engine_selection import EngineName, RequestedPrecision
from regard.runtime import max_parallel
from regard.search.config import PAPER_SEARCH, SearchConfig

if TYPE_CHECKING:
    from regard.translation.translator import Translator

ENGINES = get_args(EngineName)
PRECISIONS = get_args(RequestedPrecision)
ARGUMENT_DEFAULTS = {
    "beam": PAPER_SEARCH.beam,
    "alpha": PAPER_SEARCH.alpha,
    "device": "auto",
    "engine": "auto",
    "precision": "auto",
}
"""Defaults applied after parsing: None marks a flag that was not given."""


def reject_unused_flags(options: argparse.Namespace, names: Sequence[str], why: str) -> None:
    """Raise an error if one of the flags was given; `why` continues the message."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value is not False:
            flag = "out" if name == "output" else name.replace("_", "-")
            raise RegardError(f"--{flag} {why}")


def add_search_arguments(parser: argparse.ArgumentParser) -> "argparse._ArgumentGroup":
    """Add the flags of beam search."""
    group = parser.add_argument_group("search", "Beam search as in section 6.1 of the paper.")
    group.add_argument(
        "--beam",
        metavar="N",
        type=setting_argument(SearchConfig, "beam"),
        help=f"beam size, %(type)s (default: {PAPER_SEARCH.beam}); 1 is greedy search, the fastest",
    )
    group.add_argument(
        "--alpha",
        metavar="A",
        type=setting_argument(SearchConfig, "alpha"),
        help="length penalty, %(type)s: larger values favour longer translations "
        f"(default: {PAPER_SEARCH.alpha})",
    )
    return group


def add_engine_arguments(
    parser: argparse.ArgumentParser, default_precision: str = "auto, the one of the engine"
) -> "argparse._ArgumentGroup":
    """Add the flags of the engine; the default precision is for the help."""
    group = parser.add_argument_group("engine")
    group.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        help="device (default: auto, a GPU if there is one)",
    )
    group.add_argument(
        "--engine",
        choices=ENGINES,
        help="inference engine (default: auto, the fastest available)",
    )
    group.add_argument(
        "--precision",
        choices=PRECISIONS,
        help=f"numeric precision (default: {default_precision})",
    )
    group.add_argument(
        "--threads",
        metavar="N",
        type=NumberArgument(int, 1, max_parallel()),
        help="CPU threads per process, %(type)s (default: all cores, or 1 per worker)",
    )
    return group


def apply_argument_defaults(options: argparse.Namespace) -> None:
    """Fill in the defaults of flags that were not given, and check their values."""
    for name, value in ARGUMENT_DEFAULTS.items():
        if name in options and getattr(options, name) is None:
            setattr(options, name, value)
    SearchConfig(options.beam, options.alpha)


def resolve_model_folder(path: Path) -> Path:
    """Return the model folder of a run or model path; print a note if the run is unfinished."""
    from regard.checkpoint import find_model_folder, list_checkpoints

    folder = find_model_folder(path)
    if folder in list_checkpoints(path):
        sys.stderr.write(f"{path} is not finished; using its last checkpoint, {folder.name}\n")
    return folder


def read_model_task(folder: Path) -> str:
    """Return the task of a model folder from its manifest; the weights are checked when they are loaded."""
    from regard.checkpoint import WEIGHTS_FILE, read_manifest

    return read_manifest(folder, size_only=[WEIGHTS_FILE]).get("task", DEFAULT_TASK)


def load_translator(options: argparse.Namespace) -> "Translator":
    """Load the translator that the flags select."""
    folder = resolve_model_folder(options.model)
    from regard.translation.translator import Translator

    return Translator.load(folder, options.device, options.engine, options.precision, threads=options.threads)


def translate_with_progress(
    translator: "Translator", lines: Sequence[str], options: argparse.Namespace
) -> list[str]:
    """Translate lines with a progress bar on a terminal, removed at the end."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("translating", total=len(lines))
        return translator.translate(
            lines,
            beam=options.beam,
            alpha=options.alpha,
            on_done=lambda done: progress.advance(bar, done),
        )
