"""A translation model as a folder: the whole product, and no pickle in it."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.checkpoint import write_whole
from regard.errors import CheckpointError
from regard.model.config import ModelConfig
from regard.text.tokenizer import Tokenizer, load_tokenizer
from regard.train.model_files import fill_folder, open_folder, read_section

if TYPE_CHECKING:
    from regard.model.transformer import Transformer

TASK = "translation"
TOKENIZER = "tokenizer.json"


class Folder(NamedTuple):
    """What a model folder holds, but for the weights; no torch."""

    path: Path
    config: ModelConfig
    tokenizer: Tokenizer
    manifest: Mapping[str, Any]


class Model(NamedTuple):
    """What a model folder holds."""

    transformer: "Transformer"
    tokenizer: Tokenizer
    manifest: Mapping[str, Any]


def save_model(
    folder: Path, model: "Transformer", tokenizer: Tokenizer, settings: str, facts: Mapping[str, Any]
) -> None:
    """Writes the folder whole: weights, tokenizer, settings as TOML, and the facts in its manifest."""
    write_whole(folder, lambda place: fill_model(place, model, tokenizer, settings, facts))


def fill_model(
    place: Path, model: "Transformer", tokenizer: Tokenizer, settings: str, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Writes the files into a folder that somebody else seals; gives back what its manifest should say."""
    tokenizer.save(place / TOKENIZER)
    return fill_folder(place, model, TASK, settings, facts)


def load_model(path: Path) -> Model:
    """The model of a folder, every file checked against the manifest first; weights in fp32 on the CPU."""
    import torch

    from regard.model.transformer import Transformer
    from regard.train.weights import load_weights

    folder = read_folder(path)
    with torch.random.fork_rng(devices=[]):  # weights are drawn and replaced; nobody else's luck changes
        transformer = Transformer(folder.config)
    load_weights(folder.path, transformer)
    return Model(transformer.eval(), folder.tokenizer, folder.manifest)


def read_folder(path: Path, unread: Collection[str] = ()) -> Folder:
    """All but the weights, every file checked; of those that stay `unread` only the size."""
    folder, manifest = open_folder(path, TASK, [TOKENIZER], unread)
    config = read_section(folder, ModelConfig, "model")
    tokenizer = load_tokenizer(folder / TOKENIZER)
    if tokenizer.vocab_size != config.vocab_size:
        raise CheckpointError(
            f"{folder / TOKENIZER} has {tokenizer.vocab_size} pieces and config.toml says {config.vocab_size}"
        )
    return Folder(folder, config, tokenizer, manifest)
