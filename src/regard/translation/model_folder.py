"""Translation model folders: weights, tokenizer, settings and manifest, written and read; no pickle."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.checkpoint import CONFIG_FILE, WEIGHTS_FILE, verify_file, write_folder_atomically
from regard.errors import CheckpointError
from regard.model.config import ModelConfig
from regard.model.weight_shapes import transformer_weight_shapes
from regard.safetensors_file import check_weight_specs
from regard.text.tokenizer import Tokenizer
from regard.text.tokenizer_file import load_tokenizer
from regard.training.model_files import open_model_folder, read_config_section, write_model_files
from regard.translation.unlike_training import LikelihoodCalibration, read_calibration

if TYPE_CHECKING:
    from regard.model.transformer import Transformer

TRANSLATION_TASK = "translation"
TOKENIZER_FILE = "tokenizer.json"


BuildTransformer = Callable[[ModelConfig], "Transformer"]
"""Builds a custom model from its settings."""


class TranslationFolder(NamedTuple):
    """A model folder without its weights; needs no torch."""

    path: Path
    config: ModelConfig
    tokenizer: Tokenizer
    manifest: Mapping[str, Any]
    calibration: LikelihoodCalibration | None = None
    """Detects texts unlike the training text; None: the model was not calibrated."""


class TranslationModel(NamedTuple):
    """A model folder with its weights loaded."""

    transformer: "Transformer"
    tokenizer: Tokenizer
    manifest: Mapping[str, Any]


def save_translation_model(
    folder: Path, model: "Transformer", tokenizer: Tokenizer, settings: str, metadata: Mapping[str, Any]
) -> None:
    """Write a whole model folder atomically; `settings` is TOML, `metadata` goes into the manifest."""
    write_folder_atomically(
        folder, lambda place: write_translation_model_files(place, model, tokenizer, settings, metadata)
    )


def write_translation_model_files(
    folder: Path, model: "Transformer", tokenizer: Tokenizer, settings: str, metadata: Mapping[str, Any]
) -> dict[str, Any]:
    """Write the model's files into an existing folder and return the entries of its manifest."""
    tokenizer.save(folder / TOKENIZER_FILE)
    return write_model_files(folder, model, TRANSLATION_TASK, settings, metadata)


def load_translation_model(path: Path, build_model: BuildTransformer | None = None) -> TranslationModel:
    """Load the model of a folder: every file verified against the manifest, weights in fp32 on the CPU."""
    folder = read_translation_folder(path, [WEIGHTS_FILE], build_model)
    return TranslationModel(load_transformer(folder, build_model), folder.tokenizer, folder.manifest)


def load_transformer(folder: TranslationFolder, build_model: BuildTransformer | None = None) -> "Transformer":
    """Load the weights of a folder in fp32 on the CPU; their header and SHA-256 are checked first.

    `build_model` builds a custom model, whose weights are those that it has.
    """
    import torch

    from regard.model.transformer import Transformer
    from regard.training.customization import Customization
    from regard.training.weights import load_weights

    if build_model is None:
        check_weight_specs(folder.path / WEIGHTS_FILE, transformer_weight_shapes(folder.config))
    verify_file(folder.path, folder.manifest, WEIGHTS_FILE)
    with torch.random.fork_rng(
        devices=[]
    ):  # the initial weights are replaced: keep the caller's random state
        transformer = Customization(build_model=build_model).build(Transformer, folder.config)
    load_weights(folder.path, transformer)
    return transformer.eval()


def read_translation_folder(
    path: Path, size_only: Collection[str] = (), build_model: BuildTransformer | None = None
) -> TranslationFolder:
    """Read everything but the weights; every file is verified, those in `size_only` by their size alone."""
    folder, manifest = open_model_folder(path, TRANSLATION_TASK, [TOKENIZER_FILE], size_only, build_model)
    config = read_config_section(folder, ModelConfig, "model")
    tokenizer = load_tokenizer(folder / TOKENIZER_FILE)
    if tokenizer.vocab_size != config.vocab_size:
        raise CheckpointError(
            f"{folder / TOKENIZER_FILE} has {tokenizer.vocab_size} tokens, and model.vocab_size in "
            f"{folder / CONFIG_FILE} is {config.vocab_size}"
        )
    return TranslationFolder(folder, config, tokenizer, manifest, read_calibration(folder, manifest))
