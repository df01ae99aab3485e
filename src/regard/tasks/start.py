"""Where a training starts: at random, or from the weights and the pieces of a model that is there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch

from regard.checkpoint import find_model, read_manifest
from regard.config import merge, read_settings
from regard.errors import ConfigError, require
from regard.model.config import ModelConfig
from regard.model.transformer import Transformer
from regard.tasks.folder import CONFIG, WEIGHTS, load_model
from regard.text.extending import extend_tokenizer
from regard.text.tokenizer import Tokenizer

MAY_CHANGE = ("dropout", "attention_dropout", "activation_dropout")
"""Settings of a model that its weights do not depend on."""

FINE_TUNING: Mapping[str, Mapping[str, object]] = {
    "optimizer": {"peak": 2e-4, "warmup": 200},
    "train": {"steps": 2000, "save_every": 200},
}
"""What to begin with where a model goes on: short and gentle, about the rate at which the paper's ended."""


@dataclass(frozen=True)
class StartConfig:
    """Where the weights come from before the first step."""

    model: str | None = None
    """A model's folder, to go on from its weights and pieces; empty: all at random."""
    extend_vocabulary: int | None = None
    """Pieces, at most, to learn from the new corpus beside the model's own; none keeps those as they are."""

    def __post_init__(self) -> None:
        extra = self.extend_vocabulary
        require(
            extra is None or extra >= 1, "start.extend_vocabulary", extra, "it must be 1 or more, or none"
        )
        alone = extra is not None and self.model is None
        require(
            not alone,
            "start.extend_vocabulary",
            extra,
            "there is no vocabulary to extend without start.model",
        )


@dataclass(frozen=True)
class Start:
    """A model to go on from."""

    transformer: Transformer
    tokenizer: Tokenizer
    said: str
    """For the plan."""
    parent: Mapping[str, Any]
    """For the manifest: the SHA-256 of the weights that were read, and their step."""


def inherited(path: Path) -> dict[str, dict[str, object]]:
    """The settings that go with a start from this folder, unless others are asked for."""
    folder = find_model(path)
    read_manifest(folder)
    settings = read_settings(folder / CONFIG)
    lowercase = settings.get("data", {}).get("lowercase", False)
    return merge(FINE_TUNING, {"model": settings.get("model", {}), "data": {"lowercase": lowercase}})


def start_from(
    path: Path, extend_vocabulary: int | None, model: ModelConfig, lowercase: bool, texts: Sequence[str]
) -> Start:
    """The model of the folder, its vocabulary extended by what the texts repeat, if so asked.

    Settings that say otherwise than the folder are refused by name.
    """
    found = load_model(path)
    _refuse_contradiction(path, found.transformer.config, model)
    if found.tokenizer.lowercase != lowercase:
        raise ConfigError(_contradiction("data.lowercase", lowercase, path, found.tokenizer.lowercase))
    transformer, tokenizer, said = found.transformer, found.tokenizer, "vocabulary kept"
    if extend_vocabulary is not None:
        extension = extend_tokenizer(tokenizer, texts, extend_vocabulary)
        transformer, tokenizer = extended(transformer, extension.made_of), extension.tokenizer
        said = f"vocabulary extended by {len(extension.made_of):,}"
    step = found.manifest.get("step", 0)
    parent = {"weights": found.manifest["files"][WEIGHTS]["sha256"], "step": step}
    return Start(transformer, tokenizer, f"from {path} (step {step:,}), {said}", parent)


@torch.no_grad()
def extended(model: Transformer, made_of: Sequence[Sequence[int]]) -> Transformer:
    """The model with a row more for each new piece, wherever it has one per piece: the mean of its parts'.

    The score of a new piece is then the mean of its parts' scores and never above them all, so
    greedy search goes on to say what it said before.
    """
    config = replace(model.config, vocab_size=model.config.vocab_size + len(made_of))
    with torch.random.fork_rng(devices=[]):
        larger = Transformer(config)
    old = dict(model.named_parameters())
    for name, weight in larger.named_parameters():
        rows = old[name]
        if len(rows) != len(weight):
            rows = torch.cat([rows, *(rows[list(parts)].mean(0, keepdim=True) for parts in made_of)])
        weight.copy_(rows)
    return larger.eval()


def _refuse_contradiction(path: Path, theirs: ModelConfig, ours: ModelConfig) -> None:
    for name in (field.name for field in fields(ModelConfig) if field.name not in MAY_CHANGE):
        if getattr(ours, name) != getattr(theirs, name):
            raise ConfigError(
                _contradiction(f"model.{name}", getattr(ours, name), path, getattr(theirs, name))
            )


def _contradiction(setting: str, ours: object, path: Path, theirs: object) -> str:
    return (
        f"{setting} = {ours} contradicts {path}, where it is {theirs}; leave it out to go on from that model"
    )
