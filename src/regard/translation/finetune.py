"""Fine-tuning: the start model of a run, the settings it brings, and its vocabulary extension."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch

from regard.checkpoint import CONFIG_FILE, WEIGHTS_FILE, find_model_folder, read_manifest
from regard.config import check_ranges, merge_settings, read_settings, setting
from regard.errors import ConfigError, require_setting
from regard.model.config import ModelConfig
from regard.model.transformer import Transformer
from regard.text.tokenizer import Tokenizer
from regard.text.vocab_extension import decompose_new_tokens
from regard.translation.model_folder import TranslationModel, load_translation_model

SETTINGS_WITHOUT_WEIGHTS = ("dropout", "attention_dropout", "activation_dropout")
"""Model settings that may differ from those of the start model, since no weight depends on them."""

FINETUNE_SETTINGS: Mapping[str, Mapping[str, object]] = {
    "optimizer": {"peak": 2e-4, "warmup": 200},
    "train": {"steps": 2000, "save_every": 200},
}
"""Default settings of fine-tuning: short, at about the learning rate at which the paper's training ended."""


@dataclass(frozen=True)
class StartConfig:
    """The initial weights of a run: random, or those of a trained model."""

    model: str | None = setting(None, is_path=True, flag="--from")
    """Model folder whose weights and tokenizer the run starts from; empty: random weights."""
    extend_vocabulary: int | None = setting(None, flag="--extend-vocabulary", at_least=1, at_most=2**18)
    """Tokens, at most, that the new corpus adds to the start model's vocabulary; none: it is kept."""

    def __post_init__(self) -> None:
        name, extra = "start.extend_vocabulary", self.extend_vocabulary
        check_ranges(self, "start")
        has_model = extra is None or self.model is not None
        require_setting(has_model, name, extra, "there is no vocabulary to extend without start.model")


@dataclass(frozen=True)
class StartModel:
    """The trained model that a run starts from."""

    path: Path
    model: TranslationModel

    def initial_transformer(self, tokenizer: Tokenizer) -> Transformer:
        """Return the model, extended if the tokenizer has new tokens."""
        old = self.model.tokenizer
        if tokenizer.vocab_size == old.vocab_size:
            return self.model.transformer
        return extend_transformer(self.model.transformer, decompose_new_tokens(old, tokenizer))

    def describe(self, tokenizer: Tokenizer) -> str:
        """Return one line for the console."""
        added = tokenizer.vocab_size - self.model.tokenizer.vocab_size
        vocabulary = f"extended by {added:,}" if added else "kept"
        return f"from {self.path} (step {self.manifest_entry['step']:,}), vocabulary {vocabulary}"

    @property
    def manifest_entry(self) -> dict[str, Any]:
        """The SHA-256 of the start weights and their step, for the new model's manifest."""
        manifest = self.model.manifest
        return {"weights": manifest["files"][WEIGHTS_FILE]["sha256"], "step": manifest.get("step", 0)}


def inherit_finetune_settings(path: Path) -> dict[str, dict[str, object]]:
    """Return the settings of a run that starts from this folder; those of the user override them."""
    folder = find_model_folder(path)
    read_manifest(folder)
    settings = read_settings(folder / CONFIG_FILE)
    lowercase = settings.get("data", {}).get("lowercase", False)
    return merge_settings(
        FINETUNE_SETTINGS, {"model": settings.get("model", {}), "data": {"lowercase": lowercase}}
    )


def read_start_model(path: Path, model: ModelConfig, lowercase: bool) -> StartModel:
    """Load the start model; refuse settings that contradict it, by name."""
    start = load_translation_model(path)
    config = start.transformer.config
    for name in (field.name for field in fields(ModelConfig) if field.name not in SETTINGS_WITHOUT_WEIGHTS):
        if getattr(model, name) != getattr(config, name):
            raise _contradiction_error(f"model.{name}", getattr(model, name), path, getattr(config, name))
    if start.tokenizer.lowercase != lowercase:
        raise _contradiction_error("data.lowercase", lowercase, path, start.tokenizer.lowercase)
    return StartModel(path, start)


@torch.no_grad()
def extend_transformer(model: Transformer, parts_of_new_tokens: Sequence[Sequence[int]]) -> Transformer:
    """Return the model with a row for each new token in embeddings and output: the mean of its parts' rows.

    The logit of a new token is then the mean of its parts' logits and never above them all, so greedy
    search finds the same translations as before.
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


def _contradiction_error(name: str, value: object, path: Path, start_value: object) -> ConfigError:
    return ConfigError(
        f"{name} = {value} contradicts {path}, where it is {start_value}; leave it out to start from it"
    )
