"""The blocks of a model as Figure 1 draws them, with the parameters that each one has."""

import re
from collections.abc import Sequence
from typing import Any

import torch

from regard.model.config import ModelConfig
from regard.model.transformer import Transformer

LAYER_PARAMETER = re.compile(r"(encoder|decoder)\.layers\.(\d+)\.(?:around_)?(\w+?)\.(.+)")
SUBLAYER_OF_MODULE = {
    "attention": "self",
    "self_attention": "self",
    "cross_attention": "cross",
    "feed_forward": "ffn",
}


def describe_model_blocks(config: ModelConfig) -> list[dict[str, Any]]:
    """One for each sublayer, with its residual's norm, and one for each embedding, norm and output.

    A matrix that several share is counted where it comes first; the others then have no parameters.
    """
    with torch.device("meta"):
        model = Transformer(config)
    found: dict[str, dict[str, Any]] = {each["id"]: each for each in _empty_blocks(config)}
    for name, parameter in model.named_parameters():
        block, short = _block_of_parameter(name)
        found[block]["shapes"].append([short, list(parameter.shape)])
        found[block]["parameters"] += parameter.numel()
    return [each for each in found.values() if each["which"] != "norm" or each["parameters"]]


def _empty_blocks(config: ModelConfig) -> Sequence[dict[str, Any]]:
    """In the order in which a sentence passes them."""
    encoder = [
        _sublayer_block("encoder", layer, which)
        for layer in range(1, config.encoder_layers + 1)
        for which in ("self", "ffn")
    ]
    decoder = [
        _sublayer_block("decoder", layer, which)
        for layer in range(1, config.decoder_layers + 1)
        for which in ("self", "cross", "ffn")
    ]
    return [
        _new_block("embedding.source", "encoder", "embedding"),
        *encoder,
        _new_block("encoder.norm", "encoder", "norm"),
        _new_block("embedding.target", "decoder", "embedding"),
        *decoder,
        _new_block("decoder.norm", "decoder", "norm"),
        _new_block("output", "decoder", "output"),
    ]


def _sublayer_block(stack: str, layer: int, which: str) -> dict[str, Any]:
    return _new_block(f"{stack}.{layer}.{which}", stack, which) | {"layer": layer}


def _new_block(id: str, stack: str, which: str) -> dict[str, Any]:
    return {"id": id, "stack": stack, "layer": None, "which": which, "parameters": 0, "shapes": []}


def _block_of_parameter(name: str) -> tuple[str, str]:
    """The block that a parameter belongs to, and its name within."""
    if found := LAYER_PARAMETER.fullmatch(name):
        stack, layer, part, rest = found.groups()
        return f"{stack}.{int(layer) + 1}.{SUBLAYER_OF_MODULE[part]}", rest
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
