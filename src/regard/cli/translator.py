"""What `translate` and `score` share: the model, how to search with it, and a bar while it works."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from regard.engine.choice import EngineName, Precision
from regard.errors import require
from regard.search.config import PAPER, SearchConfig

if TYPE_CHECKING:
    from regard.tasks.translator import Translator

ENGINES = get_args(EngineName)
PRECISIONS = get_args(Precision)
UNSAID = {"beam": PAPER.beam, "alpha": PAPER.alpha, "device": "auto", "engine": "auto", "precision": "auto"}
"""What counts where nobody says otherwise; until then they are None, so that it shows who did."""


def add_search(parser: argparse.ArgumentParser) -> "argparse._ArgumentGroup":
    """The flags of a search."""
    group = parser.add_argument_group("how to search", "Beam search as in the paper, section 6.1.")
    group.add_argument(
        "--beam",
        metavar="N",
        type=int,
        help=f"hypotheses kept for each sentence (default: {PAPER.beam}); 1 is greedy, and fastest",
    )
    group.add_argument(
        "--alpha",
        metavar="A",
        type=float,
        help=f"length penalty: more favours longer translations (default: {PAPER.alpha})",
    )
    return group


def add_computing(parser: argparse.ArgumentParser) -> "argparse._ArgumentGroup":
    """The flags that `load` reads."""
    group = parser.add_argument_group("where and how to compute")
    group.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        help="where to compute (default: auto, a GPU if there is one)",
    )
    group.add_argument(
        "--engine",
        choices=ENGINES,
        help="what computes (default: auto, the fastest there is)",
    )
    group.add_argument(
        "--precision",
        choices=PRECISIONS,
        help="how exactly (default: auto, the engine's own)",
    )
    group.add_argument(
        "--threads",
        metavar="N",
        type=int,
        help="threads of a process (default: all cores, or 1 for each worker)",
    )
    return group


def settle(options: argparse.Namespace) -> None:
    """What nobody said is said, of the flags that a verb has; what cannot work is refused before the work."""
    for name, value in UNSAID.items():
        if name in options and getattr(options, name) is None:
            setattr(options, name, value)
    SearchConfig(options.beam, options.alpha)
    threads = options.threads if "threads" in options else None
    require(threads is None or threads >= 1, "--threads", threads, "it must be at least 1")


def model_folder(path: Path) -> Path:
    """The model the user means; says so where a run has not left one yet."""
    from regard.checkpoint import checkpoints, find_model

    folder = find_model(path)
    if folder in checkpoints(path):
        sys.stderr.write(f"{path} is not finished; using its last checkpoint, {folder.name}\n")
    return folder


def load(options: argparse.Namespace) -> "Translator":
    """A translator as the flags ask for."""
    folder = model_folder(options.model)
    from regard.tasks.translator import Translator

    return Translator.load(folder, options.device, options.engine, options.precision, threads=options.threads)


def translate(translator: "Translator", lines: Sequence[str], options: argparse.Namespace) -> list[str]:
    """Their translations, with a bar on the terminal that is gone when it is done."""
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
