"""How much each head matters: the translation is read again without it, and becomes less likely or more."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.model.attention import KeyValues, MultiHeadAttention
from regard.model.layers import DecoderLayer, EncoderLayer, KVCache, ResidualConnection
from regard.model.masks import CAUSAL_MASK, AttentionMask, make_padding_mask
from regard.model.transformer import Transformer
from regard.trace.capture import AttentionCapture, ForwardCapture, SublayerCapture, capture_forward
from regard.trace.interventions import AttentionKind
from regard.trace.trace import Trace


class HeadImportance(NamedTuple):
    """One head, its layer and itself counted from 1, and what happens without it."""

    kind: AttentionKind
    layer: int
    head: int
    matters: float
    """Change of the translation's log-probability; below 0, the head helped."""


def measure_head_importance(
    model: Transformer,
    source: Int[Tensor, "1 source"],
    keep: Bool[Tensor, "1 source"],
    target_in: Int[Tensor, "1 target"],
    target_out: Int[Tensor, "1 target"],
) -> Iterator[HeadImportance]:
    """Every head by turns, those of one attention in one batch.

    All that comes before a head is the same with it and without it, so it is computed once: for
    heads of the decoder the encoder is never run again. A head's part in what its attention says is a
    sum of its own, so taking it away is a subtraction.
    """
    captured = capture_forward(model, source, keep, target_in)
    rest = _HeadAblation(model, captured, make_padding_mask(keep))
    for kind, layer in rest.attentions():
        with torch.inference_mode():  # not while somebody else has the turn
            whole = _log_probability(captured.logits, target_out[0])
            left = [
                _log_probability(model.output(model.decoder.norm(stream)), target_out[0])
                for stream in rest.without_each_head(kind, layer)
            ]
        for head, log_probability in enumerate(left, start=1):
            yield HeadImportance(kind, layer, head, log_probability - whole)


def with_head_importance(trace: Trace, measured: Iterable[HeadImportance]) -> Trace:
    """The trace that knows what was measured."""
    heads = {kind: [list(layer) for layer in layers] for kind, layers in trace.heads.items()}
    for kind, layer, head, matters in measured:
        row = heads[kind][layer - 1]
        row[head - 1] = replace(row[head - 1], matters=matters)
    return replace(trace, heads={kind: tuple(map(tuple, layers)) for kind, layers in heads.items()})


class _HeadAblation:
    """What comes after a head, for all heads of one attention side by side; layers are counted from 1."""

    def __init__(self, model: Transformer, captured: ForwardCapture, visible: AttentionMask) -> None:
        self._model, self._captured, self._visible = model, captured, visible
        self._encoder = [cast(EncoderLayer, layer) for layer in model.encoder.layers]
        self._decoder = [cast(DecoderLayer, layer) for layer in model.decoder.layers]

    def attentions(self) -> Iterator[tuple[AttentionKind, int]]:
        """All there are, in the order in which a sentence passes them."""
        for number in range(len(self._encoder)):
            yield "encoder", number + 1
        for number in range(len(self._decoder)):
            yield "decoder", number + 1
            yield "cross", number + 1

    def without_each_head(self, kind: AttentionKind, layer: int) -> Float[Tensor, "heads target d_model"]:
        """What leaves the last decoder layer without the one head or the other."""
        if kind == "encoder":
            return self._after_encoder(layer)
        memories = [past.source for past in self._model.decoder.start_caches(self._captured.encoded[None])]
        own = self._decoder[layer - 1]
        back, looked, _ = self._captured.decoder[3 * layer - 3 : 3 * layer]
        if kind == "cross":
            streams = _streams_without_each_head(
                own.around_cross_attention, own.cross_attention, back.stream, looked
            )
        else:
            x = self._captured.sublayer_input("decoder", 3 * layer - 3)
            streams = _streams_without_each_head(own.around_self_attention, own.self_attention, x, back)
            streams = self._look_at_source(own, streams, memories[layer - 1])
        return self._after_decoder(own, streams, layer, memories)

    def _after_encoder(self, layer: int) -> Tensor:
        own, captured = self._encoder[layer - 1], self._captured
        place = 2 * layer - 2
        x = captured.sublayer_input("encoder", place)
        streams = _streams_without_each_head(
            own.around_attention, own.self_attention, x, captured.encoder[place]
        )
        streams = own.around_feed_forward(streams, own.feed_forward)
        for later in self._encoder[layer:]:
            streams = later(streams, self._visible)
        past = self._model.decoder.start_caches(self._model.encoder.norm(streams))
        x = captured.target_embedded.expand(len(streams), -1, -1)
        for later, seen in zip(self._decoder, past, strict=True):
            x, _ = later(x, seen, CAUSAL_MASK, self._visible)
        return x

    def _after_decoder(
        self, layer: DecoderLayer, streams: Tensor, done: int, memories: list[KeyValues]
    ) -> Tensor:
        """From the feed-forward of this layer on; the source is read by all rows as by one sequence."""
        streams = layer.around_feed_forward(streams, layer.feed_forward)
        for later, memory in zip(self._decoder[done:], memories[done:], strict=True):
            streams, _ = later(streams, KVCache(memory, None), CAUSAL_MASK, self._visible)
        return streams

    def _look_at_source(self, layer: DecoderLayer, streams: Tensor, memory: KeyValues) -> Tensor:
        def look(y: Tensor) -> Tensor:
            return layer.cross_attention(y.flatten(0, 1)[None], memory, self._visible).view_as(y)

        return layer.around_cross_attention(streams, look)


def _streams_without_each_head(
    around: ResidualConnection,
    attention: MultiHeadAttention,
    x: Float[Tensor, "length d_model"],
    passed: SublayerCapture,
) -> Float[Tensor, "heads length d_model"]:
    """What leaves an attention, a row for each head that is taken away."""
    attended = cast(AttentionCapture, passed.attention)
    into = attention.output.weight.unflatten(1, (attention.heads, -1))  # d_model heads d_k
    parts = torch.einsum("hqk,hkv,dhv->hqd", attended.weights, attended.value, into)
    return around(x.expand_as(parts), lambda _: passed.output - parts)


def _log_probability(logits: Float[Tensor, "target vocab"], taken: Int[Tensor, " target"]) -> float:
    return float(logits.float().log_softmax(dim=1).gather(1, taken[:, None]).double().sum())
