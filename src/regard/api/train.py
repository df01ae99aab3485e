"""`regard.train`: train from Python what `regard train` trains, from files or from data in memory."""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from regard.api.memory_data import MemoryData, file_names, split_memory_data, write_memory_data
from regard.api.task_training import train_request
from regard.api.train_options import (
    ClassificationTrainOptions,
    ForecastingTrainOptions,
    TrainOptions,
    TranslationTrainOptions,
)
from regard.api.training_request import TrainingRequest
from regard.checkpoint import CONFIG_FILE
from regard.config import merge_settings
from regard.errors import ConfigError, RegardError
from regard.training.callbacks import Callback, require_callbacks
from regard.training.run_folder import (
    LOCK_FILE,
    MEMORY_DATA_FOLDER,
    lock_run_folder,
    make_run_folder,
    reject_unusable_folder,
)

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from regard.api.classifier import Classifier
    from regard.forecasting.forecaster import Forecaster
    from regard.training.customization import Customization
    from regard.training.loop import TrainingResult
    from regard.training.setup import RunConfig
    from regard.translation.translator import Translator

FILES_ARGUMENTS = ("source", "target", "pairs", "labelled", "texts", "labels")
"""Arguments that may name several files."""
FILE_ARGUMENTS = (
    *("valid_source", "valid_target", "valid_pairs", "valid_labelled", "valid_texts", "valid_labels"),
    "series",
)
ARGUMENT_OF_FLAG = {"from": "start", "set": "settings"}
"""Flags of `regard train` whose argument in Python has another name."""
FLAG = re.compile(r"--([a-z]+(?:-[a-z]+)*)\b(?: (?:FILE|DIR|N|MODEL)\b)?")


@overload
def train(
    *,
    out: str | Path,
    source: Any,
    target: Any,
    pairs: Any = None,
    **options: Unpack[TranslationTrainOptions],
) -> "Translator": ...
@overload
def train(*, out: str | Path, pairs: Any, **options: Unpack[TranslationTrainOptions]) -> "Translator": ...
@overload
def train(
    *,
    out: str | Path,
    texts: Any,
    labels: Any,
    labelled: Any = None,
    **options: Unpack[ClassificationTrainOptions],
) -> "Classifier": ...
@overload
def train(
    *, out: str | Path, labelled: Any, **options: Unpack[ClassificationTrainOptions]
) -> "Classifier": ...
@overload
def train(*, out: str | Path, series: Any, **options: Unpack[ForecastingTrainOptions]) -> "Forecaster": ...
@overload
def train(*, out: str | Path, **options: Unpack[TrainOptions]) -> "Translator | Classifier | Forecaster": ...
def train(
    *,
    out: str | Path,
    source: Any = None,
    target: Any = None,
    pairs: Any = None,
    valid_source: Any = None,
    valid_target: Any = None,
    valid_pairs: Any = None,
    source_language: str | None = None,
    target_language: str | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    labelled: Any = None,
    texts: Any = None,
    labels: Any = None,
    text_column: str | None = None,
    label_column: str | None = None,
    valid_labelled: Any = None,
    valid_texts: Any = None,
    valid_labels: Any = None,
    series: Any = None,
    time: str | None = None,
    columns: Sequence[str] | None = None,
    horizon: int | None = None,
    minutes: float | None = None,
    steps: int | None = None,
    epochs: float | None = None,
    seed: int | None = None,
    preset: Literal["tiny", "small", "base", "big"] | None = None,
    recipe: Literal["paper"] | None = None,
    start: str | Path | None = None,
    extend_vocabulary: int | None = None,
    memory: float | str | None = None,
    strict: bool | None = None,
    config: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    callbacks: Iterable[Callback] = (),
    build_model: "Callable[..., Module] | None" = None,
    loss: "Callable[[Tensor, Tensor], Tensor] | None" = None,
    progress: bool = True,
) -> "Translator | Classifier | Forecaster":
    """Train a model as `regard train` does, and return it, loaded from `out`/model.

    Translation takes `source` and `target`, or `pairs`; classification `labelled`, or `texts` and `labels`;
    forecasting `series`. Each is a file (a text or a path), a list of paths, or data in memory: lists of
    texts or a Series, and a DataFrame or a list of rows for `pairs`, `labelled` and `series`. What is in
    memory is written to `out`/data once, so that the run can be resumed without it.

    The same call resumes a run that was interrupted, and returns the model of one that is finished;
    `out` alone does, too. Ctrl-C saves a checkpoint and raises KeyboardInterrupt.

    `settings` are those of docs/settings.md, as `{"train.log_every": 10}`; `config` is a TOML file of them.
    The other arguments are the flags of `regard train`, `start` that of `--from`. Without `progress`
    nothing is printed.

    `callbacks` are called at each log line and validation. `build_model` is called as the built-in class
    would be, and returns a model of that class with layers of your own; `loss(outputs, targets)` returns
    the mean loss. A run with either is resumed with the same one (docs/python.md).
    """
    from regard.training.customization import Customization

    arguments = {
        "source": source,
        "target": target,
        "pairs": pairs,
        "valid_source": valid_source,
        "valid_target": valid_target,
        "valid_pairs": valid_pairs,
        "source_language": source_language,
        "target_language": target_language,
        "source_column": source_column,
        "target_column": target_column,
        "labelled": labelled,
        "texts": texts,
        "labels": labels,
        "text_column": text_column,
        "label_column": label_column,
        "valid_labelled": valid_labelled,
        "valid_texts": valid_texts,
        "valid_labels": valid_labels,
        "series": series,
        "time": time,
        "columns": [columns] if isinstance(columns, str) else columns,
        "horizon": horizon,
        "minutes": minutes,
        "steps": steps,
        "epochs": epochs,
        "seed": seed,
        "model": start,
        "extend_vocabulary": extend_vocabulary,
        "strict": strict,
    }
    folder = Path(out)
    try:
        data = split_memory_data(arguments, folder)
        sections = merge_settings(data.settings, _to_sections(settings or {}))
        if memory is not None:
            sections.setdefault("compute", {})["memory"] = memory
        request = TrainingRequest(
            _name_files(data.arguments),
            sections,
            None if config is None else Path(config),
            preset,
            recipe,
        )
        custom = Customization(require_callbacks(callbacks), build_model, loss)
        run, result = _train(request, data, folder, custom, progress)
        if result.stop_reason == "interrupt":
            saved = f"step {result.step:,} is saved in {folder}" if result.step else "no step is done"
            raise KeyboardInterrupt(f"{saved}; the same call resumes")
        return _load_model(run, folder, build_model)
    except RegardError as error:
        message = _replace_flags(str(error))
        if message == str(error):
            raise
        raise type(error)(message) from error


