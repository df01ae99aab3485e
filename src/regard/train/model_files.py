"""What the model folders of all tasks have in common: settings, weights, and what they are for."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from regard.checkpoint import WEIGHTS, find_model, read_manifest
from regard.config import build, read_settings
from regard.errors import CheckpointError, ConfigError
from regard.version import __version__

if TYPE_CHECKING:
    from torch import nn

CONFIG = "config.toml"
VERBS = {"translation": "translate", "classification": "classify", "forecasting": "forecast"}
"""What to do with a model, by its task."""
Section = TypeVar("Section")


def fill_folder(
    place: Path, model: "nn.Module", task: str, settings: str, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Writes into a folder that somebody else seals; gives back what its manifest should say."""
    from regard.train.weights import save_weights

    (place / CONFIG).write_text(settings, encoding="utf-8")
    save_weights(place, model)
    return {"regard": __version__, "task": task, **facts}


def open_folder(
    path: Path, task: str, names: Collection[str], unread: Collection[str] = ()
) -> tuple[Path, dict[str, Any]]:
    """The model that is meant and its manifest, every file checked; of those `unread` only the size.

    `names` are the files that a model for this task has, beside settings and weights.
    """
    folder = find_model(path)
    manifest = read_manifest(folder, unread)
    if (found := manifest.get("task")) != task:
        advice = f"; `regard {VERBS[found]}` uses it" if found in VERBS else ""
        raise CheckpointError(f"{folder} is a model for {found}, not for {task}{advice}")
    if missing := {CONFIG, WEIGHTS, *names} - manifest["files"].keys():
        raise CheckpointError(f"{folder} is damaged: its manifest does not name {min(missing)}")
    return folder, manifest


def read_section(folder: Path, section: type[Section], name: str) -> Section:
    """The settings of that section, as the model was trained with them."""
    try:
        return build(section, name, read_settings(folder / CONFIG).get(name, {}))
    except ConfigError as error:
        raise CheckpointError(f"{folder / CONFIG}: {error}") from None
