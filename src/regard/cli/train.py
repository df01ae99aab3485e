"""`regard train`: two text files to a model folder."""

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.conformance import show_conformance
from regard.cli.program import program
from regard.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from regard.config import Settings
    from regard.tasks.translation import TranslationRun
    from regard.train.loop import Outcome

PRESETS = ("tiny", "small", "base", "big")
FILE_FLAGS = ("source", "target", "pairs", "valid_source", "valid_target", "valid_pairs", "strict")

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
"""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "train",
        help="train a translation model on two text files",
        description="Train a translation model on two text files that match line by line.",
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
    parser.add_argument(
        "--preset", choices=PRESETS, help="size of the model, and no plan (default: what suits the corpus)"
    )
    parser.add_argument(
        "--from", dest="start", metavar="MODEL", help="go on from this model's weights and pieces"
    )
    parser.add_argument(
        "--extend-vocabulary", metavar="N", type=int, help="with --from: learn up to N new pieces besides"
    )
    parser.add_argument(
        "--recipe", choices=("paper",), help="paper: its base model (or --preset big) and all its settings"
    )
    parser.add_argument(
        "--memory",
        metavar="GIB",
        help="what a step may take, or auto (what is free, the default), or any; batches are cut to fit",
    )
    parser.add_argument("--config", metavar="run.toml", type=Path, help="settings, a section per part")
    parser.add_argument(
        "--set", metavar="section.key=value", action="append", default=[], help="one setting; may be repeated"
    )


def run_train(options: argparse.Namespace) -> None:
    from rich.console import Console

    from regard.train.run import refuse_unusable

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    if not options.conformance:  # what cannot work is said before the files are read
        if options.out is None:
            raise ConfigError("there is nowhere to write to; give --out DIR, a new folder for the run")
        refuse_unusable(options.out)
    run = settings(options, console, options.out)
    from regard.explorer.page import small
    from regard.tasks.recipe import conformance
    from regard.tasks.translation import train_translation
    from regard.train.device import keep_freed_memory

    if options.conformance:
        show_conformance(conformance(run), Console(highlight=False, markup=False, emoji=False))
        return
    keep_freed_memory()
    outcome = train_translation(run, options.out, console, draw=small)
    console.print(
        f"  {_ended(outcome, options.out)}\n"
        f"  translate with: {program()} translate {shlex.quote(str(options.out))} < FILE\n"
        f"  see how it went: {program()} plot {shlex.quote(str(options.out))} -o curves.html"
    )


def _ended(outcome: "Outcome", out: Path) -> str:
    if outcome.ending == "interrupt" and outcome.step == 0:
        return "interrupted before the first step"
    if outcome.ending == "interrupt":
        return f"interrupted after step {outcome.step:,}; the same command goes on from there"
    why = {"steps": "done", "minutes": "time is up", "patience": "it gets no better"}[outcome.ending]
    return f"{why}: the best model, of step {outcome.step:,}, is in {out / 'model'}"


def settings(options: argparse.Namespace, console: "Console", out: Path | None = None) -> "TranslationRun":
    """A plan, preset or parent, then run file, then --set, then the flags: what is nearer to hand wins.

    `out` is the run's folder; one that was begun keeps its plan.
    """
    from regard.config import apply, merge, parse_assignments, read_settings
    from regard.tasks.start import inherited
    from regard.tasks.translation import TranslationRun

    written = {} if options.config is None else read_settings(options.config)
    memory = [] if options.memory is None else [f"compute.memory={options.memory}"]
    asked = merge(written, parse_assignments([*options.set, *memory]), _flags(options))
    if parent := asked.get("start", {}).get("model"):
        if options.preset is not None or options.recipe is not None:
            flag = "--recipe" if options.preset is None else f"--preset {options.preset}"
            raise ConfigError(f"{flag} cannot work; the model and its sizes are those of {parent}")
        return apply(TranslationRun(), merge(inherited(Path(str(parent))), asked))
    if options.preset is None and options.recipe is None and "d_model" not in asked.get("model", {}):
        return _planned(asked, console, out)
    return apply(_base(options), asked)


def _planned(asked: "Settings", console: "Console", out: Path | None) -> "TranslationRun":
    """What suits the corpus, where nobody asks for anything else; for a run that was begun, what did then."""
    from regard.config import apply, merge, read_settings
    from regard.tasks.plan import chosen, plan
    from regard.tasks.translation import TranslationRun
    from regard.train.run import SETTINGS

    run = apply(TranslationRun(), asked)
    if out is not None and (out / SETTINGS).is_file():
        console.print(f"  plan    that of {out}, which was begun with it")
        return apply(run, merge(chosen(read_settings(out / SETTINGS)), asked))
    steps = run.train.steps if "steps" in asked.get("train", {}) else None
    found = plan(run, steps, console)
    planned = apply(found.run, asked)
    console.print(f"  plan    {found.why(planned)}")
    return planned


def _base(options: argparse.Namespace) -> "TranslationRun":
    """What a run begins with before any setting is asked for."""
    from regard.model import config as presets
    from regard.tasks.recipe import paper
    from regard.tasks.translation import TranslationRun

    if options.recipe is None:
        return TranslationRun(model=getattr(presets, (options.preset or "small").upper()))
    if options.preset not in (None, "base", "big"):
        raise ConfigError(f"--preset {options.preset} cannot work; the paper has a base and a big model")
    return paper("big" if options.preset == "big" else "base")


def _flags(options: argparse.Namespace) -> dict[str, dict[str, object]]:
    """The settings that have a flag of their own."""
    given = {
        "data": {name: getattr(options, name) for name in FILE_FLAGS},
        "start": {"model": options.start, "extend_vocabulary": options.extend_vocabulary},
    }
    return {
        section: {name: value for name, value in values.items() if value is not None}
        for section, values in given.items()
    }
