"""Head importance: the change of a translation's log-probability without each head."""

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
    """The importance of one head; layer and head are counted from 1."""

    kind: AttentionKind
    layer: int
    head: int
    importance: float
    """Change of the translation's log-probability without the head; negative if the head helped."""


def measure_head_importance(
    model: Transformer,
    source: Int[Tensor, "1 source"],
    keep: Bool[Tensor, "1 source"],
    target_in: Int[Tensor, "1 target"],
    target_out: Int[Tensor, "1 target"],
) -> Iterator[HeadImportance]:
    """Measure every head in turn; the heads of one attention form one batch.

    Everything before a head is the same without it and is computed once: for decoder heads the
    encoder is never run again. Each head contributes one summand to its attention's output, so
    removing it is a subtraction.
    """
    captured = capture_forward(model, source, keep, target_in)
    ablation = _HeadAblation(model, captured, make_padding_mask(keep))
    for kind, layer in ablation.attentions():
        with torch.inference_mode():  # not across a yield: another request may run meanwhile
            full = _log_probability(captured.logits, target_out[0])
            without = [
                _log_probability(model.output(model.decoder.norm(stream)), target_out[0])
                for stream in ablation.without_each_head(kind, layer)
            ]
        for head, log_probability in enumerate(without, start=1):
            yield HeadImportance(kind, layer, head, log_probability - full)


def with_head_importance(trace: Trace, importances: Iterable[HeadImportance]) -> Trace:
    """Return the trace with the measured importance in its head summaries."""
    heads = {kind: [list(layer) for layer in layers] for kind, layers in trace.heads.items()}
    for kind, layer, head, importance in importances:
        summaries = heads[kind][layer - 1]
        summaries[head - 1] = replace(summaries[head - 1], importance=importance)
    return replace(trace, heads={kind: tuple(map(tuple, layers)) for kind, layers in heads.items()})


class _HeadAblation:
    """The rest of the model after a head, batched over the heads of one attention."""

    def __init__(self, model: Transformer, captured: ForwardCapture, source_mask: AttentionMask) -> None:
        self._model, self._captured, self._source_mask = model, captured, source_mask
        self._encoder = [cast(EncoderLayer, layer) for layer in model.encoder.layers]
        self._decoder = [cast(DecoderLayer, layer) for layer in model.decoder.layers]

    def attentions(self) -> Iterator[tuple[AttentionKind, int]]:
        """Yield kind and layer number, from 1, of every attention in order of computation."""
        for number in range(len(self._encoder)):
            yield "encoder", number + 1
        for number in range(len(self._decoder)):
            yield "decoder", number + 1
            yield "cross", number + 1

    def without_each_head(self, kind: AttentionKind, layer: int) -> Float[Tensor, "heads target d_model"]:
        """Return the decoder's last residual stream, one row for each removed head."""
        if kind == "encoder":
            return self._after_encoder(layer)
        memories = [cache.source for cache in self._model.decoder.start_caches(self._captured.encoded[None])]
        decoder_layer = self._decoder[layer - 1]
        self_attention, cross_attention, _ = self._captured.decoder[3 * layer - 3 : 3 * layer]
        if kind == "cross":
            streams = _streams_without_each_head(
                decoder_layer.around_cross_attention,
                decoder_layer.cross_attention,
                self_attention.stream,
                cross_attention,
            )
        else:
            x = self._captured.sublayer_input("decoder", 3 * layer - 3)
            streams = _streams_without_each_head(
                decoder_layer.around_self_attention, decoder_layer.self_attention, x, self_attention
            )
            streams = self._cross_attend(decoder_layer, streams, memories[layer - 1])
        return self._after_decoder(decoder_layer, streams, layer, memories)

    def _after_encoder(self, layer: int) -> Tensor:
        encoder_layer, captured = self._encoder[layer - 1], self._captured
        index = 2 * layer - 2
        x = captured.sublayer_input("encoder", index)
        streams = _streams_without_each_head(
            encoder_layer.around_attention, encoder_layer.self_attention, x, captured.encoder[index]
        )
        streams = encoder_layer.around_feed_forward(streams, encoder_layer.feed_forward)
        for later in self._encoder[layer:]:
            streams = later(streams, self._source_mask)
        caches = self._model.decoder.start_caches(self._model.encoder.norm(streams))
        x = captured.target_embedded.expand(len(streams), -1, -1)
        for later, cache in zip(self._decoder, caches, strict=True):
            x, _ = later(x, cache, CAUSAL_MASK, self._source_mask)
        return x

    def _after_decoder(
        self, layer: DecoderLayer, streams: Tensor, layer_number: int, memories: list[KeyValues]
    ) -> Tensor:
        """Continue from the feed-forward of this layer; all rows attend to the same source."""
        streams = layer.around_feed_forward(streams, layer.feed_forward)
        for later, memory in zip(self._decoder[layer_number:], memories[layer_number:], strict=True):
            streams, _ = later(streams, KVCache(memory, None), CAUSAL_MASK, self._source_mask)
        return streams

    def _cross_attend(self, layer: DecoderLayer, streams: Tensor, memory: KeyValues) -> Tensor:
        def sublayer(y: Tensor) -> Tensor:
            return layer.cross_attention(y.flatten(0, 1)[None], memory, self._source_mask).view_as(y)

        return layer.around_cross_attention(streams, sublayer)


def _streams_without_each_head(
    residual: ResidualConnection,
    attention: MultiHeadAttention,
    x: Float[Tensor, "length d_model"],
    sublayer: SublayerCapture,
) -> Float[Tensor, "heads length d_model"]:
    """Return the residual stream after an attention, one row for each removed head."""
    capture = cast(AttentionCapture, sublayer.attention)
    output_weight = attention.output.weight.unflatten(1, (attention.heads, -1))  # d_model heads d_k
    contributions = torch.einsum("hqk,hkv,dhv->hqd", capture.weights, capture.value, output_weight)
    return residual(x.expand_as(contributions), lambda _: sublayer.output - contributions)


def _log_probability(logits: Float[Tensor, "target vocab"], target: Int[Tensor, " target"]) -> float:
    return float(logits.float().log_softmax(dim=1).gather(1, target[:, None]).double().sum())
