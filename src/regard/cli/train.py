"""How a run's settings stand to the paper, as a person reads it."""

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.args.train_args import add_train_arguments, resolve_settings
from regard.cli.output import command_name
from regard.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from regard.train.loop import TrainingResult
    from regard.train.setup import RunConfig
    from regard.translation.paper_recipe import PaperComparison


def print_conformance(conformance: "PaperComparison", console: "Console") -> None:
    """Deviations first, then what a run does not decide, then what the paper leaves open."""
    if conformance.deviations:
        console.print(f"departs from the paper's {conformance.size} model:")
        table = _plain_table("setting", "the paper", "section", "here")
        for row in conformance.deviations:
            table.add_row(row.setting, row.paper_value, _section_title(row.section), row.run_value)
        console.print(table)
    else:
        console.print(f"departs in nothing from the paper's {conformance.size} model, as far as settings go")
    if conformance.not_run_settings:
        console.print("\nthe paper says, and these settings do not decide:")
        table = _plain_table("what", "the paper", "section")
        for claim in conformance.not_run_settings:
            table.add_row(claim.setting, claim.wording or str(claim.value), _section_title(claim.section))
        console.print(table)
    console.print("\nthe paper leaves open:")
    table = _plain_table("what", "here")
    for what, here in conformance.unspecified:
        table.add_row(what, here)
    console.print(table)


def _section_title(number: str) -> str:
    from regard.translation.paper_recipe import PAPER_SECTIONS

    return f"{number} {PAPER_SECTIONS[number]}"


def _plain_table(*columns: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for column in columns:
        table.add_column(column)
    return table


MODEL_USAGE = {"translation": "< FILE", "classification": "< FILE", "forecasting": "FILE"}
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


def add_train_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
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
        "--compare-to-paper",
        action="store_true",
        help="do not train; show each setting that departs from the paper",
    )
    add_train_arguments(parser)
    parser.set_defaults(run=run_train)


def run_train(options: argparse.Namespace) -> None:
    from rich.console import Console

    from regard.train.run_folder import reject_unusable_folder

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    if not options.compare_to_paper:  # what cannot work is said before the files are read
        if options.out is None:
            raise ConfigError("there is nowhere to write to; give --out DIR, a new folder for the run")
        reject_unusable_folder(options.out)
    run = resolve_settings(options, console, options.out)
    if options.compare_to_paper:
        _report_conformance(run)
        return
    from regard.runtime import keep_freed_memory
    from regard.train.model_files import TASK_COMMANDS

    keep_freed_memory()
    outcome = _train_task(run, options.out, console)
    folder = shlex.quote(str(options.out))
    console.print(
        f"  {_describe_outcome(outcome, options.out)}\n"
        f"  {TASK_COMMANDS[run.task]} with: {command_name()} {TASK_COMMANDS[run.task]} {folder} {MODEL_USAGE[run.task]}\n"
        f"  see how it went: {command_name()} plot {folder} -o curves.html"
    )


def _report_conformance(run: "RunConfig") -> None:
    from rich.console import Console

    from regard.translation.paper_recipe import compare_with_paper
    from regard.translation.run import TranslationRun

    if not isinstance(run, TranslationRun):
        raise ConfigError(f"--compare-to-paper cannot work; the paper has no {run.task}")
    print_conformance(compare_with_paper(run), Console(highlight=False, markup=False, emoji=False))


def _train_task(run: "RunConfig", out: Path, console: "Console") -> "TrainingResult":
    from regard.classification.run import ClassificationRun
    from regard.classification.task import train_classification
    from regard.forecasting.run import ForecastingRun
    from regard.forecasting.task import train_forecasting
    from regard.plots.curves_page import render_model_card_svg
    from regard.translation.run import TranslationRun
    from regard.translation.task import train_translation

    match run:
        case TranslationRun():
            return train_translation(run, out, console, render_curves=render_model_card_svg)
        case ClassificationRun():
            return train_classification(run, out, console, render_curves=render_model_card_svg)
        case ForecastingRun():
            return train_forecasting(run, out, console, render_curves=render_model_card_svg)
        case _:
            raise TypeError(f"there is no way to train for {run.task}")


def _describe_outcome(outcome: "TrainingResult", out: Path) -> str:
    if outcome.stop_reason == "interrupt" and outcome.step == 0:
        return "interrupted before the first step"
    if outcome.stop_reason == "interrupt":
        return f"interrupted after step {outcome.step:,}; the same command goes on from there"
    why = {"steps": "done", "minutes": "time is up", "patience": "it gets no better"}[outcome.stop_reason]
    return f"{why}: the best model, of step {outcome.step:,}, is in {out / 'model'}"
