"""Blocks of the model as in Figure 1, with the shapes of their parameters."""

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
    """Return one block per sublayer with its norm, and one per embedding, final norm and output.

    A shared matrix is counted in the first block that uses it.
    """
    with torch.device("meta"):
        model = Transformer(config)
    blocks: dict[str, dict[str, Any]] = {each["id"]: each for each in _empty_blocks(config)}
    for name, parameter in model.named_parameters():
        block, parameter_name = _block_of_parameter(name)
        blocks[block]["shapes"].append([parameter_name, list(parameter.shape)])
        blocks[block]["parameters"] += parameter.numel()
    return [each for each in blocks.values() if each["kind"] != "norm" or each["parameters"]]


def _empty_blocks(config: ModelConfig) -> Sequence[dict[str, Any]]:
    """Return all blocks without parameters, in the order of computation."""
    encoder = [
        _sublayer_block("encoder", layer, kind)
        for layer in range(1, config.encoder_layers + 1)
        for kind in ("self", "ffn")
    ]
    decoder = [
        _sublayer_block("decoder", layer, kind)
        for layer in range(1, config.decoder_layers + 1)
        for kind in ("self", "cross", "ffn")
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


def _sublayer_block(stack: str, layer: int, kind: str) -> dict[str, Any]:
    return _new_block(f"{stack}.{layer}.{kind}", stack, kind) | {"layer": layer}


def _new_block(id: str, stack: str, kind: str) -> dict[str, Any]:
    return {"id": id, "stack": stack, "layer": None, "kind": kind, "parameters": 0, "shapes": []}


def _block_of_parameter(name: str) -> tuple[str, str]:
    """Return the block of a parameter, and its name within the block."""
    if match := LAYER_PARAMETER.fullmatch(name):
        stack, layer, module, rest = match.groups()
        return f"{stack}.{int(layer) + 1}.{SUBLAYER_OF_MODULE[module]}", rest
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
