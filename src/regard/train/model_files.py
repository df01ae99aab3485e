"""Files that the model folders of all tasks share: settings, weights and manifest."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from regard.checkpoint import CONFIG_FILE, WEIGHTS_FILE, find_model_folder, read_manifest
from regard.config import build_section, read_settings
from regard.errors import CheckpointError, ConfigError
from regard.version import __version__

if TYPE_CHECKING:
    from torch import nn

TASK_COMMANDS = {"translation": "translate", "classification": "classify", "forecasting": "forecast"}
"""The command that uses a model, by the model's task."""
SectionT = TypeVar("SectionT")


def write_model_files(
    folder: Path, model: "nn.Module", task: str, settings: str, metadata: Mapping[str, Any]
) -> dict[str, Any]:
    """Write settings and weights to a folder; return the metadata for its manifest."""
    from regard.train.weights import save_weights

    (folder / CONFIG_FILE).write_text(settings, encoding="utf-8")
    save_weights(folder, model)
    return {"regard": __version__, "task": task, **metadata}


def open_model_folder(
    path: Path, task: str, required_files: Collection[str], size_only: Collection[str] = ()
) -> tuple[Path, dict[str, Any]]:
    """Return the folder and the manifest of a model for this task, every file checked.

    `required_files` must be there beside settings and weights; of those in `size_only` only the size is
    checked.
    """
    folder = find_model_folder(path)
    manifest = read_manifest(folder, size_only)
    if (model_task := manifest.get("task")) != task:
        advice = f"; `regard {TASK_COMMANDS[model_task]}` uses it" if model_task in TASK_COMMANDS else ""
        raise CheckpointError(f"{folder} is a model for {model_task}, not for {task}{advice}")
    if missing := {CONFIG_FILE, WEIGHTS_FILE, *required_files} - manifest["files"].keys():
        raise CheckpointError(f"{folder} is damaged: its manifest does not name {min(missing)}")
    return folder, manifest


def read_config_section(folder: Path, section: type[SectionT], name: str) -> SectionT:
    """Return a section of the settings that the model was trained with."""
    try:
        return build_section(section, name, read_settings(folder / CONFIG_FILE).get(name, {}))
    except ConfigError as error:
        raise CheckpointError(f"{folder / CONFIG_FILE}: {error}") from None
