"""`regard score MODEL --series FILE`: backtest of a forecaster on unseen windows, with baselines."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.args.model_args import reject_unused_flags
from regard.cli.output import format_json
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.forecasting.backtest import BacktestReport

UNUSED_BY_FORECASTER = (
    "source",
    "hypotheses",
    "baseline",
    "output",
    "reference",
    "target_language",
    "metrics",
    "comet",
)
COLUMN_WIDTH = 14


def run_score_series(options: argparse.Namespace) -> None:
    """Print the errors as a table or as JSON."""
    reject_unused_flags(
        options, UNUSED_BY_FORECASTER, "is for translations; --series FILE is for a forecaster"
    )
    if options.model is None:
        raise RegardError("there is no model; give the forecaster to backtest on --series FILE")
    from regard.forecasting.backtest import backtest
    from regard.forecasting.forecaster import Forecaster
    from regard.forecasting.model_folder import load_forecaster

    loaded = load_forecaster(options.model)
    model = Forecaster.from_loaded(loaded, options.device or "auto")
    training_sha256 = next(iter(loaded.manifest["trained_on"]["files"].values()))
    report = backtest(model, Path(options.series), loaded.data, training_sha256, options.all_rows)
    sys.stdout.write(
        backtest_as_json(report) if options.json else backtest_as_table(report, str(options.model))
    )


def backtest_as_json(report: "BacktestReport") -> str:
    values: dict[str, Any] = {
        "series": report.table.name,
        "rows": [report.rows.start, report.rows.stop],
        "windows": report.windows,
        "horizon": report.horizon,
        "standardised": {each.name: {"mse": each.mse, "mae": each.mae} for each in report.errors},
        "own_units": {
            column: {
                each.name: {
                    "rmse": float(each.squared_errors[number] ** 0.5 * report.std[number]),
                    "mae": float(each.absolute_errors[number] * report.std[number]),
                }
                for each in report.errors
            }
            for number, column in enumerate(report.table.columns)
        },
        "coverage": {f"{high - low:.3g}": share for (low, high), share in report.coverage.items()},
        "notes": [*report.table.notes, *report.notes],
    }
    return format_json(values) + "\n"


def backtest_as_table(report: "BacktestReport", model: str) -> str:
    """Return the overall errors, the errors of each series in its own units, and the interval coverage."""
    first, last = report.table.time_axis.format_times(
        report.table.times[[report.rows.start, report.rows.stop - 1]]
    )
    lines = [
        f"{model} on {report.table.name}: {report.windows:,} windows of {report.horizon} steps",
        f"forecast rows: {first} to {last}",
        "",
        f"{'standardised':<{COLUMN_WIDTH + 2}}     MSE     MAE",
        *(f"{each.name:<{COLUMN_WIDTH + 2}}  {each.mse:6.4f}  {each.mae:6.4f}" for each in report.errors),
        "",
        f"{'MAE, own units':<{COLUMN_WIDTH + 2}}"
        + "".join(f"{each.name:>{COLUMN_WIDTH}}" for each in report.errors),
    ]
    for number, column in enumerate(report.table.columns):
        errors = (
            f"{each.absolute_errors[number] * report.std[number]:{COLUMN_WIDTH}.4g}" for each in report.errors
        )
        lines.append(f"{column:<{COLUMN_WIDTH + 2}}{''.join(errors)}")
    if report.coverage:
        shares = (f"{high - low:.0%} holds {share:.1%}" for (low, high), share in report.coverage.items())
        lines += ["", f"intervals: {', '.join(shares)} of the actual values"]
    return "\n".join([*lines, *report.table.notes, *report.notes]) + "\n"
