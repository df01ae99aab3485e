"""How much each head matters: the translation is read again without it, and becomes less likely or more."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.model.attention import Memory, MultiHeadAttention
from regard.model.layers import DecoderLayer, EncoderLayer, Past, Residual
from regard.model.transformer import Transformer
from regard.model.visible import CAUSAL, Visible, padded
from regard.trace.capture import Attended, Captured, Passed, capture
from regard.trace.interventions import Kind
from regard.trace.trace import Trace


class Measured(NamedTuple):
    """One head, its layer and itself counted from 1, and what happens without it."""

    kind: Kind
    layer: int
    head: int
    matters: float
    """Change of the translation's log-probability; below 0, the head helped."""


@torch.inference_mode()
def measured_heads(
    model: Transformer,
    source: Int[Tensor, "1 source"],
    keep: Bool[Tensor, "1 source"],
    target_in: Int[Tensor, "1 target"],
    target_out: Int[Tensor, "1 target"],
) -> Iterator[Measured]:
    """Every head by turns, those of one attention in one batch.

    All that comes before a head is the same with it and without it, so it is computed once: for
    heads of the decoder the encoder is never run again. A head's part in what its attention says is a
    sum of its own, so taking it away is a subtraction.
    """
    captured = capture(model, source, keep, target_in)
    whole = _log_probability(captured.logits[None], target_out)
    rest = _Rest(model, padded(keep))
    for kind, layer, streams in rest.without_each_head(captured):
        for head, stream in enumerate(streams, start=1):
            logits = model.output(model.decoder.norm(stream[None]))
            yield Measured(kind, layer, head, _log_probability(logits, target_out) - whole)


def with_matters(trace: Trace, measured: Iterable[Measured]) -> Trace:
    """The trace that knows what was measured."""
    heads = {kind: [list(layer) for layer in layers] for kind, layers in trace.heads.items()}
    for kind, layer, head, matters in measured:
        row = heads[kind][layer - 1]
        row[head - 1] = replace(row[head - 1], matters=matters)
    return replace(trace, heads={kind: tuple(map(tuple, layers)) for kind, layers in heads.items()})


class _Rest:
    """What comes after a head, for all heads of one attention side by side."""

    def __init__(self, model: Transformer, visible: Visible) -> None:
        self._model, self._visible = model, visible
        self._encoder = [cast(EncoderLayer, layer) for layer in model.encoder.layers]
        self._decoder = [cast(DecoderLayer, layer) for layer in model.decoder.layers]

    def without_each_head(
        self, captured: Captured
    ) -> Iterator[tuple[Kind, int, Float[Tensor, "heads target d_model"]]]:
        """For each attention: what leaves the last decoder layer without the one head or the other."""
        x = captured.source_embedded
        for number, layer in enumerate(self._encoder):
            looked, thought = captured.encoder[2 * number : 2 * number + 2]
            streams = _without(layer.around_attention, layer.self_attention, x, looked)
            streams = layer.around_feed_forward(streams, layer.feed_forward)
            yield "encoder", number + 1, self._after_encoder(streams, number + 1, captured)
            x = thought.stream
        memories = [past.source for past in self._model.decoder.start(captured.encoded[None])]
        x = captured.target_embedded
        for number, layer in enumerate(self._decoder):
            back, looked, thought = captured.decoder[3 * number : 3 * number + 3]
            streams = _without(layer.around_self_attention, layer.self_attention, x, back)
            streams = self._look_at_source(layer, streams, memories[number])
            yield "decoder", number + 1, self._after_decoder(layer, streams, number + 1, memories)
            streams = _without(layer.around_cross_attention, layer.cross_attention, back.stream, looked)
            yield "cross", number + 1, self._after_decoder(layer, streams, number + 1, memories)
            x = thought.stream

    def _after_encoder(self, streams: Tensor, done: int, captured: Captured) -> Tensor:
        for layer in self._encoder[done:]:
            streams = layer(streams, self._visible)
        past = self._model.decoder.start(self._model.encoder.norm(streams))
        x = captured.target_embedded.expand(len(streams), -1, -1)
        for layer, before in zip(self._decoder, past, strict=True):
            x, _ = layer(x, before, CAUSAL, self._visible)
        return x

    def _after_decoder(
        self, layer: DecoderLayer, streams: Tensor, done: int, memories: list[Memory]
    ) -> Tensor:
        """From the feed-forward of this layer on; the source is read by all rows as by one sequence."""
        streams = layer.around_feed_forward(streams, layer.feed_forward)
        for later, memory in zip(self._decoder[done:], memories[done:], strict=True):
            streams, _ = later(streams, Past(memory, None), CAUSAL, self._visible)
        return streams

    def _look_at_source(self, layer: DecoderLayer, streams: Tensor, memory: Memory) -> Tensor:
        def look(y: Tensor) -> Tensor:
            return layer.cross_attention(y.flatten(0, 1)[None], memory, self._visible).view_as(y)

        return layer.around_cross_attention(streams, look)


def _without(
    around: Residual, attention: MultiHeadAttention, x: Float[Tensor, "length d_model"], passed: Passed
) -> Float[Tensor, "heads length d_model"]:
    """What leaves an attention, a row for each head that is taken away."""
    attended = cast(Attended, passed.attended)
    into = attention.output.weight.unflatten(1, (attention.heads, -1))  # d_model heads d_k
    parts = torch.einsum("hqk,hkv,dhv->hqd", attended.weights, attended.value, into)
    return around(x.expand_as(parts), lambda _: passed.said - parts)


def _log_probability(logits: Float[Tensor, "1 target vocab"], target_out: Int[Tensor, "1 target"]) -> float:
    logs = logits.float().log_softmax(dim=-1)
    return float(logs.gather(2, target_out[:, :, None]).double().sum())
