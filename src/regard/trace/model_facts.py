"""The model as a trace describes it: name, hash, languages, step and sizes."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from torch import nn

from regard.checkpoint import CONFIG_FILE, WEIGHTS_FILE
from regard.config import read_settings
from regard.model.config import LayerConfig
from regard.model.transformer import Transformer
from regard.text.languages import languages_of_model
from regard.trace.schema import ModelFacts, VocabSizes


@dataclass(frozen=True)
class ModelIdentity:
    """Name and hash of a model, and what its folder says of its training."""

    name: str
    id: str
    source_lang: str | None = None
    target_lang: str | None = None
    step: int | None = None


def identify_model_folder(path: Path, manifest: Mapping[str, Any]) -> ModelIdentity:
    """Identify a model folder by the hash of its weights; its name is that of the run."""
    is_in_run = path.name == "model" or path.name.startswith("step-")
    name = path.resolve().parent.name if is_in_run else path.resolve().name
    data = cast(Mapping[str, Any], read_settings(path / CONFIG_FILE).get("data", {}))
    return ModelIdentity(
        name,
        f"sha256:{manifest['files'][WEIGHTS_FILE]['sha256']}",
        *languages_of_model(data),
        manifest.get("step"),
    )


def identify_model_in_memory(model: Transformer) -> ModelIdentity:
    """Identify a model in memory by the hash of its current weights; it may still be training."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().float().cpu().contiguous().numpy().tobytes())
    return ModelIdentity("in memory", f"sha256:{digest.hexdigest()}")


def build_model_facts(
    identity: ModelIdentity,
    model: nn.Module,
    config: LayerConfig,
    layer_counts: tuple[int, int],
    vocab: VocabSizes,
    task: str,
    *,
    shared: bool = False,
    causal: bool = True,
) -> ModelFacts:
    """Describe a model; `layer_counts` are (encoder, decoder), `shared` says all embeddings are one."""
    encoder_layers, decoder_layers = layer_counts
    return ModelFacts(
        name=identity.name,
        id=identity.id,
        source_lang=identity.source_lang,
        target_lang=identity.target_lang,
        step=identity.step,
        encoder_layers=encoder_layers,
        decoder_layers=decoder_layers,
        heads=config.heads,
        d_model=config.d_model,
        d_k=config.head_width,
        d_ff=config.d_ff,
        norm=config.norm,
        positions=config.position,
        vocab=vocab,
        shared=shared,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        attention_scale=config.attention_scale,
        task=task,
        causal=causal,
    )
