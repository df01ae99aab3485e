"""`regard train`: two text files to a model folder."""

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.program import program

if TYPE_CHECKING:
    from regard.tasks.translation import TranslationRun
    from regard.train.loop import Outcome

PRESETS = ("tiny", "small", "base", "big")

EPILOG = """\
presets (layers, width, heads, feed-forward)
  tiny   4+4  128   4   256   for some ten thousand pairs
  small  3+3  256   4  1024   for some hundred thousand pairs (the default)
  base   6+6  512   8  2048   the paper's base model
  big    6+6 1024  16  4096   the paper's big model

Settings come from the preset, then --config, then --set; config.toml in the folder shows them
all, and can be given to --config again. In DIR you find
  model/         the best model: give DIR or DIR/model to `regard translate`
  config.toml    every setting that was in effect
  data.json      what was found in the files, by line number, and left out
  metrics.jsonl  loss, speed and validation scores
  step-NNNNNN/   the last checkpoints, each a model folder and all it takes to go on from it

A run that was cut short, by whatever, goes on when the same command is given again.

example
  regard train --source train.en --target train.fr --out runs/en-fr --set train.steps=5000
"""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "train",
        help="train a translation model on two text files",
        description="Train a translation model on two text files that match line by line.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--out", metavar="DIR", required=True, type=Path, help="a folder for the run: new, or to go on with"
    )
    add_settings(parser)
    parser.set_defaults(run=run_train)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """What `settings` reads: every verb that trains takes the same."""
    parser.add_argument(
        "--source", metavar="FILE", action="append", help="sentences to translate from, one a line"
    )
    parser.add_argument("--target", metavar="FILE", action="append", help="their translations, line by line")
    parser.add_argument(
        "--pairs",
        metavar="FILE",
        action="append",
        help="both in one file, .tsv or .jsonl; all three may be repeated",
    )
    parser.add_argument("--valid-source", metavar="FILE", help="validate on these (default: held out)")
    parser.add_argument("--valid-target", metavar="FILE")
    parser.add_argument("--valid-pairs", metavar="FILE", help="the same in one file")
    parser.add_argument("--strict", action="store_true", default=None, help="refuse a corpus with bad pairs")
    parser.add_argument("--preset", choices=PRESETS, default="small", help="size of the model")
    parser.add_argument("--config", metavar="run.toml", type=Path, help="settings, a section per part")
    parser.add_argument(
        "--set", metavar="section.key=value", action="append", default=[], help="one setting; may be repeated"
    )


def run_train(options: argparse.Namespace) -> None:
    run = settings(options)
    from rich.console import Console

    from regard.tasks.translation import train_translation
    from regard.train.device import keep_freed_memory

    keep_freed_memory()
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    outcome = train_translation(run, options.out, console)
    console.print(
        f"  {_ended(outcome, options.out)}\n"
        f"  translate with: {program()} translate {shlex.quote(str(options.out))} < FILE"
    )


def _ended(outcome: "Outcome", out: Path) -> str:
    if outcome.ending == "interrupt":
        return f"interrupted after step {outcome.step:,}; the same command goes on from there"
    why = {"steps": "done", "minutes": "time is up", "patience": "it gets no better"}[outcome.ending]
    return f"{why}: the best model, of step {outcome.step:,}, is in {out / 'model'}"


def settings(options: argparse.Namespace) -> "TranslationRun":
    """Preset, then run file, then --set, then the file flags: what is nearer to hand wins."""
    from regard.config import apply, merge, parse_assignments, read_settings
    from regard.model import config as presets
    from regard.tasks.translation import TranslationRun

    run = TranslationRun(model=getattr(presets, options.preset.upper()))
    written = {} if options.config is None else read_settings(options.config)
    names = ("source", "target", "pairs", "valid_source", "valid_target", "valid_pairs", "strict")
    flags = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return apply(run, merge(written, parse_assignments(options.set), {"data": flags}))
