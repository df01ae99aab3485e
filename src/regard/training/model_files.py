"""Files that the model folders of all tasks share: settings, weights and manifest."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from regard.checkpoint import CONFIG_FILE, MANIFEST_FILE, WEIGHTS_FILE, find_model_folder, read_manifest
from regard.config import build_section, read_settings
from regard.errors import CheckpointError, ConfigError
from regard.version import __version__

if TYPE_CHECKING:
    from torch import nn

TASK_COMMANDS = {"translation": "translate", "classification": "classify", "forecasting": "forecast"}
"""The command that uses a model, by the model's task."""
CUSTOM_MODEL, CUSTOM_LOSS = "build_model", "loss"
"""Manifest entries that name a custom model and loss, and the arguments of `regard.train` for them."""
SectionT = TypeVar("SectionT")


def write_model_files(
    folder: Path, model: "nn.Module", task: str, settings: str, metadata: Mapping[str, Any]
) -> dict[str, Any]:
    """Write settings and weights to a folder; return the metadata for its manifest."""
    from regard.training.weights import save_weights

    (folder / CONFIG_FILE).write_text(settings, encoding="utf-8")
    save_weights(folder, model)
    return {"regard": __version__, "task": task, **metadata}


def open_model_folder(
    path: Path,
    task: str,
    required_files: Collection[str],
    size_only: Collection[str] = (),
    build_model: object = None,
) -> tuple[Path, dict[str, Any]]:
    """Return the folder and the manifest of a model for this task, every file checked.

    `required_files` must be there beside settings and weights; of those in `size_only` only the size is
    checked. A custom model is opened with its `build_model` only.
    """
    folder = find_model_folder(path)
    manifest = read_manifest(folder, size_only)
    if (model_task := manifest.get("task")) != task:
        command = TASK_COMMANDS.get(model_task) if isinstance(model_task, str) else None
        advice = f"; `regard {command}` uses it" if command else ""
        raise CheckpointError(f"{folder} is a model for {str(model_task)[:80]}, not for {task}{advice}")
    if missing := {CONFIG_FILE, WEIGHTS_FILE, *required_files} - manifest["files"].keys():
        raise CheckpointError(f"{folder} is damaged: its manifest does not name {min(missing)}")
    _reject_wrong_types(folder, manifest)
    _check_custom_model(folder, manifest, build_model)
    return folder, manifest


def read_config_section(folder: Path, section: type[SectionT], name: str) -> SectionT:
    """Return a section of the settings that the model was trained with."""
    try:
        return build_section(section, name, read_settings(folder / CONFIG_FILE).get(name, {}))
    except ConfigError as error:
        raise CheckpointError(f"{folder / CONFIG_FILE}: {error}") from None


def _check_custom_model(folder: Path, manifest: Mapping[str, Any], build_model: object) -> None:
    """Refuse to load a custom model without `build_model`, and any other with it."""
    name = manifest.get(CUSTOM_MODEL)
    if name is not None and build_model is None:
        raise CheckpointError(
            f"{folder} has a model with layers of its own, of build_model={str(name)[:80]}; "
            "load it in Python with that build_model"
        )
    if name is None and build_model is not None:
        raise CheckpointError(f"{folder} was trained without build_model; load it without")


def _reject_wrong_types(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest whose entries that all tasks read are not of their type."""
    step = manifest.get("step", 0)
    if type(step) is not int or step < 0 or not isinstance(manifest.get("metrics", {}), dict):
        raise CheckpointError(f"{folder / MANIFEST_FILE} is damaged: step or metrics have another type")
