"""Arguments of `regard train`, and the settings of a run from flags, run file and automatic configuration."""

import argparse
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from regard.cli.args.number_args import NumberArgument
from regard.cli.args.path_args import INPUT_NAME, INPUT_PATH
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
    """Automatic settings of a run, with their explanation."""

    @property
    def run(self) -> RunT: ...

    def explain(self, run: RunT) -> str: ...


def add_train_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `resolve_settings` reads; all commands that train share them."""
    parser.add_argument(
        "--source", metavar="FILE", type=INPUT_NAME, action="append", help="source sentences, one per line"
    )
    parser.add_argument(
        "--target", metavar="FILE", type=INPUT_NAME, action="append", help="their translations, line by line"
    )
    parser.add_argument(
        "--pairs",
        metavar="FILE",
        type=INPUT_NAME,
        action="append",
        help="both sides in one file, .tsv or .jsonl; all three are repeatable",
    )
    parser.add_argument(
        "--valid-source",
        metavar="FILE",
        type=INPUT_NAME,
        help="validation set (default: held out of the corpus)",
    )
    parser.add_argument("--valid-target", metavar="FILE", type=INPUT_NAME, help="its translations")
    parser.add_argument("--valid-pairs", metavar="FILE", type=INPUT_NAME, help="validation set in one file")
    parser.add_argument(
        "--labelled",
        metavar="FILE",
        type=INPUT_NAME,
        action="append",
        help="for a classifier: label and text per line (.tsv, .csv or .jsonl); repeatable",
    )
    add_label_column_arguments(parser)
    parser.add_argument(
        "--texts",
        metavar="FILE",
        type=INPUT_NAME,
        action="append",
        help="labelled texts in two files: the texts",
    )
    parser.add_argument(
        "--labels", metavar="FILE", type=INPUT_NAME, action="append", help="and the labels, line by line"
    )
    parser.add_argument(
        "--valid-labelled",
        metavar="FILE",
        type=INPUT_NAME,
        help="validation set (default: held out of the corpus)",
    )
    parser.add_argument(
        "--valid-texts", metavar="FILE", type=INPUT_NAME, help="validation set in two files: the texts"
    )
    parser.add_argument("--valid-labels", metavar="FILE", type=INPUT_NAME, help="and the labels")
    parser.add_argument(
        "--series",
        metavar="FILE",
        type=INPUT_NAME,
        help="for a forecaster: CSV or Parquet table with a time column",
    )
    parser.add_argument("--time", metavar="COLUMN", help="time column (default: detected)")
    parser.add_argument(
        "--columns",
        metavar="COLUMN",
        nargs="+",
        action="extend",
        help="series columns (default: all others)",
    )
    parser.add_argument("--horizon", metavar="N", type=NumberArgument(int), help="forecast horizon in steps")
    parser.add_argument("--strict", action="store_true", default=None, help="reject a corpus with bad lines")
    parser.add_argument(
        "--preset", choices=PRESETS, help="size of the model (default: configured automatically)"
    )
    parser.add_argument(
        "--from",
        dest="model",
        metavar="MODEL",
        type=INPUT_NAME,
        help="fine-tune this model, with its vocabulary",
    )
    parser.add_argument(
        "--extend-vocabulary",
        metavar="N",
        type=NumberArgument(int),
        help="with --from: add up to N new tokens",
    )
    parser.add_argument(
        "--recipe",
        choices=("paper",),
        help="paper: base model (or --preset big) and all settings of the paper",
    )
    parser.add_argument(
        "--memory",
        metavar="GIB",
        help="memory limit of a training step: GiB, auto (free memory, the default) or any (no limit); "
        "batches are split to fit",
    )
    parser.add_argument("--config", metavar="run.toml", type=INPUT_PATH, help="settings file with sections")
    parser.add_argument(
        "--set", metavar="section.key=value", action="append", default=[], help="one setting; repeatable"
    )


def add_label_column_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the columns of labelled texts, which train, check and score share."""
    parser.add_argument(
        "--text-column",
        metavar="COLUMN",
        help="name or number of the text column of labelled texts (default: by the header, or the second)",
    )
    parser.add_argument("--label-column", metavar="COLUMN", help="and of the label column (or the first)")


def resolve_settings(
    options: argparse.Namespace, console: "Console", run_folder: Path | None = None
) -> "RunConfig":
    """Return the settings of a run: automatic, preset or parent, then run file, then --set, then flags.

    Later sources override earlier ones. An existing run in `run_folder` keeps its automatic settings.
    """
    from regard.config import merge_settings, parse_assignments, read_settings

    task = _resolve_task(options)
    _reject_other_task(run_folder, task)
    file_settings = {} if options.config is None else read_settings(options.config)
    memory = [] if options.memory is None else [f"compute.memory={options.memory}"]
    explicit = merge_settings(
        file_settings, parse_assignments([*options.set, *memory]), _flag_settings(options, task)
    )
    match task:
        case "translation":
            return _translation_settings(options, explicit, console, run_folder)
        case "classification":
            return _classification_settings(options, explicit, console, run_folder)
        case "forecasting":
            return _forecast_settings(options, explicit, console, run_folder)
        case _:
            raise ConfigError(f"task = {task} is unknown; it must be {' or '.join(TASK_NAMES)}")


def _resolve_task(options: argparse.Namespace) -> str:
    """Return the task of the flags, or of the run file; translation by default."""
    from regard.config import DEFAULT_TASK, read_task

    file_task = DEFAULT_TASK if options.config is None else read_task(options.config)
    flags = _flags_of_one_task(options)
    task = next(iter(flags.values())) if flags and options.config is None else file_task
    for flag, other in flags.items():
        if other != task:
            raise ConfigError(f"{flag} is for {other}, but the task is {task}")
    return task


