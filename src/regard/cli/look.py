"""`regard look`: one translation in the terminal, and what was behind it."""

import argparse
from pathlib import Path

from regard.cli.looking import add_looking, add_matrix, head_number, shown_matrix, traced

DESCRIPTION = """\
Translate one sentence and show in the terminal how sure the model was of each piece, what else it
thought of, and where it looked when it wrote it.
"""

EPILOG = """\
Each line of the first table is one step: what was read, what was written, its probability, and the
next likeliest. In the second each row is a step and each column a source token; the darker, the more
weight. A weight says where a head looked, not why the word was chosen: --remove it, and see.

examples
  regard look runs/demo "Jane visits Africa in September."
  regard look runs/demo "The glass is yellow." --layer 2 --head 1
  regard look runs/demo "The glass is yellow." --remove cross:2:1      what without this head?
  regard look runs/demo "The glass is yellow." --target "Le verre est vert."
"""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "look",
        help="see in the terminal how one translation came about",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", type=Path, help="folder that `regard train` wrote")
    parser.add_argument("text", metavar="TEXT", help="a sentence; for a forecaster, a table")
    add_matrix(parser, "which attention is shown")
    add_looking(parser)
    parser.set_defaults(run=run_look)


def run_look(options: argparse.Namespace) -> None:
    head_number(options)
    trace = traced(options)
    shown = shown_matrix(trace, options)
    from rich.console import Console

    from regard.explorer.terminal import look

    look(trace, shown, Console(highlight=False, markup=False, emoji=False, soft_wrap=True))
