"""Flags that would change nothing are refused: whoever gave one expects what will not be."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from regard.errors import RegardError, require_setting
from regard.inference.engine_selection import EngineName, RequestedPrecision
from regard.search.config import PAPER_SEARCH, SearchConfig

if TYPE_CHECKING:
    from regard.translation.translator import Translator


FORMATS_BY_FLAG = {
    "column": (".tsv", ".jsonl"),
    "overwrite": (".tsv", ".jsonl", ".po", ".pot", ".tmx", ".xliff", ".xlf"),
    "target_language": (".tmx",),
}
"""Flags of documents, and those that each is for."""


def reject_unused_flags(options: argparse.Namespace, names: Sequence[str], why: str) -> None:
    """Those of the flags that were given, in one line."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value is not False:
            raise RegardError(f"--{name.replace('_', '-')} {why}")


def reject_document_flags(options: argparse.Namespace) -> None:
    """What has no meaning where each line is a text."""
    read = "stdin" if options.input is None else options.input
    reject_unused_flags(
        options, tuple(FORMATS_BY_FLAG), f"is for documents; {read} is translated line by line"
    )
    if not options.json:
        reject_unused_flags(options, ("confidences",), "are written as JSON only; add --json")


def reject_line_flags(options: argparse.Namespace, ending: str) -> None:
    """What has no place in a document, or not in one of that format."""
    if options.prefix:
        raise RegardError("--prefix is for lines; the sentences of a document begin as they like")
    if options.json or options.scores or options.alignments or options.confidences or options.n_best > 1:
        raise RegardError(
            f"{options.input} is a document, and has no place for scores, alignments, confidences or the n "
            "best; leave those out, or read it line by line: --format lines"
        )
    reject_unused_flags(
        options, ("restart",), "is for lines; a document is always translated from its beginning"
    )
    for name, endings in FORMATS_BY_FLAG.items():
        if ending not in endings:
            reject_unused_flags(options, (name,), f"is for {', '.join(endings)}, not for {ending}")


ENGINES = get_args(EngineName)
PRECISIONS = get_args(RequestedPrecision)
ARGUMENT_DEFAULTS = {
    "beam": PAPER_SEARCH.beam,
    "alpha": PAPER_SEARCH.alpha,
    "device": "auto",
    "engine": "auto",
    "precision": "auto",
}
"""What counts where nobody says otherwise; until then they are None, so that it shows who did."""


def add_search_arguments(parser: argparse.ArgumentParser) -> "argparse._ArgumentGroup":
    """The flags of a search."""
    group = parser.add_argument_group("how to search", "Beam search as in the paper, section 6.1.")
    group.add_argument(
        "--beam",
        metavar="N",
        type=int,
        help=f"hypotheses kept for each sentence (default: {PAPER_SEARCH.beam}); 1 is greedy, and fastest",
    )
    group.add_argument(
        "--alpha",
        metavar="A",
        type=float,
        help=f"length penalty: more favours longer translations (default: {PAPER_SEARCH.alpha})",
    )
    return group


def add_engine_arguments(parser: argparse.ArgumentParser) -> "argparse._ArgumentGroup":
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


def apply_argument_defaults(options: argparse.Namespace) -> None:
    """What nobody said is said, of the flags that a verb has; what cannot work is refused before the work."""
    for name, value in ARGUMENT_DEFAULTS.items():
        if name in options and getattr(options, name) is None:
            setattr(options, name, value)
    SearchConfig(options.beam, options.alpha)
    threads = options.threads if "threads" in options else None
    require_setting(threads is None or threads >= 1, "--threads", threads, "it must be at least 1")


def resolve_model_folder(path: Path) -> Path:
    """The model the user means; says so where a run has not left one yet."""
    from regard.checkpoint import find_model_folder, list_checkpoints

    folder = find_model_folder(path)
    if folder in list_checkpoints(path):
        sys.stderr.write(f"{path} is not finished; using its last checkpoint, {folder.name}\n")
    return folder


def load_translator(options: argparse.Namespace) -> "Translator":
    """A translator as the flags ask for."""
    folder = resolve_model_folder(options.model)
    from regard.translation.translator import Translator

    return Translator.load(folder, options.device, options.engine, options.precision, threads=options.threads)


def translate_with_progress(
    translator: "Translator", lines: Sequence[str], options: argparse.Namespace
) -> list[str]:
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
