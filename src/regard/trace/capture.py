"""Capture one teacher-forced forward pass: inputs, outputs, updates and attention of every sublayer.

The causal mask makes this pass equal to decoding token by token, so the search does not pay for it.
The model's own sublayers are called; no hooks are registered and nothing is stored in the model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.model.attention import KeyValues, MultiHeadAttention
from regard.model.layers import DecoderLayer, EncoderLayer, ResidualConnection
from regard.model.masks import CAUSAL_MASK, AttentionMask, make_padding_mask
from regard.model.stacks import Decoder, Encoder
from regard.model.transformer import Transformer, position_ids
from regard.trace.interventions import AttentionKind, StackName


@dataclass(frozen=True, eq=False)
class AttentionCapture:
    """All heads of one attention over one sentence."""

    weights: Float[Tensor, "heads query key"]
    query: Float[Tensor, "heads query d_k"]
    key: Float[Tensor, "heads key d_k"]
    value: Float[Tensor, "heads key d_k"]
    value_norm: Float[Tensor, "heads key"]
    """Norm of each value times its head's part of W^O: what the key adds at weight 1."""


@dataclass(frozen=True, eq=False)
class SublayerCapture:
    """Input, output and residual stream of one sublayer."""

    name: str
    """1.self, 1.cross, 1.ffn: layers are counted from 1."""
    input: Float[Tensor, "length d_model"]
    output: Float[Tensor, "length d_model"]
    update: Float[Tensor, "length d_model"]
    """The output as it was added to the residual stream."""
    stream: Float[Tensor, "length d_model"]
    """The residual stream after this sublayer."""
    attention: AttentionCapture | None = None


@dataclass(frozen=True, eq=False)
class ForwardCapture:
    """All sublayers of one forward pass."""

    source_embedded: Float[Tensor, "source d_model"]
    target_embedded: Float[Tensor, "target d_model"]
    encoder: tuple[SublayerCapture, ...]
    decoder: tuple[SublayerCapture, ...]
    encoded: Float[Tensor, "source d_model"]
    """The encoder's output, which the decoder attends to."""
    logits: Float[Tensor, "row vocab"]
    """Row t predicts target token t; a classifier has one row, for the label."""

    def attention(self, kind: AttentionKind) -> list[AttentionCapture]:
        """Return the attention of each layer; empty for a kind that the model does not have."""
        sublayers = self.encoder if kind == "encoder" else self.decoder
        suffix = ".cross" if kind == "cross" else ".self"
        return [each.attention for each in sublayers if each.attention and each.name.endswith(suffix)]

    def sublayer_input(self, stack: StackName, index: int) -> Float[Tensor, "length d_model"]:
        """Return the residual stream before the sublayer with this index in its stack."""
        if index:
            return (self.encoder if stack == "encoder" else self.decoder)[index - 1].stream
        return self.source_embedded if stack == "encoder" else self.target_embedded

    def layer_outputs(self) -> list[Float[Tensor, "target d_model"]]:
        """Return the residual stream after each decoder layer."""
        return [each.stream for each in self.decoder if each.name.endswith(".ffn")]


@torch.inference_mode()
def capture_forward(
    model: Transformer,
    source: Int[Tensor, "1 source"],
    keep: Bool[Tensor, "1 source"],
    target_in: Int[Tensor, "1 target"],
) -> ForwardCapture:
    """Run the model over source and target prefix in one pass and capture every sublayer."""
    source_mask = make_padding_mask(keep)
    source_embedded = model.source_embedding(source, position_ids(source))
    encoder, encoded = capture_encoder(model.encoder, source_embedded, source_mask)
    target_embedded = model.target_embedding(target_in, position_ids(target_in))
    decoder, decoded = capture_decoder(model.decoder, target_embedded, encoded, CAUSAL_MASK, source_mask)
    return ForwardCapture(
        source_embedded[0], target_embedded[0], encoder, decoder, encoded[0], model.output(decoded)[0]
    )


@torch.inference_mode()
def capture_encoder(
    encoder: Encoder, x: Float[Tensor, "1 source d_model"], source_mask: AttentionMask
) -> tuple[tuple[SublayerCapture, ...], Float[Tensor, "1 source d_model"]]:
    """Capture every sublayer of the encoder, and return its output."""
    sublayers: list[SublayerCapture] = []
    for number, layer in enumerate(encoder.layers, start=1):
        x = _capture_encoder_layer(cast(EncoderLayer, layer), number, x, source_mask, sublayers)
    return tuple(sublayers), encoder.norm(x)


