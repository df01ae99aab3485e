"""What the model folders of all tasks have in common: settings, weights, and what they are for."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from regard.checkpoint import WEIGHTS_FILE, find_model_folder, read_manifest
from regard.config import build_section, read_settings
from regard.errors import CheckpointError, ConfigError
from regard.version import __version__

if TYPE_CHECKING:
    from torch import nn

CONFIG_FILE = "config.toml"
TASK_COMMANDS = {"translation": "translate", "classification": "classify", "forecasting": "forecast"}
"""What to do with a model, by its task."""
SectionT = TypeVar("SectionT")


def write_model_files(
    folder: Path, model: "nn.Module", task: str, settings: str, metadata: Mapping[str, Any]
) -> dict[str, Any]:
    """Writes into a folder that somebody else seals; gives back what its manifest should say."""
    from regard.train.weights import save_weights

    (folder / CONFIG_FILE).write_text(settings, encoding="utf-8")
    save_weights(folder, model)
    return {"regard": __version__, "task": task, **metadata}


def open_model_folder(
    path: Path, task: str, required_files: Collection[str], size_only: Collection[str] = ()
) -> tuple[Path, dict[str, Any]]:
    """The model that is meant and its manifest, every file checked; of those `unread` only the size.

    `names` are the files that a model for this task has, beside settings and weights.
    """
    folder = find_model_folder(path)
    manifest = read_manifest(folder, size_only)
    if (found := manifest.get("task")) != task:
        advice = f"; `regard {TASK_COMMANDS[found]}` uses it" if found in TASK_COMMANDS else ""
        raise CheckpointError(f"{folder} is a model for {found}, not for {task}{advice}")
    if missing := {CONFIG_FILE, WEIGHTS_FILE, *required_files} - manifest["files"].keys():
        raise CheckpointError(f"{folder} is damaged: its manifest does not name {min(missing)}")
    return folder, manifest


def read_config_section(folder: Path, section: type[SectionT], name: str) -> SectionT:
    """The settings of that section, as the model was trained with them."""
    try:
        return build_section(section, name, read_settings(folder / CONFIG_FILE).get(name, {}))
    except ConfigError as error:
        raise CheckpointError(f"{folder / CONFIG_FILE}: {error}") from None
