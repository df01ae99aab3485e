"""One teacher-forced pass in which every sublayer is asked what it reads, weighs and says.

The causal mask makes this pass equal to writing token by token, so the search pays nothing for it.
The model is asked, not watched: nothing is left behind in it.
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
    """One attention over one sentence, all heads."""

    weights: Float[Tensor, "heads query key"]
    query: Float[Tensor, "heads query d_k"]
    key: Float[Tensor, "heads key d_k"]
    value: Float[Tensor, "heads key d_k"]
    value_norm: Float[Tensor, "heads key"]
    """Of each value times its head's part of W^O: what the key adds if all weight lies on it."""


@dataclass(frozen=True, eq=False)
class SublayerCapture:
    """A sublayer, and what passed through it."""

    name: str
    """1.self, 1.cross, 1.ffn: layers are counted from 1."""
    input: Float[Tensor, "length d_model"]
    output: Float[Tensor, "length d_model"]
    update: Float[Tensor, "length d_model"]
    """What it said, as it was added to the stream."""
    stream: Float[Tensor, "length d_model"]
    """What left it, for the next sublayer."""
    attention: AttentionCapture | None = None


@dataclass(frozen=True, eq=False)
class ForwardCapture:
    """A whole pass."""

    source_embedded: Float[Tensor, "source d_model"]
    target_embedded: Float[Tensor, "target d_model"]
    encoder: tuple[SublayerCapture, ...]
    decoder: tuple[SublayerCapture, ...]
    encoded: Float[Tensor, "source d_model"]
    """What the decoder sees of the source."""
    logits: Float[Tensor, "row vocab"]
    """Row t predicts target token t; a classifier has one, for the label."""

    def attention(self, kind: AttentionKind) -> list[AttentionCapture]:
        """Of each layer; empty for a kind that the model does not have."""
        passed = self.encoder if kind == "encoder" else self.decoder
        ending = ".cross" if kind == "cross" else ".self"
        return [each.attention for each in passed if each.attention and each.name.endswith(ending)]

    def sublayer_input(self, stack: StackName, index: int) -> Float[Tensor, "length d_model"]:
        """What entered the sublayer that has this place in its stack, counted from 0."""
        if index:
            return (self.encoder if stack == "encoder" else self.decoder)[index - 1].stream
        return self.source_embedded if stack == "encoder" else self.target_embedded

    def layer_outputs(self) -> list[Float[Tensor, "target d_model"]]:
        """What leaves each decoder layer."""
        return [each.stream for each in self.decoder if each.name.endswith(".ffn")]


@torch.inference_mode()
def capture_forward(
    model: Transformer,
    source: Int[Tensor, "1 source"],
    keep: Bool[Tensor, "1 source"],
    target_in: Int[Tensor, "1 target"],
) -> ForwardCapture:
    """The model reads the source and the target so far, all positions in one pass."""
    visible = make_padding_mask(keep)
    source_embedded = model.source_embedding(source, position_ids(source))
    encoder, encoded = capture_encoder(model.encoder, source_embedded, visible)
    target_embedded = model.target_embedding(target_in, position_ids(target_in))
    decoder, decoded = capture_decoder(model.decoder, target_embedded, encoded, CAUSAL_MASK, visible)
    return ForwardCapture(
        source_embedded[0], target_embedded[0], encoder, decoder, encoded[0], model.output(decoded)[0]
    )


@torch.inference_mode()
def capture_encoder(
    encoder: Encoder, x: Float[Tensor, "1 source d_model"], visible: AttentionMask
) -> tuple[tuple[SublayerCapture, ...], Float[Tensor, "1 source d_model"]]:
    """Every sublayer, and what leaves the stack."""
    passed: list[SublayerCapture] = []
    for number, layer in enumerate(encoder.layers, start=1):
        x = _capture_encoder_layer(cast(EncoderLayer, layer), number, x, visible, passed)
    return tuple(passed), encoder.norm(x)


