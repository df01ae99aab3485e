"""Where a training starts: at random, or from the weights and the pieces of a model that is there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch

from regard.checkpoint import CONFIG_FILE, WEIGHTS_FILE, find_model_folder, read_manifest
from regard.config import merge_settings, read_settings, setting
from regard.errors import ConfigError, require_setting
from regard.model.config import ModelConfig
from regard.model.transformer import Transformer
from regard.text.tokenizer import Tokenizer
from regard.text.vocab_extension import decompose_new_tokens
from regard.translation.model_folder import TranslationModel, load_translation_model

SETTINGS_WITHOUT_WEIGHTS = ("dropout", "attention_dropout", "activation_dropout")
"""Settings of a model that its weights do not depend on."""

FINETUNE_SETTINGS: Mapping[str, Mapping[str, object]] = {
    "optimizer": {"peak": 2e-4, "warmup": 200},
    "train": {"steps": 2000, "save_every": 200},
}
"""What to begin with where a model goes on: short and gentle, about the rate at which the paper's ended."""


@dataclass(frozen=True)
class StartConfig:
    """Where the weights come from before the first step."""

    model: str | None = setting(None, is_path=True, flag="--from")
    """A model's folder, to go on from its weights and pieces; empty: all at random."""
    extend_vocabulary: int | None = setting(None, flag="--extend-vocabulary")
    """Pieces, at most, to learn from the new corpus beside the model's own; none keeps those as they are."""

    def __post_init__(self) -> None:
        extra = self.extend_vocabulary
        require_setting(
            extra is None or extra >= 1, "start.extend_vocabulary", extra, "it must be 1 or more, or none"
        )
        alone = extra is not None and self.model is None
        require_setting(
            not alone,
            "start.extend_vocabulary",
            extra,
            "there is no vocabulary to extend without start.model",
        )


@dataclass(frozen=True)
class StartModel:
    """A model to go on from."""

    path: Path
    model: TranslationModel

    def initial_transformer(self, tokenizer: Tokenizer) -> Transformer:
        """Its own, or extended for a tokenizer that was."""
        old = self.model.tokenizer
        if tokenizer.vocab_size == old.vocab_size:
            return self.model.transformer
        return extend_transformer(self.model.transformer, decompose_new_tokens(old, tokenizer))

    def describe(self, tokenizer: Tokenizer) -> str:
        """For the plan."""
        more = tokenizer.vocab_size - self.model.tokenizer.vocab_size
        vocabulary = f"extended by {more:,}" if more else "kept"
        return f"from {self.path} (step {self.manifest_entry['step']:,}), vocabulary {vocabulary}"

    @property
    def manifest_entry(self) -> dict[str, Any]:
        """For the manifest: the SHA-256 of the weights that were read, and their step."""
        manifest = self.model.manifest
        return {"weights": manifest["files"][WEIGHTS_FILE]["sha256"], "step": manifest.get("step", 0)}


def inherit_finetune_settings(path: Path) -> dict[str, dict[str, object]]:
    """The settings that go with a start from this folder, unless others are asked for."""
    folder = find_model_folder(path)
    read_manifest(folder)
    settings = read_settings(folder / CONFIG_FILE)
    lowercase = settings.get("data", {}).get("lowercase", False)
    return merge_settings(
        FINETUNE_SETTINGS, {"model": settings.get("model", {}), "data": {"lowercase": lowercase}}
    )


def read_start_model(path: Path, model: ModelConfig, lowercase: bool) -> StartModel:
    """The model of the folder; settings that say otherwise than it does are refused by name."""
    found = load_translation_model(path)
    theirs = found.transformer.config
    for name in (field.name for field in fields(ModelConfig) if field.name not in SETTINGS_WITHOUT_WEIGHTS):
        if getattr(model, name) != getattr(theirs, name):
            raise _contradiction_error(f"model.{name}", getattr(model, name), path, getattr(theirs, name))
    if found.tokenizer.lowercase != lowercase:
        raise _contradiction_error("data.lowercase", lowercase, path, found.tokenizer.lowercase)
    return StartModel(path, found)


@torch.no_grad()
def extend_transformer(model: Transformer, parts_of_new_tokens: Sequence[Sequence[int]]) -> Transformer:
    """The model with a row more for each new piece, wherever it has one per piece: the mean of its parts'.

    The score of a new piece is then the mean of its parts' scores and never above them all, so
    greedy search goes on to say what it said before.
    """
    config = replace(model.config, vocab_size=model.config.vocab_size + len(parts_of_new_tokens))
    with torch.random.fork_rng(devices=[]):
        larger = Transformer(config)
    old = dict(model.named_parameters())
    for name, weight in larger.named_parameters():
        rows = old[name]
        if len(rows) != len(weight):
            rows = torch.cat(
                [rows, *(rows[list(parts)].mean(0, keepdim=True) for parts in parts_of_new_tokens)]
            )
        weight.copy_(rows)
    return larger.eval()


def _contradiction_error(setting: str, ours: object, path: Path, theirs: object) -> ConfigError:
    return ConfigError(
        f"{setting} = {ours} contradicts {path}, where it is {theirs}; leave it out to go on from that model"
    )
