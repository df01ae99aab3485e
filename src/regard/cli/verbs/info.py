"""`regard info` and `regard list`: what a model is, from its folder alone, and the models below a folder."""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.cli.args.common_args import add_json_argument
from regard.cli.args.path_args import INPUT_PATH
from regard.cli.output import print_json
from regard.errors import RegardError

SCORE_TITLES = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "mse": "MSE",
    "mae": "MAE",
    "loss": "loss",
}
"""The metrics that are shown, the most telling first, and their names."""
DATA_UNITS = ("pairs", "texts", "rows")
"""What a manifest counts, one of them in each task."""
MAX_DEPTH = 4
"""Levels of folders below the given one in which models are looked for."""

INFO_EPILOG = """\
The weights are not loaded; `--json` prints the same facts as one JSON object.

examples
  regard info runs/en-fr
  regard info runs/en-fr --json | jq .scores.bleu
"""
LIST_EPILOG = """\
Looks four levels deep and does not enter the folders of models and runs.

examples
  regard list                 the models below the current folder
  regard list runs
"""


def add_info_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "info",
        help="describe a model: languages, size, data, scores, engines",
        description="Describe a model from its folder, without loading its weights.",
        epilog=INFO_EPILOG,
    )
    parser.add_argument(
        "model", metavar="MODEL", type=INPUT_PATH, help="run or model folder of `regard train`"
    )
    add_json_argument(parser, "print one JSON object")
    parser.set_defaults(run=run_info)


def add_list_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "list",
        help="list the models and runs below a folder",
        description="List the models and runs below a folder: task, size, step, best score.",
        epilog=LIST_EPILOG,
    )
    parser.add_argument(
        "folder",
        metavar="DIR",
        type=INPUT_PATH,
        nargs="?",
        default=Path(),
        help="folder (default: the current one)",
    )
    add_json_argument(parser, "print one JSON object per model")
    parser.set_defaults(run=run_list)


def run_info(options: argparse.Namespace) -> None:
    summary = summarize_model(options.model)
    if options.json:
        print_json(asdict(summary))
        return
    rows = list(_info_rows(summary))
    width = max(len(title) for title, _ in rows)
    sys.stdout.write("".join(f"{title:<{width}}  {text}\n" for title, text in rows))


def run_list(options: argparse.Namespace) -> None:
    if not options.folder.is_dir():
        raise RegardError(f"{options.folder} is not a folder; give one with runs or models below it")
    found, unreadable = [], []
    for path in find_models(options.folder):
        try:
            found.append((path, summarize_model(path)))
        except RegardError as error:
            unreadable.append(str(error))
    if options.json:
        for path, summary in found:
            print_json({"path": str(path), **asdict(summary)}, indent=None)
    elif found:
        _print_table([_list_row(path, summary) for path, summary in found])
    sys.stderr.write("".join(f"regard: {message}\n" for message in unreadable))
    if not found:
        sys.stderr.write(f"there are no models below {options.folder}; `regard train` writes one\n")


@dataclass(frozen=True)
class ModelSummary:
    """The facts of a model folder that its manifest and settings name."""

    folder: str
    task: str
    status: str
    """"finished", or "unfinished" for the last checkpoint of a run without a published model."""
    languages: tuple[str | None, str | None] | None
    """Source and target language by the settings or the training files; None: not a translation model."""
    parameters: int | None
    architecture: str
    bytes: int
    """Size of the files."""
    trained_on: Mapping[str, Any]
    validated_on: Mapping[str, Any]
    step: int | None
    scores: Mapping[str, float]
    engines: tuple[str, ...]
    version: str | None
    """Of the regard that wrote it."""
    labels: tuple[str, ...] = ()
    """The labels of a classifier."""


def summarize_model(path: Path) -> ModelSummary:
    """Read the facts of a run or model folder; its files are checked by their size."""
    from regard.checkpoint import CONFIG_FILE, find_model_folder, list_checkpoints, read_manifest
    from regard.config import read_settings
    from regard.text.languages import languages_of_model

    folder = find_model_folder(path)
    manifest = read_manifest(folder, size_only=_manifest_files(folder))
    settings = read_settings(folder / CONFIG_FILE)
    task = str(manifest.get("task", "translation"))
    data = settings.get("data", {})
    is_translation = task == "translation"
    trained_on = _mapping(manifest.get("trained_on"))
    return ModelSummary(
        str(folder),
        task,
        "unfinished" if folder in list_checkpoints(path) else "finished",
        languages_of_model(data) if is_translation else None,
        manifest.get("parameters"),
        _describe_architecture(settings.get("model", {})),
        sum(entry["bytes"] for entry in manifest["files"].values()),
        trained_on,
        _mapping(manifest.get("validated_on")),
        manifest.get("step"),
        _numbers(manifest.get("metrics")),
        tuple(_engines(folder, task)),
        manifest.get("regard"),
        tuple(_mapping(trained_on.get("labels"))),
    )