def _train(
    request: TrainingRequest, data: MemoryData, out: Path, custom: "Customization", progress: bool
) -> "tuple[RunConfig, TrainingResult]":
    """Write the data in memory and train; without a run, the data are deleted again."""
    from rich.console import Console

    console = Console(
        quiet=not progress,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
        # a notebook, too, gets lines of text: it has no cursor to move, and its kernel sets FORCE_COLOR
        force_jupyter=False,
        force_terminal=False if "ipykernel" in sys.modules else None,
    )
    reject_unusable_folder(out)
    if not data.files:
        return train_request(request, out, console, custom)
    is_new_folder, folder = not out.exists(), out / MEMORY_DATA_FOLDER
    make_run_folder(folder)
    with lock_run_folder(folder):
        try:
            write_memory_data(data, out)
            return train_request(request, out, console, custom)
        except BaseException:
            if not (out / CONFIG_FILE).exists():
                _remove_memory_data(data, out, is_new_folder)
            raise


def _remove_memory_data(data: MemoryData, out: Path, is_new_folder: bool) -> None:
    """Delete the data of a run that was not started."""
    with suppress(OSError):  # the error that ended the run is the one to report
        for name in (*data.files, LOCK_FILE):
            (out / MEMORY_DATA_FOLDER / name).unlink(missing_ok=True)
        (out / MEMORY_DATA_FOLDER).rmdir()
        if is_new_folder:
            (out / LOCK_FILE).unlink(missing_ok=True)
            out.rmdir()


def _load_model(
    run: "RunConfig", out: Path, build_model: "Callable[..., Any] | None"
) -> "Translator | Classifier | Forecaster":
    """Return the published model of a run, on the device that it was trained on."""
    from regard.api.classifier import Classifier
    from regard.forecasting.forecaster import Forecaster
    from regard.translation.translator import Translator

    model_of_task = {"translation": Translator, "classification": Classifier, "forecasting": Forecaster}
    return model_of_task[run.task].load(out, run.compute.device, build_model=build_model)


def _name_files(arguments: Mapping[str, Any]) -> dict[str, object]:
    """Return the arguments with each file as text, as settings name it."""
    named = dict(arguments)
    for name in FILES_ARGUMENTS:
        if name in named:
            named[name] = file_names(name, named[name])
    for name in (*FILE_ARGUMENTS, "model"):
        if name in named:
            argument = "start" if name == "model" else name
            files = file_names(argument, named[name])
            if len(files) != 1:
                raise ConfigError(f"{argument} must be one file, and {len(files)} are given")
            [named[name]] = files
    return named


def _to_sections(settings: Mapping[str, Any]) -> dict[str, dict[str, object]]:
    """Return settings by section and key, from `section.key` or from sections."""
    sections: dict[str, dict[str, object]] = {}
    for name, value in settings.items():
        section, dot, key = name.partition(".")
        if isinstance(value, Mapping) and not dot:
            sections.setdefault(section, {}).update(value)
        elif dot and key:
            sections.setdefault(section, {})[key] = str(value) if isinstance(value, Path) else value
        else:
            raise ConfigError(f"settings: {name!r} is not section.key, as in {{'train.log_every': 10}}")
    return sections


def _replace_flags(message: str) -> str:
    """Return an error message with the flags of the command line as the arguments of `train`."""
    return FLAG.sub(lambda flag: ARGUMENT_OF_FLAG.get(flag[1], flag[1].replace("-", "_")), message)
