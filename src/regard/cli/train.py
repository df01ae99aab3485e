"""`regard train`: two text files, or a table with a time column, to a model folder."""

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.conformance import show_conformance
from regard.cli.program import program
from regard.cli.settings import add_settings, settings
from regard.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from regard.tasks.course import TaskRun
    from regard.train.loop import Outcome

USES = {"translation": "< FILE", "classification": "< FILE", "forecasting": "FILE"}
"""What to give a model, by its task."""
EPILOG = """\
presets (layers, width, heads, feed-forward)
  tiny   4+4  128   4   256   for some ten thousand pairs
  small  3+3  256   4  1024   for some hundred thousand pairs
  base   6+6  512   8  2048   the paper's base model
  big    6+6 1024  16  4096   the paper's big model

Without --preset, --recipe, --from and model.d_model, size, length and rates are planned from how much text
there is and from what computes it; the first line says how. Settings come from that plan (or from the
preset, or from the model of --from), then --config, then --set; config.toml in the folder shows them all,
and can be given to --config again. In DIR you find
  model/         the best model: give DIR or DIR/model to `regard translate`
  config.toml    every setting that was in effect
  data.json      what was found in the files, by line number, and left out
  metrics.jsonl  loss, speed and validation scores, which `regard plot DIR -o curves.svg` draws
  step-NNNNNN/   the last checkpoints, each a model folder and all it takes to go on from it

A run that was cut short, by whatever, goes on when the same command is given again.

examples
  regard train --source train.en --target train.fr --out runs/en-fr
  regard train --from runs/en-fr --source law.en --target law.fr --out runs/en-fr-law
  regard train --series load.csv --horizon 96 --out runs/load       a forecaster: docs/forecasting.md
"""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "train",
        help="train a model on two text files, or on series in a table",
        description="Train a translation model on two text files that match line by line, or a forecaster\n"
        "on a table with a column of times.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", metavar="DIR", type=Path, help="a folder for the run: new, or to go on with")
    parser.add_argument(
        "--conformance",
        action="store_true",
        help="do not train; show each setting that departs from the paper",
    )
    add_settings(parser)
    parser.set_defaults(run=run_train)


def run_train(options: argparse.Namespace) -> None:
    from rich.console import Console

    from regard.train.run import refuse_unusable

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    if not options.conformance:  # what cannot work is said before the files are read
        if options.out is None:
            raise ConfigError("there is nowhere to write to; give --out DIR, a new folder for the run")
        refuse_unusable(options.out)
    run = settings(options, console, options.out)
    if options.conformance:
        _conform(run)
        return
    from regard.malloc import keep_freed_memory
    from regard.tasks.sealed import VERBS

    keep_freed_memory()
    outcome = _train(run, options.out, console)
    folder = shlex.quote(str(options.out))
    console.print(
        f"  {_ended(outcome, options.out)}\n"
        f"  {VERBS[run.task]} with: {program()} {VERBS[run.task]} {folder} {USES[run.task]}\n"
        f"  see how it went: {program()} plot {folder} -o curves.html"
    )


def _conform(run: "TaskRun") -> None:
    from rich.console import Console

    from regard.tasks.recipe import conformance
    from regard.tasks.translation import TranslationRun

    if not isinstance(run, TranslationRun):
        raise ConfigError(f"--conformance cannot work; the paper has no {run.task}")
    show_conformance(conformance(run), Console(highlight=False, markup=False, emoji=False))


def _train(run: "TaskRun", out: Path, console: "Console") -> "Outcome":
    from regard.explorer.page import small
    from regard.tasks.classification import ClassificationRun, train_classification
    from regard.tasks.forecasting import ForecastRun, train_forecasting
    from regard.tasks.translation import TranslationRun, train_translation

    match run:
        case TranslationRun():
            return train_translation(run, out, console, draw=small)
        case ClassificationRun():
            return train_classification(run, out, console, draw=small)
        case ForecastRun():
            return train_forecasting(run, out, console, draw=small)
        case _:
            raise TypeError(f"there is no way to train for {run.task}")


def _ended(outcome: "Outcome", out: Path) -> str:
    if outcome.ending == "interrupt" and outcome.step == 0:
        return "interrupted before the first step"
    if outcome.ending == "interrupt":
        return f"interrupted after step {outcome.step:,}; the same command goes on from there"
    why = {"steps": "done", "minutes": "time is up", "patience": "it gets no better"}[outcome.ending]
    return f"{why}: the best model, of step {outcome.step:,}, is in {out / 'model'}"
