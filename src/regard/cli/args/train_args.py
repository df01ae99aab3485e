"""From flags and run file to the settings of a run, whatever its task."""

import argparse
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from regard.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from regard.classification.run import ClassificationRun
    from regard.config import Settings
    from regard.forecasting.run import ForecastingRun
    from regard.train.setup import RunConfig
    from regard.translation.run import TranslationRun

TASK_NAMES = ("translation", "classification", "forecasting")
PRESETS = ("tiny", "small", "base", "big")
RunT = TypeVar("RunT")


@runtime_checkable
class AutoconfigResult(Protocol[RunT]):
    """Settings to begin with, and why."""

    @property
    def run(self) -> RunT: ...

    def explain(self, run: RunT) -> str: ...


def add_train_arguments(parser: argparse.ArgumentParser) -> None:
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


def resolve_settings(
    options: argparse.Namespace, console: "Console", run_folder: Path | None = None
) -> "RunConfig":
    """A plan, preset or parent, then run file, then --set, then the flags: what is nearer to hand wins.

    `out` is the run's folder; one that was begun keeps its plan.
    """
    from regard.config import merge_settings, parse_assignments, read_settings

    task = _resolve_task(options)
    _reject_other_task(run_folder, task)
    written = {} if options.config is None else read_settings(options.config)
    memory = [] if options.memory is None else [f"compute.memory={options.memory}"]
    asked = merge_settings(written, parse_assignments([*options.set, *memory]), _flag_settings(options, task))
    match task:
        case "translation":
            return _translation_settings(options, asked, console, run_folder)
        case "classification":
            return _classification_settings(options, asked, console, run_folder)
        case "forecasting":
            return _forecast_settings(options, asked, console, run_folder)
        case _:
            raise ConfigError(f"task = {task} cannot work; it must be {' or '.join(TASK_NAMES)}")


def _resolve_task(options: argparse.Namespace) -> str:
    """What is to be learnt: as the flags say, or the run file; translation if neither does."""
    from regard.config import DEFAULT_TASK, read_task

    written = DEFAULT_TASK if options.config is None else read_task(options.config)
    flags = _flags_of_one_task(options)
    task = next(iter(flags.values())) if flags and options.config is None else written
    for flag, other in flags.items():
        if other != task:
            raise ConfigError(f"{flag} is for {other}, and the task is {task}")
    return task


def _reject_other_task(out: Path | None, task: str) -> None:
    """A run that was begun for one task cannot go on for another."""
    from regard.config import read_task
    from regard.checkpoint import CONFIG_FILE

    if (
        out is not None
        and (out / CONFIG_FILE).is_file()
        and (begun := read_task(out / CONFIG_FILE)) != task
    ):
        raise ConfigError(f"{out} is a run for {begun}, and the task is {task}; choose another --out")


def _task_flags() -> dict[str, dict[str, str]]:
    """Return the flags of each task that set a setting, by `section.key`."""
    from regard.classification.run import ClassificationRun
    from regard.config import run_traits
    from regard.forecasting.run import ForecastingRun
    from regard.translation.run import TranslationRun

    return {
        run.task: {name: traits.flag for name, traits in run_traits(run).items() if traits.flag is not None}
        for run in (TranslationRun(), ClassificationRun(), ForecastingRun())
    }


def _flags_of_one_task(options: argparse.Namespace) -> dict[str, str]:
    """Return the task of each flag that was given and that one task alone has."""
    task_flags = _task_flags()
    counts = Counter(flag for flags in task_flags.values() for flag in flags.values())
    return {
        flag: task
        for task, flags in task_flags.items()
        for name, flag in flags.items()
        if counts[flag] == 1 and getattr(options, name.partition(".")[2]) is not None
    }


def _flag_settings(options: argparse.Namespace, task: str) -> dict[str, dict[str, object]]:
    settings: dict[str, dict[str, object]] = {}
    for name in _task_flags()[task]:
        section, _, key = name.partition(".")
        if (value := getattr(options, key)) is not None:
            settings.setdefault(section, {})[key] = value
    return settings


