"""`regard look` and `regard trace`: show a prediction in the terminal, or write its trace to a file."""

import argparse
import sys
from typing import TYPE_CHECKING

from regard.cli.args.common_args import add_json_argument, add_output_argument
from regard.cli.args.model_args import reject_unused_flags
from regard.cli.args.path_args import INPUT_NAME, INPUT_PATH, OUTPUT_FILE_OR_STDOUT
from regard.cli.args.trace_args import (
    add_attention_arguments,
    add_trace_arguments,
    parse_head,
    select_attention_matrix,
    trace_from_arguments,
)
from regard.cli.figures import write_figure
from regard.cli.output import write_output
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.trace.trace import Trace

LOOK_DESCRIPTION = """\
Translate a sentence and show in the terminal the probability of each token,
the alternatives, and the attention of each step.
"""

LOOK_EPILOG = """\
The first table has one line per decoding step: input token, output token,
probability, and the next candidates. In the second table each row is a step
and each column a source token; darker cells have more weight. An attention
weight does not explain why a word was chosen: use --ablate-head to test the
influence of a head.

examples
  regard look runs/demo "Jane visits Africa in September."
  regard look runs/demo "The glass is yellow." --layer 2 --head 1
  regard look runs/demo "The glass is yellow." --ablate-head cross:2:1
  regard look runs/demo "The glass is yellow." --target "Le verre est vert."
"""

TRACE_DESCRIPTION = """\
Translate a sentence and record how the translation was produced: the tokens,
the attention of every layer and head, the candidates of each step, the
prediction of each layer, and the beam.
"""

TRACE_EPILOG = """\
Row 0 of decoder and cross-attention reads <s> and predicts the first target
token. Rows sum to 1; masked positions are exactly 0. docs/trace.md explains
every field.

examples
  regard trace runs/demo "Jane visits Africa in September." -o jane.json
  regard trace runs/demo "Jane visits Africa in September." -o jane.svg --head 1
  regard trace runs/demo "Jane visits Africa in September." -o jane.html
  regard trace runs/demo "The glass is yellow." -o - | jq .target.text
  regard trace runs/demo "Jane sleeps." -o b.json --ablate-head cross:2:1
  regard trace runs/demo "Jane sleeps." -o c.json --target "Jane dort."
"""


def add_look_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "look",
        help="show the probabilities and attention of a prediction in the terminal",
        description=LOOK_DESCRIPTION,
        epilog=LOOK_EPILOG,
    )
    _add_request_arguments(parser)
    add_attention_arguments(parser, "shown attention")
    add_trace_arguments(parser)
    add_json_argument(parser, "print the trace as JSON, as `regard trace` does")
    parser.set_defaults(run=run_look)


def add_trace_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "trace",
        help="record a prediction as JSON, a figure or an offline page",
        description=TRACE_DESCRIPTION,
        epilog=TRACE_EPILOG,
    )
    _add_request_arguments(parser)
    add_output_argument(
        parser, "NAME.json, .html, .svg, .pdf or .png; - for JSON on stdout", OUTPUT_FILE_OR_STDOUT
    )
    add_json_argument(parser, "JSON to stdout, or to the .json file of --out")
    add_attention_arguments(parser, "attention of a figure or page")
    add_trace_arguments(parser)
    parser.set_defaults(run=run_trace)


def _add_request_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL", type=INPUT_PATH, help="run or model folder of `regard train`"
    )
    parser.add_argument("text", metavar="TEXT", type=INPUT_NAME, help="a sentence; for a forecaster a table")


def run_look(options: argparse.Namespace) -> None:
    parse_head(options)
    trace = trace_from_arguments(options)
    if options.json:
        sys.stdout.buffer.write(trace.dumps().encode("utf-8"))
        return
    matrix = select_attention_matrix(trace, options)
    from rich.console import Console

    from regard.plots.terminal import print_trace

    print_trace(trace, matrix, Console(highlight=False, markup=False, emoji=False, soft_wrap=True))


def run_trace(options: argparse.Namespace) -> None:
    if options.output is None and not options.json and "output" not in options.given_flags:
        options.parser.error("give -o NAME.json, -o NAME.svg or -o NAME.html; or -o - for JSON on stdout")
    suffix = ".json" if options.output is None else options.output.suffix.lower()
    if options.json and suffix != ".json":
        raise RegardError(
            f"--json conflicts with --out {options.output}; leave out one, or name it NAME.json"
        )
    if options.output is not None:
        from regard.plots.figure_file import check_figure_suffix

        check_figure_suffix(options.output, ".json", ".html")
    parse_head(options)
    if suffix == ".json":
        why = "is for a figure or a page (.html); JSON has every head of every layer"
        reject_unused_flags(options, ("attention", "layer", "head"), why)
    trace = trace_from_arguments(options, qkv=suffix == ".html")
    if options.output is None:
        sys.stdout.buffer.write(trace.dumps().encode("utf-8"))
        return
    match suffix:
        case ".json":
            write_output(options.output, trace.dumps().encode("utf-8"))
        case ".html":
            write_output(options.output, _render_page(trace, options).encode("utf-8"))
        case _:
            from regard.plots.attention_matrix import draw_attention_matrix

            write_figure(options.output, draw_attention_matrix(select_attention_matrix(trace, options)))


def _render_page(trace: "Trace", options: argparse.Namespace) -> str:
    from regard.trace.page import build_view_fragment, render_trace_html

    head = parse_head(options)
    fragment = build_view_fragment(trace, "attention", options.attention, options.layer, head)
    return render_trace_html(trace, fragment)
