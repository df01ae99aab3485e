"""`regard look`: one translation in the terminal, and what was behind it."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.args.model_args import reject_unused_flags
from regard.cli.args.trace_args import (
    add_attention_arguments,
    add_trace_arguments,
    parse_head,
    select_attention_matrix,
    trace_from_arguments,
)
from regard.cli.output import reject_unwritable, write_output
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.trace.trace import Trace


LOOK_DESCRIPTION = """\
Translate one sentence and show in the terminal how sure the model was of each piece, what else it
thought of, and where it looked when it wrote it.
"""

LOOK_EPILOG = """\
Each line of the first table is one step: what was read, what was written, its probability, and the
next likeliest. In the second each row is a step and each column a source token; the darker, the more
weight. A weight says where a head looked, not why the word was chosen: --ablate-head it, and see.

examples
  regard look runs/demo "Jane visits Africa in September."
  regard look runs/demo "The glass is yellow." --layer 2 --head 1
  regard look runs/demo "The glass is yellow." --ablate-head cross:2:1      what without this head?
  regard look runs/demo "The glass is yellow." --target "Le verre est vert."
"""


def add_look_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "look",
        help="see in the terminal how one translation came about",
        description=LOOK_DESCRIPTION,
        epilog=LOOK_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", type=Path, help="folder that `regard train` wrote")
    parser.add_argument("text", metavar="TEXT", help="a sentence; for a forecaster, a table")
    add_attention_arguments(parser, "which attention is shown")
    add_trace_arguments(parser)
    parser.set_defaults(run=run_look)


def run_look(options: argparse.Namespace) -> None:
    parse_head(options)
    trace = trace_from_arguments(options)
    shown = select_attention_matrix(trace, options)
    from rich.console import Console

    from regard.plots.terminal import print_trace

    print_trace(trace, shown, Console(highlight=False, markup=False, emoji=False, soft_wrap=True))


TRACE_SUFFIXES = (".json", ".svg", ".html")

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
  regard trace runs/demo "The glass is yellow." -o b.json --ablate-head cross:2:1   what without this head?
  regard trace runs/demo "The glass is yellow." -o c.json --target "Le verre est vert."
"""


def add_trace_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
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
    add_attention_arguments(parser, "which attention a figure (.svg) shows, and a page (.html) at first")
    add_trace_arguments(parser)
    parser.set_defaults(run=run_trace)


def run_trace(options: argparse.Namespace) -> None:
    ending = ".json" if options.output == "-" else Path(options.output).suffix
    if ending not in TRACE_SUFFIXES:
        raise RegardError(
            f"{options.output} has no ending that can be written; end the name in {' or '.join(TRACE_SUFFIXES)}"
        )
    if options.output != "-":
        reject_unwritable(Path(options.output))
    parse_head(options)
    if ending == ".json":
        why = "is for a figure (.svg) and a page (.html); JSON has every head of every layer"
        reject_unused_flags(options, ("attention", "layer", "head"), why)
    trace = trace_from_arguments(options, qkv=ending == ".html")
    content = _render_trace(trace, ending, options).encode("utf-8")
    if options.output == "-":
        sys.stdout.buffer.write(content)
    else:
        write_output(Path(options.output), content)


def _render_trace(trace: "Trace", ending: str, options: argparse.Namespace) -> str:
    match ending:
        case ".json":
            return trace.dumps()
        case ".html":
            from regard.trace.page import build_view_fragment, render_trace_html

            return render_trace_html(
                trace,
                build_view_fragment(
                    trace, "attention", options.attention, options.layer, parse_head(options)
                ),
            )
        case _:
            from regard.plots.attention_matrix import draw_attention_matrix

            return draw_attention_matrix(select_attention_matrix(trace, options))
