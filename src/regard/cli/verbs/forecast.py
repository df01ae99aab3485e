"""`regard forecast`: forecast the series of a table, as a table, figure or page."""

import argparse
import sys
from pathlib import Path

from regard.cli.args.common_args import add_json_argument, add_output_argument
from regard.cli.args.number_args import NumberArgument
from regard.cli.args.path_args import INPUT_PATH, OUTPUT_FILE_OR_STDOUT
from regard.cli.figures import write_figure
from regard.cli.output import write_output
from regard.errors import RegardError

MAX_STEPS = 10_000

EPILOG = """\
FILE must have the columns that the model was trained on, and at least as many
rows as its input window. The CSV output has the time in the format of FILE,
and the mean and quantiles of each series in its own units ("load q0.1": one
value in ten is expected below it). docs/forecasting.md has the details.

examples
  regard forecast runs/load load.csv
  regard forecast runs/load load.csv --horizon 48 -o next.csv
  regard forecast runs/load load.csv -o next.html
"""


def add_forecast_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "forecast",
        help="forecast the series of a table",
        description="Forecast the rows after the last row of a table, with prediction intervals.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "model", metavar="MODEL", type=INPUT_PATH, help="run or model folder of `regard train`"
    )
    parser.add_argument(
        "file", metavar="FILE", type=INPUT_PATH, help="table with the past of the series, .csv or .parquet"
    )
    parser.add_argument(
        "--horizon",
        metavar="N",
        type=NumberArgument(int, 1, MAX_STEPS),
        help="steps to predict, %(type)s (default: the horizon of the model)",
    )
    add_output_argument(
        parser, "NAME.csv, .json, .html, .svg, .pdf or .png (default: CSV to stdout)", OUTPUT_FILE_OR_STDOUT
    )
    add_json_argument(parser, "JSON to stdout, or to the .json file of --out")
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="device (default: auto, a GPU if there is one)",
    )
    parser.set_defaults(run=run_forecast)


def run_forecast(options: argparse.Namespace) -> None:
    default = ".json" if options.json else ".csv"
    suffix = default if options.output is None else options.output.suffix.lower()
    if options.json and suffix != ".json":
        raise RegardError(
            f"--json conflicts with --out {options.output}; leave out one, or name it NAME.json"
        )
    output: Path | None = options.output
    if output is not None:
        from regard.plots.figure_file import check_figure_suffix

        check_figure_suffix(output, ".csv", ".json", ".html")
    from regard.forecasting.forecaster import Forecaster

    forecast = Forecaster.load(options.model, options.device).forecast(options.file, options.horizon)
    for note in (*forecast.history.notes, *forecast.notes):
        sys.stderr.write(f"{note}\n")
    match suffix:
        case ".csv":
            content = forecast.to_csv()
        case ".json":
            content = forecast.to_json()
        case ".html":
            from regard.plots.forecast_chart import render_forecast_html

            content = render_forecast_html(forecast)
        case _:
            from regard.plots.forecast_chart import render_forecast_svg

            assert output is not None
            write_figure(output, render_forecast_svg(forecast))
            return
    if output is None:
        sys.stdout.write(content)
    else:
        write_output(output, content.encode("utf-8"))