def _translation_settings(
    options: argparse.Namespace, asked: "Settings", console: "Console", out: Path | None
) -> "TranslationRun":
    from regard.config import apply_settings, merge_settings
    from regard.translation.autoconfig import autoconfigure_translation, select_translation_auto_settings
    from regard.translation.finetune import inherit_finetune_settings
    from regard.translation.run import TranslationRun

    if parent := asked.get("start", {}).get("model"):
        if options.preset is not None or options.recipe is not None:
            flag = "--recipe" if options.preset is None else f"--preset {options.preset}"
            raise ConfigError(f"{flag} cannot work; the model and its sizes are those of {parent}")
        return apply_settings(
            TranslationRun(), merge_settings(inherit_finetune_settings(Path(str(parent))), asked)
        )
    if options.preset is None and options.recipe is None and "d_model" not in asked.get("model", {}):

        def planned(run: TranslationRun) -> AutoconfigResult[TranslationRun]:
            steps = run.train.steps if "steps" in asked.get("train", {}) else None
            return autoconfigure_translation(run, steps, console)

        return _autoconfigured(
            TranslationRun(), asked, planned, select_translation_auto_settings, console, out
        )
    return apply_settings(_preset_settings(options), asked)


def _classification_settings(
    options: argparse.Namespace, asked: "Settings", console: "Console", out: Path | None
) -> "ClassificationRun":
    from regard.classification.autoconfig import (
        autoconfigure_classification,
        select_classification_auto_settings,
    )
    from regard.classification.run import ClassificationRun
    from regard.config import apply_settings

    for name in ("preset", "recipe"):
        if (said := getattr(options, name)) is not None:
            raise ConfigError(f"--{name} {said} is for translation, and the task is classification")
    if "d_model" in asked.get("model", {}):
        return apply_settings(ClassificationRun(), asked)

    def planned(run: ClassificationRun) -> AutoconfigResult[ClassificationRun]:
        steps = run.train.steps if "steps" in asked.get("train", {}) else None
        return autoconfigure_classification(run, steps, console)

    return _autoconfigured(
        ClassificationRun(), asked, planned, select_classification_auto_settings, console, out
    )


def _forecast_settings(
    options: argparse.Namespace, asked: "Settings", console: "Console", out: Path | None
) -> "ForecastingRun":
    from regard.config import apply_settings
    from regard.forecasting.autoconfig import autoconfigure_forecasting, select_forecasting_auto_settings
    from regard.forecasting.run import ForecastingRun

    for name in ("preset", "recipe"):
        if (said := getattr(options, name)) is not None:
            raise ConfigError(
                f"--{name} {said} cannot work; it is for translation, and the task is forecasting"
            )
    if options.strict:
        raise ConfigError("--strict is for texts; `regard check --series FILE --strict` refuses a table")
    if "d_model" in asked.get("model", {}):
        return apply_settings(ForecastingRun(), asked)
    return _autoconfigured(
        ForecastingRun(),
        asked,
        lambda run: autoconfigure_forecasting(run, asked),
        select_forecasting_auto_settings,
        console,
        out,
    )


def _autoconfigured(
    default: RunT,
    asked: "Settings",
    plan: Callable[[RunT], AutoconfigResult[RunT]],
    chosen: Callable[["Settings"], "Settings"],
    console: "Console",
    out: Path | None,
) -> RunT:
    """What suits the data, where nobody asks for anything else; for a run that was begun, what did then.

    `chosen` is what a plan decides.
    """
    from regard.config import apply_settings, merge_settings, read_settings
    from regard.checkpoint import CONFIG_FILE

    run = apply_settings(default, asked)
    if out is not None and (out / CONFIG_FILE).is_file():
        console.print(f"  plan    that of {out}, which was begun with it")
        return apply_settings(run, merge_settings(chosen(read_settings(out / CONFIG_FILE)), asked))
    found = plan(run)
    planned = apply_settings(found.run, asked)
    console.print(f"  plan    {found.explain(planned)}")
    return planned


def _preset_settings(options: argparse.Namespace) -> "TranslationRun":
    """What a run begins with before any setting is asked for."""
    from regard.model import config as presets
    from regard.translation.paper_recipe import build_paper_run
    from regard.translation.run import TranslationRun

    if options.recipe is None:
        return TranslationRun(model=getattr(presets, (options.preset or "small").upper()))
    if options.preset not in (None, "base", "big"):
        raise ConfigError(f"--preset {options.preset} cannot work; the paper has a base and a big model")
    return build_paper_run("big" if options.preset == "big" else "base")
