"""A translation model as a folder: the whole product, and no pickle in it."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.checkpoint import write_folder_atomically
from regard.errors import CheckpointError
from regard.model.config import ModelConfig
from regard.text.tokenizer import Tokenizer, load_tokenizer
from regard.train.model_files import open_model_folder, read_config_section, write_model_files

if TYPE_CHECKING:
    from regard.model.transformer import Transformer

TRANSLATION_TASK = "translation"
TOKENIZER_FILE = "tokenizer.json"


class TranslationFolder(NamedTuple):
    """What a model folder holds, but for the weights; no torch."""

    path: Path
    config: ModelConfig
    tokenizer: Tokenizer
    manifest: Mapping[str, Any]


class TranslationModel(NamedTuple):
    """What a model folder holds."""

    transformer: "Transformer"
    tokenizer: Tokenizer
    manifest: Mapping[str, Any]


def save_translation_model(
    folder: Path, model: "Transformer", tokenizer: Tokenizer, settings: str, metadata: Mapping[str, Any]
) -> None:
    """Writes the folder whole: weights, tokenizer, settings as TOML, and the facts in its manifest."""
    write_folder_atomically(
        folder, lambda place: write_translation_model_files(place, model, tokenizer, settings, metadata)
    )


def write_translation_model_files(
    folder: Path, model: "Transformer", tokenizer: Tokenizer, settings: str, metadata: Mapping[str, Any]
) -> dict[str, Any]:
    """Writes the files into a folder that somebody else seals; gives back what its manifest should say."""
    tokenizer.save(folder / TOKENIZER_FILE)
    return write_model_files(folder, model, TRANSLATION_TASK, settings, metadata)


def load_translation_model(path: Path) -> TranslationModel:
    """The model of a folder, every file checked against the manifest first; weights in fp32 on the CPU."""
    import torch

    from regard.model.transformer import Transformer
    from regard.train.weights import load_weights

    folder = read_translation_folder(path)
    with torch.random.fork_rng(devices=[]):  # weights are drawn and replaced; nobody else's luck changes
        transformer = Transformer(folder.config)
    load_weights(folder.path, transformer)
    return TranslationModel(transformer.eval(), folder.tokenizer, folder.manifest)


def read_translation_folder(path: Path, size_only: Collection[str] = ()) -> TranslationFolder:
    """All but the weights, every file checked; of those that stay `unread` only the size."""
    folder, manifest = open_model_folder(path, TRANSLATION_TASK, [TOKENIZER_FILE], size_only)
    config = read_config_section(folder, ModelConfig, "model")
    tokenizer = load_tokenizer(folder / TOKENIZER_FILE)
    if tokenizer.vocab_size != config.vocab_size:
        raise CheckpointError(
            f"{folder / TOKENIZER_FILE} has {tokenizer.vocab_size} pieces and config.toml says {config.vocab_size}"
        )
    return TranslationFolder(folder, config, tokenizer, manifest)
