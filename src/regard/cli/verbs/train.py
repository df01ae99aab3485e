"""`regard train`: train a translation model, classifier or forecaster, or compare settings with the paper."""

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from regard.api.run_settings import resolve_settings
from regard.cli.args.common_args import add_json_argument, add_output_argument
from regard.cli.args.file_advice import corpus_advice
from regard.cli.args.path_args import RUN_FOLDER
from regard.cli.args.train_args import add_length_arguments, add_train_arguments, read_training_request
from regard.cli.comparison.seeds import describe_result, parse_seeds, train_seeds
from regard.cli.output import command_name, print_json
from regard.cli.verbosity import progress_console
from regard.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from regard.training.loop import TrainingResult
    from regard.training.setup import RunConfig
    from regard.translation.paper_recipe import PaperComparison

EPILOG = """\
presets (layers, d_model, heads, d_ff)
  tiny   4+4  128   4   256   for about ten thousand pairs
  small  3+3  256   4  1024   for about a hundred thousand pairs
  base   6+6  512   8  2048   the base model of the paper
  big    6+6 1024  16  4096   the big model of the paper

Without --preset, --recipe, --from and model.d_model, the size, training length
and learning rates are configured automatically from the size of the corpus and
the device; the first line of output explains them. Settings come from this
configuration (or the preset, or the model of --from), then --config, then
--set, then the other flags.

files in DIR
  model/         the best model, for `regard translate DIR`
  config.toml    all settings; can be given to --config
  data.json      the findings in the training files, with line numbers
  metrics.jsonl  loss, speed and validation scores, for `regard plot DIR`
  step-NNNNNN/   the last checkpoints

An interrupted run resumes with the same command, or with --out DIR alone; with a
larger --steps, --minutes or --epochs a run becomes longer, a finished one too.

examples
  regard train --source train.en --target train.fr --out runs/en-fr
  regard train --from runs/en-fr --source law.en --target law.fr --out runs/law
  regard train --labelled train.tsv --out runs/topics --minutes 10
  regard train --out runs/topics --minutes 20              and 10 minutes more
  regard train --labelled train.tsv --out runs/seeds --seeds 1,2,3
  regard train --series load.csv --horizon 96 --out runs/load
"""


def add_train_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "train",
        help="train a translation model, a text classifier or a forecaster",
        description="Train a translation model on parallel text, a classifier on labelled texts, or a\n"
        "forecaster on a table of time series.",
        epilog=EPILOG,
    )
    add_output_argument(parser, "run folder: new, or an existing run to resume", RUN_FOLDER, "DIR", "out")
    parser.add_argument(
        "--compare-to-paper",
        action="store_true",
        help="do not train; show the settings that differ from the paper",
    )
    add_train_arguments(parser)
    add_length_arguments(parser)
    add_json_argument(parser, "print the result as one JSON object, the progress on stderr")
    parser.add_argument(
        "--seeds",
        metavar="N,N,...",
        type=parse_seeds,
        help="train once per seed, in DIR/seed-N, and print mean and deviation of the scores",
    )
    parser.set_defaults(run=run_train, extra_argument_advice=corpus_advice)


def run_train(options: argparse.Namespace) -> None:
    console = progress_console(options)
    if options.compare_to_paper:
        run = resolve_settings(read_training_request(options), console, options.out)
        _report_conformance(run, options.json)
        return
    _require_run_folder(options)
    if options.seeds is not None:
        document = train_seeds(options, console, train_run)
    else:
        document = describe_result(options.out, train_run(options, console))
    if options.json:
        print_json(document)


def _require_run_folder(options: argparse.Namespace) -> None:
    if options.out is None:
        options.parser.error("there is no run folder; give -o DIR, and a corpus: --source FILE --target FILE")


def train_run(options: argparse.Namespace, console: "Console") -> "TrainingResult":
    """Train one run and print where its model is."""
    from regard.api.task_training import train_request
    from regard.training.model_files import TASK_COMMANDS

    run, result = train_request(read_training_request(options), options.out, console)
    command = TASK_COMMANDS[run.task]
    folder = shlex.quote(str(options.out))
    console.print(
        f"  {_describe_outcome(result, options.out)}\n"
        f"  {command} with: {command_name()} {command} {folder} FILE\n"
        f"  training curves: {command_name()} plot {folder} -o curves.html"
    )
    return result


def _report_conformance(run: "RunConfig", as_json: bool) -> None:
    from rich.console import Console

    from regard.translation.paper_recipe import compare_with_paper
    from regard.translation.run import TranslationRun

    if not isinstance(run, TranslationRun):
        raise ConfigError(f"--compare-to-paper is for translation; the paper has no {run.task} model")
    comparison = compare_with_paper(run)
    if as_json:
        deviations = [each._asdict() for each in comparison.deviations]
        print_json(
            {"size": comparison.size, "deviations": deviations, "unspecified": dict(comparison.unspecified)}
        )
    else:
        print_conformance(comparison, Console(highlight=False, markup=False, emoji=False))


def _describe_outcome(result: "TrainingResult", out: Path) -> str:
    if result.stop_reason == "interrupt" and result.step == 0:
        return "interrupted before the first step"
    if result.stop_reason == "interrupt":
        return f"interrupted after step {result.step:,}; the same command resumes"
    reason = {"steps": "done", "minutes": "time limit reached", "patience": "no further improvement"}
    return f"{reason[result.stop_reason]}: the best model, of step {result.step:,}, is in {out / 'model'}"


def print_conformance(conformance: "PaperComparison", console: "Console") -> None:
    """Print the deviations, then what settings do not decide, then what the paper does not specify."""
    if conformance.deviations:
        console.print(f"differences from the {conformance.size} model of the paper:")
        table = _plain_table("setting", "paper", "section", "this run")
        for row in conformance.deviations:
            table.add_row(row.setting, row.paper_value, _section_title(row.section), row.run_value)
        console.print(table)
    else:
        console.print(f"no setting differs from the {conformance.size} model of the paper")
    if conformance.not_run_settings:
        console.print("\nin the paper, but not decided by settings:")
        table = _plain_table("topic", "paper", "section")
        for claim in conformance.not_run_settings:
            table.add_row(claim.setting, claim.wording or str(claim.value), _section_title(claim.section))
        console.print(table)
    console.print("\nnot specified in the paper:")
    table = _plain_table("topic", "this run")
    for topic, choice in conformance.unspecified:
        table.add_row(topic, choice)
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
