"""A classifier as a folder: weights, pieces, labels and settings, and no pickle in it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.errors import CheckpointError
from regard.model.classifier import ClassifierConfig
from regard.text.tokenizer import PAD, Tokenizer, load_tokenizer
from regard.train.model_files import open_model_folder, read_config_section, write_model_files

if TYPE_CHECKING:
    from regard.model.classifier import TransformerClassifier

TASK = "classification"
TOKENIZER_FILE, LABELS_FILE = "tokenizer.json", "labels.json"


class LoadedClassifier(NamedTuple):
    """What a model folder holds."""

    network: "TransformerClassifier"
    tokenizer: Tokenizer
    labels: tuple[str, ...]
    temperature: float
    """What scores are divided by, so that probabilities mean what they say."""
    manifest: Mapping[str, Any]


def write_classifier_files(
    folder: Path,
    network: "TransformerClassifier",
    tokenizer: Tokenizer,
    labels: Sequence[str],
    settings: str,
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Writes into a folder that somebody else seals; gives back what its manifest should say."""
    tokenizer.save(folder / TOKENIZER_FILE)
    (folder / LABELS_FILE).write_text(json.dumps(list(labels), ensure_ascii=False, indent=2) + "\n", "utf-8")
    return write_model_files(folder, network, TASK, settings, facts)


def load_classifier(path: Path) -> LoadedClassifier:
    """The model of a folder, every file checked against the manifest first; weights in fp32 on the CPU.

    The temperature is among the figures that the model was judged by: a checkpoint that was saved
    unjudged has none, and is as sure as it is.
    """
    import torch

    from regard.model.classifier import TransformerClassifier
    from regard.train.weights import load_weights

    folder, manifest = open_model_folder(path, TASK, [TOKENIZER_FILE, LABELS_FILE])
    config = read_config_section(folder, ClassifierConfig, "model")
    tokenizer = load_tokenizer(folder / TOKENIZER_FILE)
    if tokenizer.vocab_size != config.vocab_size:
        raise CheckpointError(
            f"{folder / TOKENIZER_FILE} has {tokenizer.vocab_size} pieces and config.toml says {config.vocab_size}"
        )
    labels = _read_labels(folder / LABELS_FILE)
    with torch.random.fork_rng(devices=[]):  # weights are drawn and replaced; nobody else's luck changes
        network = TransformerClassifier(config, len(labels), PAD)
    load_weights(folder, network)
    temperature = manifest.get("metrics", {}).get("temperature", 1.0)
    return LoadedClassifier(network.eval(), tokenizer, labels, temperature, manifest)


def _read_labels(path: Path) -> tuple[str, ...]:
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from None
    if not isinstance(found, list) or not all(isinstance(label, str) for label in found):
        raise CheckpointError(f"{path} must be a list of labels")
    return tuple(found)