@torch.inference_mode()
def capture_decoder(
    decoder: Decoder,
    x: Float[Tensor, "1 target d_model"],
    encoded: Float[Tensor, "1 source d_model"],
    target_visible: AttentionMask,
    source_visible: AttentionMask,
) -> tuple[tuple[SublayerCapture, ...], Float[Tensor, "1 target d_model"]]:
    """The same of a decoder that sees the encoder's output."""
    passed: list[SublayerCapture] = []
    for number, (layer, past) in enumerate(
        zip(decoder.layers, decoder.start_caches(encoded), strict=True), start=1
    ):
        x = _capture_decoder_layer(
            cast(DecoderLayer, layer), number, x, past.source, target_visible, source_visible, passed
        )
    return tuple(passed), decoder.norm(x)


def _capture_encoder_layer(
    layer: EncoderLayer, number: int, x: Tensor, visible: AttentionMask, passed: list[SublayerCapture]
) -> Tensor:
    look = _with_attention(layer.self_attention, None, visible)
    x = _capture_sublayer(f"{number}.self", layer.around_attention, x, look, passed)
    return _capture_sublayer(
        f"{number}.ffn", layer.around_feed_forward, x, _without_attention(layer.feed_forward), passed
    )


def _capture_decoder_layer(
    layer: DecoderLayer,
    number: int,
    x: Tensor,
    memory: KeyValues,
    target_visible: AttentionMask,
    source_visible: AttentionMask,
    passed: list[SublayerCapture],
) -> Tensor:
    look_back = _with_attention(layer.self_attention, None, target_visible)
    x = _capture_sublayer(f"{number}.self", layer.around_self_attention, x, look_back, passed)
    look_at_source = _with_attention(layer.cross_attention, memory, source_visible)
    x = _capture_sublayer(f"{number}.cross", layer.around_cross_attention, x, look_at_source, passed)
    return _capture_sublayer(
        f"{number}.ffn", layer.around_feed_forward, x, _without_attention(layer.feed_forward), passed
    )


SublayerFunction = Callable[[Tensor], tuple[Tensor, AttentionCapture | None]]
"""What a sublayer says of what it reads, and where it looked if it did."""


def _capture_sublayer(
    name: str, around: ResidualConnection, x: Tensor, say: SublayerFunction, passed: list[SublayerCapture]
) -> Tensor:
    """What leaves the sublayer; the norm is where the model has it, because the model puts it there."""
    heard: list[tuple[Tensor, Tensor, AttentionCapture | None]] = []

    def sublayer(y: Tensor) -> Tensor:
        said, attended = say(y)
        heard.append((y, said, attended))
        return said

    after = around(x, sublayer)
    ((read, said, attended),) = heard
    added = around.norm(said) if around.norm_placement == "literal" else said
    passed.append(SublayerCapture(name, read[0], said[0], added[0], after[0], attended))
    return after


def _without_attention(feed_forward: Callable[[Tensor], Tensor]) -> SublayerFunction:
    return lambda y: (feed_forward(y), None)


def _with_attention(
    attention: MultiHeadAttention, memory: KeyValues | None, visible: AttentionMask
) -> SublayerFunction:
    """Attention over the memory, or else over what is read itself."""

    def say(y: Tensor) -> tuple[Tensor, AttentionCapture]:
        seen = attention.project_keys_values(y) if memory is None else memory
        query = attention.query(y).unflatten(-1, (attention.heads, -1)).transpose(1, 2)
        into = attention.output.weight.unflatten(1, (attention.heads, -1))  # d_model heads d_k
        norms = torch.einsum("hsk,dhk->hsd", seen.value[0], into).norm(dim=-1)
        weights = attention.weights(y, seen, visible)[0]
        return attention(y, seen, visible), AttentionCapture(
            weights, query[0], seen.key[0], seen.value[0], norms
        )

    return say
