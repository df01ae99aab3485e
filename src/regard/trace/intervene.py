"""Apply interventions to a model: a copy that shares every unchanged parameter with the original."""

import copy
from collections.abc import Sequence
from typing import cast

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from regard.model.attention import MultiHeadAttention
from regard.model.layers import DecoderLayer, EncoderLayer, ResidualConnection
from regard.model.transformer import Transformer
from regard.trace.interventions import (
    AblateHead,
    AttentionKind,
    Intervention,
    MaskSource,
    RemovePositions,
    SkipSublayer,
)


def apply_interventions(model: Transformer, interventions: Sequence[Intervention]) -> Transformer:
    """Return the model with these interventions, in eval mode; unchanged parameters are shared.

    The original is never modified, so it may go on training meanwhile. It is returned itself when
    nothing in it changes: without interventions, or with masked source tokens only
    (`build_source_keep`).
    """
    if not model.training and all(isinstance(each, MaskSource) for each in interventions):
        return model
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    other = copy.deepcopy(model, memo=cast(dict[int, object], shared)).eval()
    with torch.no_grad():
        for intervention in interventions:
            match intervention:
                case AblateHead():
                    _ablate_head(find_attention(other, intervention.kind, intervention.layer), intervention)
                case SkipSublayer():
                    _skip_sublayer(*_find_sublayer(other, intervention))
                case RemovePositions():
                    _zero_positions(other)
                case MaskSource():
                    pass  # a mask, see `build_source_keep`
    return other


def build_source_keep(interventions: Sequence[Intervention], length: int) -> Bool[Tensor, "1 source"]:
    """Return the mask of source tokens that may be attended to."""
    keep = torch.ones(1, length, dtype=torch.bool)
    for intervention in interventions:
        if isinstance(intervention, MaskSource):
            keep[0, list(intervention.positions)] = False
    return keep


def find_attention(model: Transformer, kind: AttentionKind, layer: int) -> MultiHeadAttention:
    """Return the attention of this kind in a layer, counted from 1."""
    if kind == "encoder":
        return cast(EncoderLayer, model.encoder.layers[layer - 1]).self_attention
    decoder = cast(DecoderLayer, model.decoder.layers[layer - 1])
    return decoder.self_attention if kind == "decoder" else decoder.cross_attention


def _ablate_head(attention: MultiHeadAttention, head: AblateHead) -> None:
    width = attention.query.out_features // attention.heads
    columns = slice((head.head - 1) * width, head.head * width)
    if head.mode == "zero":
        _copy_parameters(attention.output)
        attention.output.weight[:, columns] = 0.0
    else:  # a query of zero makes all scores equal
        _copy_parameters(attention.query)
        attention.query.weight[columns] = 0.0
        attention.query.bias[columns] = 0.0


def _find_sublayer(model: Transformer, sublayer: SkipSublayer) -> tuple[nn.Linear, ResidualConnection]:
    """Return the output projection of a sublayer and its residual connection."""
    stack = model.encoder if sublayer.stack == "encoder" else model.decoder
    layer = cast(EncoderLayer | DecoderLayer, stack.layers[sublayer.layer - 1])
    if sublayer.sublayer == "ffn":
        return layer.feed_forward.outer, layer.around_feed_forward
    if isinstance(layer, EncoderLayer):
        return layer.self_attention.output, layer.around_attention
    if sublayer.sublayer == "self":
        return layer.self_attention.output, layer.around_self_attention
    return layer.cross_attention.output, layer.around_cross_attention


def _skip_sublayer(output: nn.Linear, residual: ResidualConnection) -> None:
    _zero_parameters(output)
    if (
        residual.norm_placement == "literal"
    ):  # here the norm follows the sublayer, and its bias would be added
        _zero_parameters(residual.norm)


def _zero_parameters(module: nn.Linear | nn.LayerNorm) -> None:
    _copy_parameters(module)
    module.weight.zero_()
    module.bias.zero_()


def _zero_positions(model: Transformer) -> None:
    for embedding in (model.source_embedding, model.target_embedding):
        table = embedding.positions.table
        zeros = torch.zeros_like(table)
        embedding.positions.table = nn.Parameter(zeros) if isinstance(table, nn.Parameter) else zeros


def _copy_parameters(module: nn.Linear | nn.LayerNorm) -> None:
    """Give a module of the copy its own parameters, so that the original keeps its values."""
    module.weight = nn.Parameter(module.weight.clone(), requires_grad=False)
    module.bias = nn.Parameter(module.bias.clone(), requires_grad=False)