def find_models(folder: Path) -> Iterator[Path]:
    """Yield the runs and models at or below a folder, in the order of their names."""
    from regard.checkpoint import CONFIG_FILE, MANIFEST_FILE, list_checkpoints

    for place, names, _ in os.walk(folder):
        path = Path(place)
        is_run = (path / CONFIG_FILE).is_file() and (
            (path / "model").is_dir() or bool(list_checkpoints(path))
        )
        if is_run or (path / MANIFEST_FILE).is_file():
            yield path
            names.clear()
        elif len(path.relative_to(folder).parts) >= MAX_DEPTH:
            names.clear()
        names[:] = sorted(name for name in names if not name.startswith("."))


def _manifest_files(folder: Path) -> list[str]:
    from regard.checkpoint import parse_manifest

    return list(parse_manifest(folder)["files"])


def _describe_architecture(model: Mapping[str, Any]) -> str:
    """Return the sizes in the settings of a model, as far as its task has them."""
    layers = [str(model[key]) for key in ("encoder_layers", "decoder_layers", "layers") if model.get(key)]
    parts = [f"{'+'.join(layers)} layers"] if layers else []
    titles = {
        "d_model": "d_model",
        "heads": "heads",
        "vocab_size": "vocabulary",
        "history": "history",
        "horizon": "horizon",
    }
    for key, title in titles.items():
        if isinstance(value := model.get(key), int):
            parts.append(f"{value:,} heads" if key == "heads" else f"{title} {value:,}")
    return ", ".join(parts)


def _engines(folder: Path, task: str) -> Iterator[str]:
    """Yield the engines that can run the model here."""
    yield "torch"
    if task == "translation":
        from regard.inference.engine_selection import select_engine
        from regard.model.config import ModelConfig
        from regard.training.model_files import read_config_section

        if select_engine(
            "auto", has_gpu=False, model=read_config_section(folder, ModelConfig, "model")
        ).name == ("ctranslate2"):
            yield "ctranslate2"


def _info_rows(summary: ModelSummary) -> Iterator[tuple[str, str]]:
    """Yield the rows of `regard info`: a title and its text."""
    from regard.training.model_files import TASK_COMMANDS

    yield "model", summary.folder if summary.status == "finished" else f"{summary.folder} (unfinished run)"
    command = TASK_COMMANDS.get(summary.task)
    yield "task", f"{summary.task}{f' (regard {command})' if command else ''}"
    if summary.languages is not None:
        names = " to ".join(language or "unknown" for language in summary.languages)
        yield (
            "languages",
            "not known from the settings or the names of the training files"
            if not any(summary.languages)
            else names,
        )
    if summary.labels:
        yield "labels", ", ".join(summary.labels)
    count = "" if summary.parameters is None else f"{summary.parameters:,} parameters: "
    yield "size", f"{count}{summary.architecture}; {summary.bytes / 1e6:.1f} MB"
    yield "trained on", _describe_data(summary.trained_on)
    yield "validated on", _describe_data(summary.validated_on)
    if summary.step is not None:
        yield "step", f"{summary.step:,}"
    yield "scores", _describe_scores(summary.scores) or "none yet"
    yield "engines", ", ".join(summary.engines)
    if summary.version is not None:
        yield "written by", f"regard {summary.version}"


def _describe_data(data: Mapping[str, Any]) -> str:
    unit = next((unit for unit in DATA_UNITS if isinstance(data.get(unit), int)), None)
    if unit is None:
        return "not recorded"
    files = ", ".join(_mapping(data.get("files")))
    left_out = _numbers(data.get("left_out"))
    omitted = f"; left out: {', '.join(f'{why} ({n:,})' for why, n in left_out.items())}" if left_out else ""
    return f"{data[unit]:,} {unit}{f' of {files}' if files else ''}{omitted}"


def _describe_scores(scores: Mapping[str, float]) -> str:
    """Return the scores on validation data in one line."""
    shown = [f"{title} {scores[key]:.4g}" for key, title in SCORE_TITLES.items() if key in scores]
    return ", ".join(shown)


def _list_row(path: Path, summary: ModelSummary) -> tuple[str, ...]:
    languages = "" if summary.languages is None else "-".join(each or "?" for each in summary.languages)
    best = next(
        (
            f"{title} {summary.scores[key]:.4g}"
            for key, title in SCORE_TITLES.items()
            if key in summary.scores
        ),
        "",
    )
    size = "" if summary.parameters is None else f"{summary.parameters / 1e6:.1f} M"
    step = "" if summary.step is None else f"{summary.step:,}"
    return str(path), summary.task, languages, size, step, best, summary.status


def _print_table(rows: list[tuple[str, ...]]) -> None:
    table = [("model", "task", "languages", "size", "step", "best", "status"), *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _numbers(value: object) -> dict[str, float]:
    """Return the numbers of a mapping; signatures and the like are left out."""
    return {key: each for key, each in _mapping(value).items() if isinstance(each, int | float)}
