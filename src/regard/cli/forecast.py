"""`regard forecast`: what comes after the last row of a file, as a table or as a picture."""

import argparse
import sys
from pathlib import Path

from regard.cli.output import reject_unwritable, write_output
from regard.errors import RegardError, require_setting

OUTPUT_SUFFIXES = (".csv", ".json", ".svg", ".html")

EPILOG = """\
FILE has the columns that the model was trained on, and at least as many rows as it looks back. A CSV
has the time as FILE writes it, the mean of each series in its own units, and its quantiles
("load q0.1": one value in ten is expected to lie below). docs/forecasting.md says more.

examples
  regard forecast runs/load load.csv
  regard forecast runs/load load.csv --horizon 48 -o next.csv
  regard forecast runs/load load.csv -o next.html
"""


def add_forecast_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "forecast",
        help="continue the series of a table",
        description="Foretell what comes after the last row of a table, in its own units, with intervals.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", type=Path, help="folder that `regard train --series` wrote")
    parser.add_argument("file", metavar="FILE", type=Path, help="the series so far, .csv or .parquet")
    parser.add_argument(
        "--horizon", metavar="N", type=int, help="steps (default: as many as the model was trained for)"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help=f"NAME{', NAME'.join(OUTPUT_SUFFIXES)} (default: CSV here)",
    )
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="where to compute (default: auto, a GPU if there is one)",
    )
    parser.set_defaults(run=run_forecast)


def run_forecast(options: argparse.Namespace) -> None:
    ending = ".csv" if options.output == "-" else Path(options.output).suffix
    if ending not in OUTPUT_SUFFIXES:
        raise RegardError(
            f"{options.output} has no ending that can be written; end the name in {', '.join(OUTPUT_SUFFIXES)}"
        )
    require_setting(
        options.horizon is None or options.horizon >= 1, "--horizon", options.horizon, "it must be 1 or more"
    )
    if options.output != "-":
        reject_unwritable(Path(options.output))
    from regard.forecasting.forecaster import Forecaster

    found = Forecaster.load(options.model, options.device).forecast(options.file, options.horizon)
    for note in (*found.history.notes, *found.notes):
        sys.stderr.write(f"{note}\n")
    match ending:
        case ".csv":
            content = found.to_csv()
        case ".json":
            content = found.to_json()
        case _:
            from regard.plots import forecast_chart

            content = (
                forecast_chart.render_forecast_html(found)
                if ending == ".html"
                else forecast_chart.render_forecast_svg(found)
            )
    if options.output == "-":
        sys.stdout.write(content)
    else:
        write_output(Path(options.output), content.encode("utf-8"))
