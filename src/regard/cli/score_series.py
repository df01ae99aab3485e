"""`regard score MODEL --series`: a forecaster on every window it has not learnt from, beside baselines."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.args.model_args import refuse_unused
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.forecasting.backtest import Rolling

OTHERS = ("source", "hypotheses", "baseline", "output", "reference", "target_language")
WIDE = 14


def run_score_series(options: argparse.Namespace) -> None:
    """The errors as a table, or as JSON."""
    refuse_unused(options, OTHERS, "is for translations; --series FILE is for a forecaster")
    if options.model is None:
        raise RegardError("there is no model to score; give the folder that `regard train --series` wrote")
    from regard.checkpoint import find_model, read_manifest
    from regard.forecasting.backtest import roll
    from regard.forecasting.forecaster import Forecaster
    from regard.forecasting.series.config import SeriesConfig
    from regard.train.model_files import read_section

    model = Forecaster.load(options.model, options.device or "auto")
    folder = find_model(options.model)
    trained_on = next(iter(read_manifest(folder)["trained_on"]["files"].values()))
    data = read_section(folder, SeriesConfig, "data")
    found = roll(model, Path(options.series), data, trained_on, options.all)
    sys.stdout.write(as_json(found) if options.json else as_table(found, str(options.model)))


def as_json(found: "Rolling") -> str:
    said: dict[str, Any] = {
        "series": found.table.name,
        "rows": [found.rows.start, found.rows.stop],
        "windows": found.windows,
        "horizon": found.horizon,
        "standardised": {each.name: {"mse": each.mse, "mae": each.mae} for each in found.scores},
        "own_units": {
            column: {
                each.name: {
                    "rmse": float(each.squared[number] ** 0.5 * found.deviation[number]),
                    "mae": float(each.absolute[number] * found.deviation[number]),
                }
                for each in found.scores
            }
            for number, column in enumerate(found.table.columns)
        },
        "coverage": {f"{high - low:.3g}": share for (low, high), share in found.coverage.items()},
        "notes": [*found.table.notes, *found.notes],
    }
    return json.dumps(said, indent=2, ensure_ascii=False) + "\n"


def as_table(found: "Rolling", model: str) -> str:
    """The whole, then each series in its own units, then the intervals."""
    first, last = found.table.clock.write(found.table.times[[found.rows.start, found.rows.stop - 1]])
    lines = [
        f"{model} on {found.table.name}: {found.windows:,} windows of {found.horizon} steps",
        f"foretold rows: {first} to {last}",
        "",
        f"{'standardised':<{WIDE + 2}}     MSE     MAE",
        *(f"{each.name:<{WIDE + 2}}  {each.mse:6.4f}  {each.mae:6.4f}" for each in found.scores),
        "",
        f"{'MAE, own units':<{WIDE + 2}}" + "".join(f"{each.name:>{WIDE}}" for each in found.scores),
    ]
    for number, column in enumerate(found.table.columns):
        errors = (f"{each.absolute[number] * found.deviation[number]:{WIDE}.4g}" for each in found.scores)
        lines.append(f"{column:<{WIDE + 2}}{''.join(errors)}")
    if found.coverage:
        shares = (f"{high - low:.0%} holds {share:.1%}" for (low, high), share in found.coverage.items())
        lines += ["", f"intervals: {', '.join(shares)} of what came"]
    return "\n".join([*lines, *found.table.notes, *found.notes]) + "\n"
