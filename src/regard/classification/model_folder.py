"""The model folder of a classifier: weights, tokenizer, labels and settings, without pickle."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.checkpoint import MANIFEST_FILE, WEIGHTS_FILE, verify_file
from regard.errors import CheckpointError
from regard.model.transformer_classifier import ClassifierConfig, classifier_weight_shapes
from regard.safetensors_file import check_weight_specs
from regard.strict_json import read_json
from regard.text.tokenizer import PAD, Tokenizer
from regard.text.tokenizer_file import load_tokenizer
from regard.training.model_files import open_model_folder, read_config_section, write_model_files

if TYPE_CHECKING:
    from regard.model.transformer_classifier import TransformerClassifier

CLASSIFICATION_TASK = "classification"
TOKENIZER_FILE, LABELS_FILE = "tokenizer.json", "labels.json"
MIN_TEMPERATURE, MAX_TEMPERATURE = 1e-3, 1e3
"""Calibration finds values near 1."""


BuildClassifier = Callable[[ClassifierConfig, int, int], "TransformerClassifier"]
"""Builds a custom model from its settings, the number of labels and the id of the mask token."""


class LoadedClassifier(NamedTuple):
    """The contents of a model folder."""

    network: "TransformerClassifier"
    tokenizer: Tokenizer
    labels: tuple[str, ...]
    temperature: float
    """Logits are divided by it, so that probabilities are calibrated."""
    manifest: Mapping[str, Any]


def write_classifier_files(
    folder: Path,
    network: "TransformerClassifier",
    tokenizer: Tokenizer,
    labels: Sequence[str],
    settings: str,
    metadata: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the files of a model into a folder under construction; return the entries for its manifest."""
    tokenizer.save(folder / TOKENIZER_FILE)
    (folder / LABELS_FILE).write_text(json.dumps(list(labels), ensure_ascii=False, indent=2) + "\n", "utf-8")
    return write_model_files(folder, network, CLASSIFICATION_TASK, settings, metadata)


def load_classifier(path: Path, build_model: BuildClassifier | None = None) -> LoadedClassifier:
    """Load a model after checking every file against the manifest; weights are fp32 on the CPU.

    The temperature is one of the validation metrics; a checkpoint that was saved without validation
    has none, and its probabilities are not calibrated. `build_model` builds a custom model.
    """
    import torch

    from regard.model.transformer_classifier import TransformerClassifier
    from regard.training.customization import Customization
    from regard.training.weights import load_weights

    folder, manifest = open_model_folder(
        path, CLASSIFICATION_TASK, [TOKENIZER_FILE, LABELS_FILE], [WEIGHTS_FILE], build_model
    )
    config = read_config_section(folder, ClassifierConfig, "model")
    tokenizer = load_tokenizer(folder / TOKENIZER_FILE)
    if tokenizer.vocab_size != config.vocab_size:
        raise CheckpointError(
            f"{folder / TOKENIZER_FILE} has {tokenizer.vocab_size} tokens "
            f"and config.toml has model.vocab_size = {config.vocab_size}"
        )
    labels = _read_labels(folder / LABELS_FILE)
    if build_model is None:
        check_weight_specs(folder / WEIGHTS_FILE, classifier_weight_shapes(config, len(labels)))
    verify_file(folder, manifest, WEIGHTS_FILE)
    with torch.random.fork_rng(devices=[]):  # initial weights are drawn, then replaced: keep the random state
        custom = Customization(build_model=build_model)
        network = custom.build(TransformerClassifier, config, len(labels), PAD)
    load_weights(folder, network)
    return LoadedClassifier(network.eval(), tokenizer, labels, _read_temperature(folder, manifest), manifest)


def _read_labels(path: Path) -> tuple[str, ...]:
    try:
        labels = read_json(path)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from None
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise CheckpointError(f"{path} must be a list of labels")
    if not 1 <= len(labels) == len(set(labels)):
        raise CheckpointError(f"{path} must name at least one label, and each once")
    return tuple(labels)


def _read_temperature(folder: Path, manifest: Mapping[str, Any]) -> float:
    temperature = manifest.get("metrics", {}).get("temperature", 1.0)
    if type(temperature) not in (int, float) or not MIN_TEMPERATURE <= temperature <= MAX_TEMPERATURE:
        raise CheckpointError(
            f"{folder / MANIFEST_FILE}: the temperature must be from {MIN_TEMPERATURE} to {MAX_TEMPERATURE:g}"
        )
    return temperature
