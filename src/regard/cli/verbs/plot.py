"""`regard plot`: draw the training curves of runs as a figure or a page."""

import argparse
from pathlib import Path

from regard.cli.args.common_args import add_json_argument, add_output_argument
from regard.cli.args.path_args import INPUT_PATH
from regard.cli.figures import write_figure
from regard.cli.output import print_json, write_output
from regard.errors import DataError

EPILOG = """\
The charts show the loss (with the lower bound from label smoothing), BLEU and
chrF, learning rate, speed, padding, gradient norm, memory, and the sample
translations over time. Several runs share each chart. A running training can
be plotted too.

examples
  regard plot runs/en-fr -o curves.svg
  regard plot runs/a runs/b runs/c -o compare.html --x-axis hours
  regard plot runs/en-fr -o curves.pdf    needs pip install "regard[figures]"
"""


def add_plot_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "plot",
        help="plot the training curves of one or more runs",
        description="Draw the curves in metrics.jsonl of a run, without a browser or network.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "runs", metavar="RUN", type=INPUT_PATH, nargs="+", help="run folder of `regard train`, or of --seeds"
    )
    add_output_argument(parser, "NAME.svg, .html, .pdf or .png", required=True)
    parser.add_argument(
        "--x-axis",
        choices=("step", "tokens", "hours"),
        default="step",
        help="unit of the horizontal axis (default: step)",
    )
    add_json_argument(parser, "print the names of the figure and its runs as one JSON object")
    parser.set_defaults(run=run_plot)


def run_plot(options: argparse.Namespace) -> None:
    output: Path = options.output
    from regard.plots.figure_file import check_figure_suffix

    suffix = check_figure_suffix(output, ".html")
    from regard.plots.curves import TrainingCurves
    from regard.plots.curves_page import render_curves_html, render_curves_svg
    from regard.plots.history import read_histories

    render = render_curves_html if suffix == ".html" else render_curves_svg
    histories = read_histories(options.runs)
    try:
        drawn = render(TrainingCurves(histories, options.x_axis))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        names = ", ".join(history.name for history in histories)
        raise DataError(
            f"{names}: metrics.jsonl or data.json is not what regard writes "
            f"({type(error).__name__}: {str(error)[:100]}); --debug shows where"
        ) from error
    if suffix == ".html":
        write_output(output, drawn.encode("utf-8"))
    else:
        write_figure(output, drawn)
    if options.json:
        print_json({"output": str(output), "runs": [history.name for history in histories]})