def _reject_other_task(out: Path | None, task: str) -> None:
    """Reject a run folder of another task."""
    from regard.checkpoint import CONFIG_FILE
    from regard.config import read_task

    if out is not None and (out / CONFIG_FILE).is_file() and (other := read_task(out / CONFIG_FILE)) != task:
        raise ConfigError(f"{out} is a {other} run, but the task is {task}; choose another --out")


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
    options: argparse.Namespace, explicit: "Settings", console: "Console", out: Path | None
) -> "TranslationRun":
    from regard.checkpoint import CONFIG_FILE
    from regard.config import apply_settings, merge_settings, read_settings
    from regard.translation.autoconfig import (
        autoconfigure_translation,
        select_translation_auto_settings,
        with_device_batch_tokens,
    )
    from regard.translation.finetune import inherit_finetune_settings
    from regard.translation.run import TranslationRun

    if parent := explicit.get("start", {}).get("model"):
        if options.preset is not None or options.recipe is not None:
            flag = "--recipe" if options.preset is None else f"--preset {options.preset}"
            raise ConfigError(f"{flag} conflicts with --from: the model and its size come from {parent}")
        return apply_settings(
            TranslationRun(), merge_settings(inherit_finetune_settings(Path(str(parent))), explicit)
        )
    if options.preset is None and options.recipe is None and "d_model" not in explicit.get("model", {}):

        def autoconfigure(run: TranslationRun) -> AutoconfigResult[TranslationRun]:
            steps = run.train.steps if "steps" in explicit.get("train", {}) else None
            return autoconfigure_translation(run, steps, console)

        return _autoconfigured(
            TranslationRun(), explicit, autoconfigure, select_translation_auto_settings, console, out
        )
    run = apply_settings(_preset_settings(options), explicit)
    if options.recipe is not None or "batch_tokens" in explicit.get("data", {}):
        return run
    if out is not None and (out / CONFIG_FILE).is_file():  # a run keeps its token budget on another device
        stored = read_settings(out / CONFIG_FILE).get("data", {})
        return apply_settings(run, {"data": {"batch_tokens": stored.get("batch_tokens")}})
    return with_device_batch_tokens(run, console)


def _classification_settings(
    options: argparse.Namespace, explicit: "Settings", console: "Console", out: Path | None
) -> "ClassificationRun":
    from regard.classification.autoconfig import (
        autoconfigure_classification,
        select_classification_auto_settings,
    )
    from regard.classification.run import ClassificationRun
    from regard.config import apply_settings

    for name in ("preset", "recipe"):
        if (value := getattr(options, name)) is not None:
            raise ConfigError(f"--{name} {value} is for translation, but the task is classification")
    if "d_model" in explicit.get("model", {}):
        return apply_settings(ClassificationRun(), explicit)

    def autoconfigure(run: ClassificationRun) -> AutoconfigResult[ClassificationRun]:
        steps = run.train.steps if "steps" in explicit.get("train", {}) else None
        return autoconfigure_classification(run, steps, console)

    return _autoconfigured(
        ClassificationRun(), explicit, autoconfigure, select_classification_auto_settings, console, out
    )


def _forecast_settings(
    options: argparse.Namespace, explicit: "Settings", console: "Console", out: Path | None
) -> "ForecastingRun":
    from regard.config import apply_settings
    from regard.forecasting.autoconfig import autoconfigure_forecasting, select_forecasting_auto_settings
    from regard.forecasting.run import ForecastingRun

    for name in ("preset", "recipe"):
        if (value := getattr(options, name)) is not None:
            raise ConfigError(f"--{name} {value} is for translation, but the task is forecasting")
    if options.strict:
        raise ConfigError("--strict is for texts; for a table use `regard check --series FILE --strict`")
    if "d_model" in explicit.get("model", {}):
        return apply_settings(ForecastingRun(), explicit)
    return _autoconfigured(
        ForecastingRun(),
        explicit,
        lambda run: autoconfigure_forecasting(run, explicit),
        select_forecasting_auto_settings,
        console,
        out,
    )


def _autoconfigured(
    default: RunT,
    explicit: "Settings",
    autoconfigure: Callable[[RunT], AutoconfigResult[RunT]],
    select: Callable[["Settings"], "Settings"],
    console: "Console",
    out: Path | None,
) -> RunT:
    """Return the automatic settings for the data, overridden by explicit ones; an existing run keeps its own.

    `select` picks the automatic settings out of a settings file.
    """
    from regard.checkpoint import CONFIG_FILE
    from regard.config import apply_settings, merge_settings, read_settings

    run = apply_settings(default, explicit)
    if out is not None and (out / CONFIG_FILE).is_file():
        console.print(f"  auto    settings from the start of {out}")
        return apply_settings(run, merge_settings(select(read_settings(out / CONFIG_FILE)), explicit))
    result = autoconfigure(run)
    configured = apply_settings(result.run, explicit)
    console.print(f"  auto    {result.explain(configured)}")
    return configured


def _preset_settings(options: argparse.Namespace) -> "TranslationRun":
    """Return the settings of --preset or --recipe."""
    from regard.model import config as presets
    from regard.translation.paper_recipe import build_paper_run
    from regard.translation.run import TranslationRun

    if options.recipe is None:
        return TranslationRun(model=getattr(presets, (options.preset or "small").upper()))
    if options.preset not in (None, "base", "big"):
        raise ConfigError(
            f"--preset {options.preset} conflicts with --recipe paper: the paper has a base and a big model"
        )
    return build_paper_run("big" if options.preset == "big" else "base")
