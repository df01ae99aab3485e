"""A translation model as a folder: the whole product, and no pickle in it."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from regard import __version__
from regard.checkpoint import WEIGHTS, find_model, read_manifest, write_whole
from regard.config import build, read_settings
from regard.errors import CheckpointError, ConfigError
from regard.model.config import ModelConfig
from regard.text.tokenizer import Tokenizer, load_tokenizer

if TYPE_CHECKING:
    from regard.model.transformer import Transformer

TASK = "translation"
CONFIG, TOKENIZER = "config.toml", "tokenizer.json"


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
    from regard.train.weights import save_weights

    (place / CONFIG).write_text(settings, encoding="utf-8")
    tokenizer.save(place / TOKENIZER)
    save_weights(place, model)
    return {"regard": __version__, "task": TASK, **facts}


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
    folder = find_model(path)
    manifest = read_manifest(folder, unread)
    if manifest.get("task") != TASK:
        raise CheckpointError(f"{folder} is a model for {manifest.get('task')}, not for {TASK}")
    if missing := {CONFIG, TOKENIZER, WEIGHTS} - manifest["files"].keys():
        raise CheckpointError(f"{folder} is damaged: its manifest does not name {min(missing)}")
    try:
        config = build(ModelConfig, "model", read_settings(folder / CONFIG).get("model", {}))
    except ConfigError as error:
        raise CheckpointError(f"{folder / CONFIG}: {error}") from None
    tokenizer = load_tokenizer(folder / TOKENIZER)
    if tokenizer.vocab_size != config.vocab_size:
        raise CheckpointError(
            f"{folder / TOKENIZER} has {tokenizer.vocab_size} pieces and config.toml says {config.vocab_size}"
        )
    return Folder(folder, config, tokenizer, manifest)
