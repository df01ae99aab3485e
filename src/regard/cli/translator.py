"""What `translate` and `score` share: the model, how to search with it, and a bar while it works."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.search.config import PAPER, SearchConfig

if TYPE_CHECKING:
    from regard.tasks.translator import Translator


def add_search(parser: argparse.ArgumentParser) -> None:
    """The flags that `load` and `translate` read."""
    parser.add_argument(
        "--beam",
        metavar="N",
        type=int,
        default=PAPER.beam,
        help=f"hypotheses kept for each sentence (default: {PAPER.beam}); 1 is greedy, and fastest",
    )
    parser.add_argument(
        "--alpha",
        metavar="A",
        type=float,
        default=PAPER.alpha,
        help=f"length penalty: more favours longer translations (default: {PAPER.alpha})",
    )
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="where to compute (default: auto, a GPU if there is one)",
    )


def load(options: argparse.Namespace) -> "Translator":
    """The model the user means; says so where a run has not left one yet."""
    SearchConfig(options.beam, options.alpha)  # what cannot work is said before the work
    from regard.checkpoint import checkpoints, find_model

    folder = find_model(options.model)
    if folder in checkpoints(options.model):
        sys.stderr.write(f"{options.model} is not finished; using its last checkpoint, {folder.name}\n")
    from regard.tasks.translator import Translator

    return Translator.load(folder, options.device)


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
