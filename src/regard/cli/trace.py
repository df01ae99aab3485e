"""`regard trace`: one translation and all that produced it, as data, as a figure or as a page."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.looking import add_looking, add_matrix, head_number, shown_matrix, traced
from regard.cli.output import refuse_unwritable, write_output
from regard.cli.unused import refuse_unused
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.trace.trace import Trace

ENDINGS = (".json", ".svg", ".html")

DESCRIPTION = """\
Translate one sentence and write down everything that produced the translation: the tokens, the
attention of every layer and head of all three kinds, the candidates of each step, what each layer
would have said, and the whole beam.
"""

EPILOG = """\
Row 0 of decoder and cross attention reads <s> and predicts the first target token. Rows sum to 1,
and what is masked is exactly 0. docs/trace.md explains every field.

examples
  regard trace runs/demo "Jane visits Africa in September." -o jane.json
  regard trace runs/demo "Jane visits Africa in September." -o jane.svg --layer 2 --head 1
  regard trace runs/demo "Jane visits Africa in September." -o jane.html   a page for any browser, to keep
  regard trace runs/demo "The glass is yellow." -o - | jq .target.text
  regard trace runs/demo "The glass is yellow." -o b.json --remove cross:2:1   what without this head?
  regard trace runs/demo "The glass is yellow." -o c.json --target "Le verre est vert."
"""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "trace",
        help="write down all that produced one translation",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", type=Path, help="folder that `regard train` wrote")
    parser.add_argument("text", metavar="TEXT", help="a sentence; for a forecaster, a table")
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="NAME.json, NAME.svg or NAME.html; - is JSON"
    )
    add_matrix(parser, "which attention a figure (.svg) shows, and a page (.html) at first")
    add_looking(parser)
    parser.set_defaults(run=run_trace)


def run_trace(options: argparse.Namespace) -> None:
    ending = ".json" if options.output == "-" else Path(options.output).suffix
    if ending not in ENDINGS:
        raise RegardError(
            f"{options.output} has no ending that can be written; end the name in {' or '.join(ENDINGS)}"
        )
    if options.output != "-":
        refuse_unwritable(Path(options.output))
    head_number(options)
    if ending == ".json":
        why = "is for a figure (.svg) and a page (.html); JSON has every head of every layer"
        refuse_unused(options, ("kind", "layer", "head"), why)
    trace = traced(options, qkv=ending == ".html")
    content = _written(trace, ending, options).encode("utf-8")
    if options.output == "-":
        sys.stdout.buffer.write(content)
    else:
        write_output(Path(options.output), content)


def _written(trace: "Trace", ending: str, options: argparse.Namespace) -> str:
    match ending:
        case ".json":
            return trace.dumps()
        case ".html":
            from regard.trace.html import document, opening

            return document(
                trace, opening(trace, "attention", options.kind, options.layer, head_number(options))
            )
        case _:
            from regard.explorer.figure import draw

            return draw(shown_matrix(trace, options))