@torch.inference_mode()
def capture_decoder(
    decoder: Decoder,
    x: Float[Tensor, "1 target d_model"],
    encoded: Float[Tensor, "1 source d_model"],
    target_mask: AttentionMask,
    source_mask: AttentionMask,
) -> tuple[tuple[SublayerCapture, ...], Float[Tensor, "1 target d_model"]]:
    """Capture every sublayer of the decoder over the encoder's output, and return its output."""
    sublayers: list[SublayerCapture] = []
    for number, (layer, cache) in enumerate(
        zip(decoder.layers, decoder.start_caches(encoded), strict=True), start=1
    ):
        x = _capture_decoder_layer(
            cast(DecoderLayer, layer), number, x, cache.source, target_mask, source_mask, sublayers
        )
    return tuple(sublayers), decoder.norm(x)


def _capture_encoder_layer(
    layer: EncoderLayer, number: int, x: Tensor, source_mask: AttentionMask, sublayers: list[SublayerCapture]
) -> Tensor:
    self_attention = _with_attention(layer.self_attention, None, source_mask)
    x = _capture_sublayer(f"{number}.self", layer.around_attention, x, self_attention, sublayers)
    return _capture_sublayer(
        f"{number}.ffn", layer.around_feed_forward, x, _without_attention(layer.feed_forward), sublayers
    )


def _capture_decoder_layer(
    layer: DecoderLayer,
    number: int,
    x: Tensor,
    memory: KeyValues,
    target_mask: AttentionMask,
    source_mask: AttentionMask,
    sublayers: list[SublayerCapture],
) -> Tensor:
    self_attention = _with_attention(layer.self_attention, None, target_mask)
    x = _capture_sublayer(f"{number}.self", layer.around_self_attention, x, self_attention, sublayers)
    cross_attention = _with_attention(layer.cross_attention, memory, source_mask)
    x = _capture_sublayer(f"{number}.cross", layer.around_cross_attention, x, cross_attention, sublayers)
    return _capture_sublayer(
        f"{number}.ffn", layer.around_feed_forward, x, _without_attention(layer.feed_forward), sublayers
    )


SublayerFunction = Callable[[Tensor], tuple[Tensor, AttentionCapture | None]]
"""A sublayer: input -> output, and the attention if it has one."""


def _capture_sublayer(
    name: str,
    residual: ResidualConnection,
    x: Tensor,
    function: SublayerFunction,
    sublayers: list[SublayerCapture],
) -> Tensor:
    """Run a sublayer through the model's own residual connection, which places the norm, and record it."""
    calls: list[tuple[Tensor, Tensor, AttentionCapture | None]] = []

    def sublayer(y: Tensor) -> Tensor:
        output, attention = function(y)
        calls.append((y, output, attention))
        return output

    stream = residual(x, sublayer)
    ((sublayer_input, output, attention),) = calls
    update = residual.norm(output) if residual.norm_placement == "literal" else output
    sublayers.append(SublayerCapture(name, sublayer_input[0], output[0], update[0], stream[0], attention))
    return stream


def _without_attention(feed_forward: Callable[[Tensor], Tensor]) -> SublayerFunction:
    return lambda y: (feed_forward(y), None)


def _with_attention(
    attention: MultiHeadAttention, memory: KeyValues | None, mask: AttentionMask
) -> SublayerFunction:
    """Return cross-attention over the memory, or self-attention without one."""

    def function(y: Tensor) -> tuple[Tensor, AttentionCapture]:
        key_values = attention.project_keys_values(y) if memory is None else memory
        query = attention.query(y).unflatten(-1, (attention.heads, -1)).transpose(1, 2)
        output_weight = attention.output.weight.unflatten(1, (attention.heads, -1))  # d_model heads d_k
        norms = torch.einsum("hsk,dhk->hsd", key_values.value[0], output_weight).norm(dim=-1)
        weights = attention.weights(y, key_values, mask)[0]
        return attention(y, key_values, mask), AttentionCapture(
            weights, query[0], key_values.key[0], key_values.value[0], norms
        )

    return function
