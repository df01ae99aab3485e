"""The blocks of a model as Figure 1 draws them, with the parameters that each one has."""

import re
from collections.abc import Sequence
from typing import Any

import torch

from regard.model.config import ModelConfig
from regard.model.transformer import Transformer

LAYER = re.compile(r"(encoder|decoder)\.layers\.(\d+)\.(?:around_)?(\w+?)\.(.+)")
WHICH = {"attention": "self", "self_attention": "self", "cross_attention": "cross", "feed_forward": "ffn"}


def blocks(config: ModelConfig) -> list[dict[str, Any]]:
    """One for each sublayer, with its residual's norm, and one for each embedding, norm and output.

    A matrix that several share is counted where it comes first; the others then have no parameters.
    """
    with torch.device("meta"):
        model = Transformer(config)
    found: dict[str, dict[str, Any]] = {each["id"]: each for each in _expected(config)}
    for name, parameter in model.named_parameters():
        block, short = _place(name)
        found[block]["shapes"].append([short, list(parameter.shape)])
        found[block]["parameters"] += parameter.numel()
    return [each for each in found.values() if each["which"] != "norm" or each["parameters"]]


def _expected(config: ModelConfig) -> Sequence[dict[str, Any]]:
    """In the order in which a sentence passes them."""
    encoder = [
        _block("encoder", layer, which)
        for layer in range(1, config.encoder_layers + 1)
        for which in ("self", "ffn")
    ]
    decoder = [
        _block("decoder", layer, which)
        for layer in range(1, config.decoder_layers + 1)
        for which in ("self", "cross", "ffn")
    ]
    return [
        _named("embedding.source", "encoder", "embedding"),
        *encoder,
        _named("encoder.norm", "encoder", "norm"),
        _named("embedding.target", "decoder", "embedding"),
        *decoder,
        _named("decoder.norm", "decoder", "norm"),
        _named("output", "decoder", "output"),
    ]


def _block(stack: str, layer: int, which: str) -> dict[str, Any]:
    return _named(f"{stack}.{layer}.{which}", stack, which) | {"layer": layer}


def _named(id: str, stack: str, which: str) -> dict[str, Any]:
    return {"id": id, "stack": stack, "layer": None, "which": which, "parameters": 0, "shapes": []}


def _place(name: str) -> tuple[str, str]:
    """The block that a parameter belongs to, and its name within."""
    if found := LAYER.fullmatch(name):
        stack, layer, part, rest = found.groups()
        return f"{stack}.{int(layer) + 1}.{WHICH[part]}", rest
    first, _, rest = name.partition(".")
    match first:
        case "source_embedding":
            return "embedding.source", rest
        case "target_embedding":
            return "embedding.target", rest
        case "encoder" | "decoder":
            return f"{first}.norm", rest.removeprefix("norm.")
        case _:
            return first, rest
