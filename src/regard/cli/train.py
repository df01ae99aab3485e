"""How a run's settings stand to the paper, as a person reads it."""

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.args.train_args import add_settings, settings
from regard.cli.output import program
from regard.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from regard.train.loop import Outcome
    from regard.train.setup import TaskRun
    from regard.translation.paper_recipe import Conformance


def show_conformance(found: "Conformance", console: "Console") -> None:
    """Deviations first, then what a run does not decide, then what the paper leaves open."""
    if found.deviations:
        console.print(f"departs from the paper's {found.size} model:")
        table = _table("setting", "the paper", "section", "here")
        for row in found.deviations:
            table.add_row(row.setting, row.paper, _section(row.section), row.here)
        console.print(table)
    else:
        console.print(f"departs in nothing from the paper's {found.size} model, as far as settings go")
    if found.undecided:
        console.print("\nthe paper says, and these settings do not decide:")
        table = _table("what", "the paper", "section")
        for claim in found.undecided:
            table.add_row(claim.setting, claim.words or str(claim.value), _section(claim.section))
        console.print(table)
    console.print("\nthe paper leaves open:")
    table = _table("what", "here")
    for what, here in found.left_open:
        table.add_row(what, here)
    console.print(table)


def _section(number: str) -> str:
    from regard.translation.paper_recipe import SECTIONS

    return f"{number} {SECTIONS[number]}"


def _table(*columns: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for column in columns:
        table.add_column(column)
    return table


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

    from regard.train.run_folder import refuse_unusable

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    if not options.conformance:  # what cannot work is said before the files are read
        if options.out is None:
            raise ConfigError("there is nowhere to write to; give --out DIR, a new folder for the run")
        refuse_unusable(options.out)
    run = settings(options, console, options.out)
    if options.conformance:
        _conform(run)
        return
    from regard.runtime import keep_freed_memory
    from regard.train.model_files import VERBS

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

    from regard.translation.paper_recipe import conformance
    from regard.translation.run import TranslationRun

    if not isinstance(run, TranslationRun):
        raise ConfigError(f"--conformance cannot work; the paper has no {run.task}")
    show_conformance(conformance(run), Console(highlight=False, markup=False, emoji=False))


def _train(run: "TaskRun", out: Path, console: "Console") -> "Outcome":
    from regard.classification.run import ClassificationRun, train_classification
    from regard.forecasting.run import ForecastRun, train_forecasting
    from regard.plots.curves_page import small
    from regard.translation.run import TranslationRun, train_translation

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
