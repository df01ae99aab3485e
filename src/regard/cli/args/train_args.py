"""From flags and run file to the settings of a run, whatever its task."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from regard.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from regard.classification.run import ClassificationRun
    from regard.config import Settings
    from regard.forecasting.run import ForecastRun
    from regard.train.setup import TaskRun
    from regard.translation.run import TranslationRun

TASKS = ("translation", "classification", "forecasting")
PRESETS = ("tiny", "small", "base", "big")
FLAGS = {
    "translation": {
        "data": ("source", "target", "pairs", "valid_source", "valid_target", "valid_pairs", "strict"),
        "start": ("model", "extend_vocabulary"),
    },
    "classification": {
        "data": ("labelled", "texts", "labels", "valid_labelled", "valid_texts", "valid_labels", "strict"),
    },
    "forecasting": {"data": ("series", "time", "columns"), "model": ("horizon",)},
}
"""Settings that have a flag of their own, by task and section."""
Run = TypeVar("Run")


@runtime_checkable
class Planned(Protocol[Run]):
    """Settings to begin with, and why."""

    @property
    def run(self) -> Run: ...

    def why(self, run: Run) -> str: ...


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
    parser.add_argument(
        "--labelled",
        metavar="FILE",
        action="append",
        help="to classify: label<TAB>text on each line (.tsv), or .jsonl; may be repeated",
    )
    parser.add_argument("--texts", metavar="FILE", action="append", help="the same in two files: texts,")
    parser.add_argument("--labels", metavar="FILE", action="append", help="and their labels, line by line")
    parser.add_argument("--valid-labelled", metavar="FILE", help="validate on these (default: held out)")
    parser.add_argument("--valid-texts", metavar="FILE", help="the same in two files")
    parser.add_argument("--valid-labels", metavar="FILE")
    parser.add_argument(
        "--series", metavar="FILE", help="to forecast: a CSV or Parquet file with a column of times"
    )
    parser.add_argument("--time", metavar="COLUMN", help="its times (default: the column that looks like it)")
    parser.add_argument("--columns", metavar="COLUMN", nargs="+", help="its series (default: all others)")
    parser.add_argument("--horizon", metavar="N", type=int, help="steps to foretell")
    parser.add_argument("--strict", action="store_true", default=None, help="refuse a corpus with bad lines")
    parser.add_argument(
        "--preset", choices=PRESETS, help="size of the model, and no plan (default: what suits the corpus)"
    )
    parser.add_argument(
        "--from", dest="model", metavar="MODEL", help="go on from this model's weights and pieces"
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


def settings(options: argparse.Namespace, console: "Console", out: Path | None = None) -> "TaskRun":
    """A plan, preset or parent, then run file, then --set, then the flags: what is nearer to hand wins.

    `out` is the run's folder; one that was begun keeps its plan.
    """
    from regard.config import merge, parse_assignments, read_settings

    task = _task(options)
    _refuse_another(out, task)
    written = {} if options.config is None else read_settings(options.config)
    memory = [] if options.memory is None else [f"compute.memory={options.memory}"]
    asked = merge(written, parse_assignments([*options.set, *memory]), _flags(options, task))
    match task:
        case "translation":
            return _translation(options, asked, console, out)
        case "classification":
            return _classification(options, asked, console, out)
        case "forecasting":
            return _forecasting(options, asked, console, out)
        case _:
            raise ConfigError(f"task = {task} cannot work; it must be {' or '.join(TASKS)}")


def _task(options: argparse.Namespace) -> str:
    """What is to be learnt: as the flags say, or the run file; translation if neither does."""
    from regard.config import FIRST_TASK, read_task

    written = FIRST_TASK if options.config is None else read_task(options.config)
    flags = {task: _given(options, task) for task in TASKS}
    named = [task for task, given in flags.items() if given]
    task = named[0] if named and options.config is None else written
    for other, given in flags.items():
        if other != task and given:
            raise ConfigError(f"--{given[0].replace('_', '-')} is for {other}, and the task is {task}")
    return task


def _refuse_another(out: Path | None, task: str) -> None:
    """A run that was begun for one task cannot go on for another."""
    from regard.config import read_task
    from regard.train.run_folder import SETTINGS

    if out is not None and (out / SETTINGS).is_file() and (begun := read_task(out / SETTINGS)) != task:
        raise ConfigError(f"{out} is a run for {begun}, and the task is {task}; choose another --out")


def _given(options: argparse.Namespace, task: str) -> list[str]:
    """The flags for this task alone that were given."""
    others = {name for other in TASKS if other != task for names in FLAGS[other].values() for name in names}
    names = (name for names in FLAGS[task].values() for name in names if name not in others)
    return [name for name in names if getattr(options, name) is not None]


def _flags(options: argparse.Namespace, task: str) -> dict[str, dict[str, object]]:
    return {
        section: {name: value for name in names if (value := getattr(options, name)) is not None}
        for section, names in FLAGS[task].items()
    }


def _translation(
    options: argparse.Namespace, asked: "Settings", console: "Console", out: Path | None
) -> "TranslationRun":
    from regard.config import apply, merge
    from regard.translation.autoconfig import chosen, plan
    from regard.translation.finetune import inherited
    from regard.translation.run import TranslationRun

    if parent := asked.get("start", {}).get("model"):
        if options.preset is not None or options.recipe is not None:
            flag = "--recipe" if options.preset is None else f"--preset {options.preset}"
            raise ConfigError(f"{flag} cannot work; the model and its sizes are those of {parent}")
        return apply(TranslationRun(), merge(inherited(Path(str(parent))), asked))
    if options.preset is None and options.recipe is None and "d_model" not in asked.get("model", {}):

        def planned(run: TranslationRun) -> Planned[TranslationRun]:
            steps = run.train.steps if "steps" in asked.get("train", {}) else None
            return plan(run, steps, console)

        return _planned(TranslationRun(), asked, planned, chosen, console, out)
    return apply(_preset(options), asked)


def _classification(
    options: argparse.Namespace, asked: "Settings", console: "Console", out: Path | None
) -> "ClassificationRun":
    from regard.classification.autoconfig import chosen, plan
    from regard.classification.run import ClassificationRun
    from regard.config import apply

    for name in ("preset", "recipe"):
        if (said := getattr(options, name)) is not None:
            raise ConfigError(f"--{name} {said} is for translation, and the task is classification")
    if "d_model" in asked.get("model", {}):
        return apply(ClassificationRun(), asked)

    def planned(run: ClassificationRun) -> Planned[ClassificationRun]:
        steps = run.train.steps if "steps" in asked.get("train", {}) else None
        return plan(run, steps, console)

    return _planned(ClassificationRun(), asked, planned, chosen, console, out)


def _forecasting(
    options: argparse.Namespace, asked: "Settings", console: "Console", out: Path | None
) -> "ForecastRun":
    from regard.config import apply
    from regard.forecasting.autoconfig import chosen, plan
    from regard.forecasting.run import ForecastRun

    for name in ("preset", "recipe"):
        if (said := getattr(options, name)) is not None:
            raise ConfigError(
                f"--{name} {said} cannot work; it is for translation, and the task is forecasting"
            )
    if options.strict:
        raise ConfigError("--strict is for texts; `regard check --series FILE --strict` refuses a table")
    if "d_model" in asked.get("model", {}):
        return apply(ForecastRun(), asked)
    return _planned(ForecastRun(), asked, lambda run: plan(run, asked), chosen, console, out)


def _planned(
    default: Run,
    asked: "Settings",
    plan: Callable[[Run], Planned[Run]],
    chosen: Callable[["Settings"], "Settings"],
    console: "Console",
    out: Path | None,
) -> Run:
    """What suits the data, where nobody asks for anything else; for a run that was begun, what did then.

    `chosen` is what a plan decides.
    """
    from regard.config import apply, merge, read_settings
    from regard.train.run_folder import SETTINGS

    run = apply(default, asked)
    if out is not None and (out / SETTINGS).is_file():
        console.print(f"  plan    that of {out}, which was begun with it")
        return apply(run, merge(chosen(read_settings(out / SETTINGS)), asked))
    found = plan(run)
    planned = apply(found.run, asked)
    console.print(f"  plan    {found.why(planned)}")
    return planned


def _preset(options: argparse.Namespace) -> "TranslationRun":
    """What a run begins with before any setting is asked for."""
    from regard.model import config as presets
    from regard.translation.paper_recipe import paper
    from regard.translation.run import TranslationRun

    if options.recipe is None:
        return TranslationRun(model=getattr(presets, (options.preset or "small").upper()))
    if options.preset not in (None, "base", "big"):
        raise ConfigError(f"--preset {options.preset} cannot work; the paper has a base and a big model")
    return paper("big" if options.preset == "big" else "base")
