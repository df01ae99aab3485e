"""Settings of a training: automatic, preset or start model, then run file, then what the caller gives."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from regard.api.training_request import TrainingRequest
from regard.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from regard.classification.run import ClassificationRun
    from regard.config import Settings
    from regard.forecasting.run import ForecastingRun
    from regard.training.setup import RunConfig
    from regard.translation.run import TranslationRun

TASK_NAMES = ("translation", "classification", "forecasting")
LIMITS = ("steps", "minutes", "epochs")
"""Settings of the section train that end a training."""
PACKAGE_OF_SUFFIX = {
    ".zst": ("zstandard", "zst"),
    ".parquet": ("pyarrow", "parquet"),
    ".pq": ("pyarrow", "parquet"),
}
"""The optional package that reads a file, and the extra that installs it."""
RunT = TypeVar("RunT")


@runtime_checkable
class AutoconfigResult(Protocol[RunT]):
    """Automatic settings of a run, with their explanation."""

    @property
    def run(self) -> RunT: ...

    def explain(self, run: RunT) -> str: ...


def resolve_settings(
    request: TrainingRequest, console: "Console", run_folder: Path | None = None
) -> "RunConfig":
    """Return the settings of a run: automatic, preset or start model, then run file, then the request.

    Its arguments override its other settings. The settings of an existing run in `run_folder` are its
    defaults.
    """
    from regard.config import merge_settings, read_settings
    from regard.training.run_folder import read_run_settings

    task = _resolve_task(request, run_folder)
    _reject_other_task(run_folder, task)
    file_settings = {} if request.config is None else read_settings(request.config)
    command = merge_settings(request.settings, _argument_settings(request, task))
    explicit = merge_settings(file_settings, command)
    stored = None if run_folder is None else read_run_settings(run_folder)
    _require_packages(merge_settings(stored or {}, explicit))
    if stored is not None:
        console.print(f"  auto    settings from the start of {run_folder}")
        return _existing_settings(request, task, stored, file_settings, command)
    match task:
        case "translation":
            run = _translation_settings(request, explicit, console)
        case "classification":
            run = _classification_settings(request, explicit, console)
        case "forecasting":
            run = _forecast_settings(request, explicit, console)
        case _:
            raise ConfigError(f"task = {task} is unknown; it must be {' or '.join(TASK_NAMES)}")
    return _with_planned_settings(request, run, file_settings, command)


def _require_packages(settings: "Settings") -> None:
    """Raise an error about an optional package that the settings need, before any file is read."""
    from regard.runtime import missing_package

    for section, values in settings.items():
        for key, value in values.items():
            for each in value if isinstance(value, list | tuple) else (value,):
                package = PACKAGE_OF_SUFFIX.get(Path(str(each)).suffix.lower()) if section == "data" else None
                if (section, key, str(each).lower()) == ("train", "tensorboard", "true"):
                    package = ("tensorboard", "tensorboard")
                if package is not None and (problem := missing_package(*package)) is not None:
                    raise ConfigError(f"{section}.{key} = {each} cannot work: {problem}")


def _with_planned_settings(
    request: TrainingRequest, run: "RunConfig", file_settings: "Settings", command: "Settings"
) -> "RunConfig":
    """Return the run with its planned settings: those of the run file, or all that nobody set.

    They are fitted here to a number of steps, when the training starts to minutes and epochs.
    """
    from regard.config import apply_settings, merge_settings
    from regard.training.loop import PLANNED_SETTINGS
    from regard.training.setup import replace_sections

    if request.recipe is not None:
        return run
    if "planned" in file_settings.get("train", {}):
        planned, set_names = run.train.planned, _setting_names(command)
    else:
        planned = [name for name in PLANNED_SETTINGS if name != "train.ema" or run.task == "translation"]
        set_names = _setting_names(merge_settings(file_settings, command))
        if "start.model" in set_names:  # the low rate of fine-tuning needs no long warm-up
            set_names.add("optimizer.peak")
    planned = tuple(name for name in planned if name not in set_names)
    run = replace_sections(run, train=replace(run.train, planned=planned))
    if "train.steps" in planned or _is_automatic(request, merge_settings(file_settings, command)):
        return run
    template = apply_settings(type(run)(), {"train": file_settings.get("train", {})})
    return _fit_steps(run, run.train.steps, template.train.steps)


def _fit_steps(run: "RunConfig", steps: int, template_steps: int) -> "RunConfig":
    """Return the run with a schedule that fits `steps`; its own is for `template_steps`."""
    from regard.training.schedule import fit_schedule
    from regard.training.setup import replace_sections

    template = replace_sections(run, train=replace(run.train, steps=template_steps))
    schedule = fit_schedule(template, steps)
    return replace_sections(run, optimizer=schedule.optimizer, train=schedule.train)


def _setting_names(settings: "Settings") -> set[str]:
    return {f"{section}.{key}" for section, values in settings.items() for key in values}


def _existing_settings(
    request: TrainingRequest,
    task: str,
    stored: "Settings",
    file_settings: "Settings",
    command: "Settings",
) -> "RunConfig":
    """Return the settings of an existing run, with those given now; training refuses what must not change.

    Limits on the command line replace those before.
    """
    from regard.config import apply_settings, merge_settings
    from regard.training.setup import replace_sections

    explicit = merge_settings(file_settings, command)
    before = apply_settings(_default_run(task), stored)
    model = {} if not _has_size_flag(request, task, explicit) else _size_settings(request)
    run = apply_settings(_default_run(task), merge_settings(stored, model, explicit))
    has_plan = "planned" in file_settings.get("train", {})
    planned = [name for name in run.train.planned if has_plan or _is_same(name, run, before)]
    limits = [name for name in LIMITS if name in command.get("train", {})]
    if any(f"train.{name}" in planned or not _is_same(f"train.{name}", run, before) for name in limits):
        planned = [name for name in planned if name != "train.steps"]
        cleared: dict[str, None] = {name: None for name in ("minutes", "epochs") if name not in limits}
        if "steps" not in limits:
            planned.insert(0, "train.steps")
        run = replace_sections(run, train=replace(run.train, planned=tuple(planned), **cleared))
        return _fit_steps(run, run.train.steps, before.train.steps) if "steps" in limits else run
    return replace_sections(run, train=replace(run.train, planned=tuple(planned)))


def _is_same(name: str, run: "RunConfig", other: "RunConfig") -> bool:
    return attrgetter(name)(run) == attrgetter(name)(other)


def _default_run(task: str) -> "RunConfig":
    from regard.classification.run import ClassificationRun
    from regard.forecasting.run import ForecastingRun
    from regard.translation.run import TranslationRun

    for run in (TranslationRun(), ClassificationRun(), ForecastingRun()):
        if run.task == task:
            return run
    raise ConfigError(f"task = {task} is unknown; it must be {' or '.join(TASK_NAMES)}")


def _has_size_flag(request: TrainingRequest, task: str, explicit: "Settings") -> bool:
    """Return whether --preset or --recipe was given; reject them where the model is given otherwise."""
    flags = {"--preset": request.preset, "--recipe": request.recipe}
    given = [f"{flag} {value}" for flag, value in flags.items() if value is not None]
    if given and task != "translation":
        raise ConfigError(f"{given[0]} is for translation, but the task is {task}")
    if given and (parent := explicit.get("start", {}).get("model")):
        raise ConfigError(f"{given[0]} conflicts with --from: the model and its size come from {parent}")
    return bool(given)


def _is_automatic(request: TrainingRequest, explicit: "Settings") -> bool:
    """Return whether nothing that was given decides the size of the model."""
    sizes = (request.preset, request.recipe, explicit.get("start", {}).get("model"))
    return all(size is None for size in sizes) and "d_model" not in explicit.get("model", {})


def _resolve_task(request: TrainingRequest, out: Path | None) -> str:
    """Return the task of the flags, of the run file, or of the existing run; translation by default."""
    from regard.checkpoint import CONFIG_FILE
    from regard.config import DEFAULT_TASK, read_task

    file = request.config
    if file is None and out is not None and (out / CONFIG_FILE).is_file():
        file = out / CONFIG_FILE
    file_task = DEFAULT_TASK if file is None else read_task(file)
    flags = _flags_of_one_task(request)
    task = next(iter(flags.values())) if flags and request.config is None else file_task
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


def argument_keys() -> set[str]:
    """Return the keys of all settings that `TrainingRequest.arguments` can hold."""
    return {name.partition(".")[2] for flags in _task_flags().values() for name in flags}


def _flags_of_one_task(request: TrainingRequest) -> dict[str, str]:
    """Return the task of each flag that was given and that one task alone has."""
    task_flags = _task_flags()
    counts = Counter(flag for flags in task_flags.values() for flag in flags.values())
    return {
        flag: task
        for task, flags in task_flags.items()
        for name, flag in flags.items()
        if counts[flag] == 1 and request.arguments.get(name.partition(".")[2]) is not None
    }


def _argument_settings(request: TrainingRequest, task: str) -> dict[str, dict[str, object]]:
    settings: dict[str, dict[str, object]] = {}
    for name in _task_flags()[task]:
        section, _, key = name.partition(".")
        if (value := request.arguments.get(key)) is not None:
            settings.setdefault(section, {})[key] = value
    return settings


def _translation_settings(
    request: TrainingRequest, explicit: "Settings", console: "Console"
) -> "TranslationRun":
    from regard.config import apply_settings, merge_settings
    from regard.translation.autoconfig import autoconfigure_translation, with_device_batch_tokens
    from regard.translation.finetune import inherit_finetune_settings
    from regard.translation.run import TranslationRun

    has_size_flag = _has_size_flag(request, "translation", explicit)
    if parent := explicit.get("start", {}).get("model"):
        return apply_settings(
            TranslationRun(), merge_settings(inherit_finetune_settings(Path(str(parent))), explicit)
        )
    if not has_size_flag and _is_automatic(request, explicit):

        def autoconfigure(run: TranslationRun) -> AutoconfigResult[TranslationRun]:
            return autoconfigure_translation(run, _explicit_steps(run, explicit), console)

        return _autoconfigured(TranslationRun(), explicit, autoconfigure, console)
    run = apply_settings(_preset_run(request), explicit)
    if request.recipe is not None or "batch_tokens" in explicit.get("data", {}):
        return run
    return with_device_batch_tokens(run, console)


def _classification_settings(
    request: TrainingRequest, explicit: "Settings", console: "Console"
) -> "ClassificationRun":
    from regard.classification.autoconfig import autoconfigure_classification
    from regard.classification.run import ClassificationRun
    from regard.config import apply_settings

    _has_size_flag(request, "classification", explicit)
    if not _is_automatic(request, explicit):
        return apply_settings(ClassificationRun(), explicit)

    def autoconfigure(run: ClassificationRun) -> AutoconfigResult[ClassificationRun]:
        return autoconfigure_classification(run, _explicit_steps(run, explicit), console)

    return _autoconfigured(ClassificationRun(), explicit, autoconfigure, console)


def _forecast_settings(
    request: TrainingRequest, explicit: "Settings", console: "Console"
) -> "ForecastingRun":
    from regard.config import apply_settings
    from regard.forecasting.autoconfig import autoconfigure_forecasting
    from regard.forecasting.run import ForecastingRun

    _has_size_flag(request, "forecasting", explicit)
    if request.arguments.get("strict"):
        raise ConfigError("--strict is for texts; for a table use `regard check --series FILE --strict`")
    if not _is_automatic(request, explicit):
        return apply_settings(ForecastingRun(), explicit)
    return _autoconfigured(
        ForecastingRun(), explicit, lambda run: autoconfigure_forecasting(run, explicit), console
    )


def _explicit_steps(run: "RunConfig", explicit: "Settings") -> int | None:
    return run.train.steps if "steps" in explicit.get("train", {}) else None


def _autoconfigured(
    default: RunT,
    explicit: "Settings",
    autoconfigure: Callable[[RunT], AutoconfigResult[RunT]],
    console: "Console",
) -> RunT:
    """Return the automatic settings for the data, overridden by explicit ones."""
    from regard.config import apply_settings

    result = autoconfigure(apply_settings(default, explicit))
    configured = apply_settings(result.run, explicit)
    console.print(f"  auto    {result.explain(configured)}")
    return configured


def _size_settings(request: TrainingRequest) -> "Settings":
    """Return the sections of --preset or --recipe that an existing run must agree with."""
    run = _preset_run(request)
    names = ("model",) if request.recipe is None else ("model", "optimizer", "loss")
    return {name: asdict(getattr(run, name)) for name in names}


def _preset_run(request: TrainingRequest) -> "TranslationRun":
    """Return the settings of --preset or --recipe."""
    from regard.model import config as presets
    from regard.translation.paper_recipe import build_paper_run
    from regard.translation.run import TranslationRun

    if request.recipe is None:
        return TranslationRun(model=getattr(presets, (request.preset or "small").upper()))
    if request.preset not in (None, "base", "big"):
        raise ConfigError(
            f"--preset {request.preset} conflicts with --recipe paper: the paper has a base and a big model"
        )
    return build_paper_run("big" if request.preset == "big" else "base")
