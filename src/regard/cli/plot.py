"""`regard plot`: the curves of a training, as a picture or as a page."""

import argparse
from pathlib import Path

from regard.cli.output import reject_unwritable, write_output
from regard.errors import RegardError

EPILOG = """\
Drawn are the loss (with the floor that label smoothing sets), BLEU and chrF, the learning rate,
the speed, the padding, the gradient, the memory, and how the watched sentences changed. Several
runs are laid over one another. A training that is still going on can be drawn, too.

examples
  regard plot runs/en-fr -o curves.svg
  regard plot runs/a runs/b runs/c -o compare.html --x-axis hours
"""


def add_plot_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "plot",
        help="draw the curves of one training or of several",
        description="Draw what metrics.jsonl of a run says, without a browser and without a network.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help="folder that `regard train` wrote")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, required=True, help="NAME.svg or NAME.html"
    )
    parser.add_argument(
        "--x-axis",
        choices=("step", "tokens", "hours"),
        default="step",
        help="what to draw over (default: step)",
    )
    parser.set_defaults(run=run_plot)


def run_plot(options: argparse.Namespace) -> None:
    output: Path = options.output
    if output.suffix not in (".svg", ".html"):
        raise RegardError(f"{output} is neither a picture nor a page; end the name in .svg or .html")
    reject_unwritable(output)
    from regard.plots.curves import TrainingCurves
    from regard.plots.curves_page import render_curves_html, render_curves_svg
    from regard.plots.history import read_histories

    curves = TrainingCurves(read_histories(options.runs), options.x_axis)
    drawn = render_curves_html(curves) if output.suffix == ".html" else render_curves_svg(curves)
    write_output(output, drawn.encode("utf-8"))
