"""`regard score MODEL --series`: a forecaster on every window it has not learnt from, beside baselines."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.args.model_args import reject_unused_flags
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.forecasting.backtest import BacktestReport

UNUSED_BY_FORECASTER = ("source", "hypotheses", "baseline", "output", "reference", "target_language")
COLUMN_WIDTH = 14


def run_score_series(options: argparse.Namespace) -> None:
    """The errors as a table, or as JSON."""
    reject_unused_flags(
        options, UNUSED_BY_FORECASTER, "is for translations; --series FILE is for a forecaster"
    )
    if options.model is None:
        raise RegardError("there is no model to score; give the folder that `regard train --series` wrote")
    from regard.forecasting.backtest import backtest
    from regard.forecasting.forecaster import Forecaster
    from regard.forecasting.model_folder import load_forecaster

    loaded = load_forecaster(options.model)
    model = Forecaster.from_loaded(loaded, options.device or "auto")
    training_sha256 = next(iter(loaded.manifest["trained_on"]["files"].values()))
    found = backtest(model, Path(options.series), loaded.data, training_sha256, options.all_rows)
    sys.stdout.write(
        backtest_as_json(found) if options.json else backtest_as_table(found, str(options.model))
    )


def backtest_as_json(found: "BacktestReport") -> str:
    said: dict[str, Any] = {
        "series": found.table.name,
        "rows": [found.rows.start, found.rows.stop],
        "windows": found.windows,
        "horizon": found.horizon,
        "standardised": {each.name: {"mse": each.mse, "mae": each.mae} for each in found.errors},
        "own_units": {
            column: {
                each.name: {
                    "rmse": float(each.squared_errors[number] ** 0.5 * found.std[number]),
                    "mae": float(each.absolute_errors[number] * found.std[number]),
                }
                for each in found.errors
            }
            for number, column in enumerate(found.table.columns)
        },
        "coverage": {f"{high - low:.3g}": share for (low, high), share in found.coverage.items()},
        "notes": [*found.table.notes, *found.notes],
    }
    return json.dumps(said, indent=2, ensure_ascii=False) + "\n"


def backtest_as_table(found: "BacktestReport", model: str) -> str:
    """The whole, then each series in its own units, then the intervals."""
    first, last = found.table.time_axis.format_times(
        found.table.times[[found.rows.start, found.rows.stop - 1]]
    )
    lines = [
        f"{model} on {found.table.name}: {found.windows:,} windows of {found.horizon} steps",
        f"forecast rows: {first} to {last}",
        "",
        f"{'standardised':<{COLUMN_WIDTH + 2}}     MSE     MAE",
        *(f"{each.name:<{COLUMN_WIDTH + 2}}  {each.mse:6.4f}  {each.mae:6.4f}" for each in found.errors),
        "",
        f"{'MAE, own units':<{COLUMN_WIDTH + 2}}"
        + "".join(f"{each.name:>{COLUMN_WIDTH}}" for each in found.errors),
    ]
    for number, column in enumerate(found.table.columns):
        errors = (
            f"{each.absolute_errors[number] * found.std[number]:{COLUMN_WIDTH}.4g}" for each in found.errors
        )
        lines.append(f"{column:<{COLUMN_WIDTH + 2}}{''.join(errors)}")
    if found.coverage:
        shares = (f"{high - low:.0%} holds {share:.1%}" for (low, high), share in found.coverage.items())
        lines += ["", f"intervals: {', '.join(shares)} of the actual values"]
    return "\n".join([*lines, *found.table.notes, *found.notes]) + "\n"
