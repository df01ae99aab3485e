"""Flags that would change nothing are refused: whoever gave one expects what will not be."""

import argparse
from collections.abc import Sequence

from regard.errors import RegardError

FORMATS = {
    "column": (".tsv", ".jsonl"),
    "overwrite": (".tsv", ".jsonl", ".po", ".pot", ".tmx", ".xliff", ".xlf"),
    "language": (".tmx",),
}
"""Flags of documents, and those that each is for."""


def refuse_unused(options: argparse.Namespace, names: Sequence[str], why: str) -> None:
    """Those of the flags that were given, in one line."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value is not False:
            raise RegardError(f"--{name.replace('_', '-')} {why}")


def refuse_unused_by_lines(options: argparse.Namespace) -> None:
    """What has no meaning where each line is a text."""
    read = "stdin" if options.input is None else options.input
    refuse_unused(options, tuple(FORMATS), f"is for documents; {read} is translated line by line")
    if not options.json:
        refuse_unused(options, ("confidences",), "are written as JSON only; add --json")


def refuse_unused_by_document(options: argparse.Namespace, ending: str) -> None:
    """What has no place in a document, or not in one of that format."""
    if options.prefix:
        raise RegardError("--prefix is for lines; the sentences of a document begin as they like")
    if options.json or options.scores or options.alignments or options.confidences or options.n_best > 1:
        raise RegardError(
            f"{options.input} is a document, and has no place for scores, alignments, confidences or the n "
            "best; leave those out, or read it line by line: --format lines"
        )
    refuse_unused(options, ("anew",), "is for lines; a document is always translated from its beginning")
    for name, endings in FORMATS.items():
        if ending not in endings:
            refuse_unused(options, (name,), f"is for {', '.join(endings)}, not for {ending}")
