"""Encoder and decoder layers for inference: fused projections, preallocated caches, any precision.

Projections of the same input are one product. A decoder layer writes keys and values into a preallocated
cache and attends to the slots its mask, or the ancestor table, allows.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from regard.inference.linear import STORAGE_DTYPES, ComputePrecision, FusedLinear, fuse_linears
from regard.model.attention import MultiHeadAttention
from regard.model.config import NormPlacement
from regard.model.embedding import Embedding
from regard.model.layers import DecoderLayer, EncoderLayer, FeedForward, ResidualConnection

try:  # Triton comes with torch where there is a GPU
    from regard.inference import decoder_kernels
except ImportError:
    decoder_kernels = None


class StepContext(NamedTuple):
    """Position and visibility of one decoder step; our kernels read other fields than torch's attention."""

    position: Int[Tensor, ""]
    ancestors: Int[Tensor, "sentence beam time"]
    source_lengths: Int[Tensor, " sentence"]
    slots: Int[Tensor, " beam"]
    """The cache slots this step writes."""
    visible_slots: int
    """Only the first slots of the cache can be visible."""
    mask: Float[Tensor, "sentence 1 beam visible"] | None
    source_mask: Float[Tensor, "sentence 1 1 source"] | None


class FusedLayerNorm(NamedTuple):
    """Layer norm with weights in the storage precision."""

    width: list[int]
    weight: Tensor
    bias: Tensor
    epsilon: float

    def __call__(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self.width, self.weight, self.bias, self.epsilon)

    def add_and_norm(self, x: Tensor, y: Tensor) -> Tensor:
        if decoder_kernels and x.is_cuda:
            return decoder_kernels.add_layer_norm(x, y, self.weight, self.bias, self.epsilon)
        return self(x + y)


class FusedResidual(NamedTuple):
    """Residual connection and norm around a sublayer (section 3.1)."""

    norm_placement: NormPlacement
    norm: FusedLayerNorm

    def before(self, x: Tensor) -> Tensor:
        """Return the sublayer's input."""
        return self.norm(x) if self.norm_placement == "pre" else x

    def after(self, x: Tensor, out: Tensor) -> Tensor:
        """Return the result, given the sublayer's output."""
        match self.norm_placement:
            case "post":
                return self.norm.add_and_norm(x, out)
            case "pre":
                return x + out
            case "literal":
                return x + self.norm(out)


class FusedFeedForward(NamedTuple):
    """Equation 2."""

    inner: FusedLinear
    outer: FusedLinear
    use_gelu: bool

    def __call__(self, x: Float[Tensor, "row d_model"]) -> Float[Tensor, "row d_model"]:
        inner = functional.gelu(self.inner(x)) if self.use_gelu else self.inner(x, relu=True)
        return self.outer(inner)


class FusedAttention(NamedTuple):
    """Attention over keys and values that are already split into heads."""

    heads: int
    scale: float
    output: FusedLinear

    def __call__(
        self,
        query: Float[Tensor, "sentence query heads_width"],
        keys: Float[Tensor, "sentence heads slot width"],
        values: Float[Tensor, "sentence heads slot width"],
        mask: Float[Tensor, "sentence 1 #query slot"] | None,
    ) -> Float[Tensor, "row d_model"]:
        by_head = split_heads(query, self.heads)
        if query.is_cuda:
            attend = functional.scaled_dot_product_attention
            out = attend(by_head, keys, values, attn_mask=mask, scale=self.scale)
        else:  # where the fused kernel is slower for few queries
            scores = (by_head @ keys.transpose(2, 3)).mul_(self.scale)
            out = (scores if mask is None else scores.add_(mask)).softmax(dim=3) @ values
        return self.output(out.transpose(1, 2).reshape(-1, query.shape[2]))


class FusedEmbedding:
    """Token embeddings plus positions: sections 3.4 and 3.5."""

    def __init__(self, embedding: Embedding, dtype: torch.dtype) -> None:
        self._tokens = embedding.tokens.weight.detach().to(dtype)
        self._positions = embedding.positions.table.detach().to(dtype)
        self._scale = embedding.scale

    def __call__(
        self, tokens: Int[Tensor, " row"], positions: Int[Tensor, " row"]
    ) -> Float[Tensor, "row d_model"]:
        vectors = functional.embedding(positions, self._positions)
        return torch.add(vectors, functional.embedding(tokens, self._tokens), alpha=self._scale)


class FusedEncoderLayer:
    def __init__(self, layer: EncoderLayer, precision: ComputePrecision) -> None:
        attention = layer.self_attention
        self._query_key_value = fuse_linears([attention.query, attention.key, attention.value], precision)
        self._attention = _fuse_attention(attention, precision)
        self._feed_forward = _fuse_feed_forward(layer.feed_forward, precision)
        self._around_attention = _fuse_residual(layer.around_attention, precision)
        self._around_feed_forward = _fuse_residual(layer.around_feed_forward, precision)

    def __call__(
        self,
        x: Float[Tensor, "row d_model"],
        sentences: int,
        mask: Float[Tensor, "sentence 1 1 source"] | None,
    ) -> Float[Tensor, "row d_model"]:
        projected = _group_by_sentence(self._query_key_value(self._around_attention.before(x)), sentences)
        query, keys, values = projected.chunk(3, dim=2)
        keys, values = (split_heads(each, self._attention.heads) for each in (keys, values))
        x = self._around_attention.after(x, self._attention(query, keys, values, mask))
        return self._around_feed_forward.after(x, self._feed_forward(self._around_feed_forward.before(x)))


class FusedDecoderLayer:
    def __init__(self, layer: DecoderLayer, precision: ComputePrecision) -> None:
        own, cross = layer.self_attention, layer.cross_attention
        self._query_key_value = fuse_linears([own.query, own.key, own.value], precision)
        self._cross_query = fuse_linears([cross.query], precision)
        self._cross_key_value = fuse_linears([cross.key, cross.value], precision)
        self._self_attention = _fuse_attention(own, precision)
        self._cross_attention = _fuse_attention(cross, precision)
        self._feed_forward = _fuse_feed_forward(layer.feed_forward, precision)
        self._around_self_attention = _fuse_residual(layer.around_self_attention, precision)
        self._around_cross_attention = _fuse_residual(layer.around_cross_attention, precision)
        self._around_feed_forward = _fuse_residual(layer.around_feed_forward, precision)

    def project_source(
        self, encoded: Float[Tensor, "row d_model"], sentences: int
    ) -> Float[Tensor, "2 sentence heads source width"]:
        """Return the source's keys and values for cross-attention."""
        keys_and_values = _group_by_sentence(self._cross_key_value(encoded), sentences).chunk(2, dim=2)
        return torch.stack([split_heads(each, self._cross_attention.heads) for each in keys_and_values])

    def __call__(
        self,
        x: Float[Tensor, "row d_model"],
        kv_cache: Float[Tensor, "2 sentence heads slot width"],
        source_kv: Float[Tensor, "2 sentence heads source width"],
        context: StepContext,
    ) -> Float[Tensor, "row d_model"]:
        """Compute one step; its keys and values are written into `kv_cache`."""
        projected = self._query_key_value(self._around_self_attention.before(x))
        x = self._around_self_attention.after(x, self._attend_to_target(projected, kv_cache, context))
        query = self._cross_query(self._around_cross_attention.before(x))
        x = self._around_cross_attention.after(x, self._attend_to_source(query, source_kv, context))
        return self._around_feed_forward.after(x, self._feed_forward(self._around_feed_forward.before(x)))

    def _attend_to_target(
        self,
        projected: Float[Tensor, "row heads_width_3"],
        kv_cache: Float[Tensor, "2 sentence heads slot width"],
        context: StepContext,
    ) -> Float[Tensor, "row d_model"]:
        attention = self._self_attention
        if decoder_kernels and projected.is_cuda:
            heads = decoder_kernels.self_attention_step(
                projected, kv_cache, context.ancestors, context.position, attention.scale
            )
            return attention.output(heads)
        sentences, width = kv_cache.shape[1], kv_cache.shape[4]
        by_head = projected.view(sentences, -1, 3, attention.heads, width)
        keys_and_values = by_head[:, :, 1:].permute(2, 0, 3, 1, 4)
        if kv_cache.is_cuda:  # where the host does not know the position
            kv_cache.index_copy_(3, context.slots, keys_and_values)
        else:
            beam = by_head.shape[1]
            kv_cache.narrow(3, int(context.position) * beam, beam).copy_(keys_and_values)
        keys, values = kv_cache[0, :, :, : context.visible_slots], kv_cache[1, :, :, : context.visible_slots]
        return attention(by_head[:, :, 0].flatten(2), keys, values, context.mask)

    def _attend_to_source(
        self,
        query: Float[Tensor, "row heads_width"],
        source_kv: Float[Tensor, "2 sentence heads source width"],
        context: StepContext,
    ) -> Float[Tensor, "row d_model"]:
        attention = self._cross_attention
        if decoder_kernels and query.is_cuda:
            heads = decoder_kernels.cross_attention_step(
                query, source_kv, context.source_lengths, attention.scale
            )
            return attention.output(heads)
        by_sentence = _group_by_sentence(query, source_kv.shape[1])
        return attention(by_sentence, source_kv[0], source_kv[1], context.source_mask)


def split_heads(
    x: Float[Tensor, "sentence length heads_width"], heads: int
) -> Float[Tensor, "sentence heads length width"]:
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def additive_mask(
    keep: Bool[Tensor, "sentence 1 query slot"], dtype: torch.dtype
) -> Float[Tensor, "sentence 1 query slot"]:
    """Return a mask to add to attention scores: 0 where `keep`, else minus infinity."""
    return torch.zeros(keep.shape, dtype=dtype, device=keep.device).masked_fill_(~keep, -math.inf)


def fuse_layer_norm(norm: nn.LayerNorm, dtype: torch.dtype) -> FusedLayerNorm:
    weight, bias = norm.weight.detach().to(dtype), norm.bias.detach().to(dtype)
    return FusedLayerNorm(list(norm.normalized_shape), weight, bias, norm.eps)


def _group_by_sentence(
    x: Float[Tensor, "row width"], sentences: int
) -> Float[Tensor, "sentence length width"]:
    return x.view(sentences, -1, x.shape[1])


def _fuse_attention(attention: MultiHeadAttention, precision: ComputePrecision) -> FusedAttention:
    width = attention.query.out_features // attention.heads
    scale = 1 / math.sqrt(width) if attention.scale is None else attention.scale
    return FusedAttention(attention.heads, scale, fuse_linears([attention.output], precision))


def _fuse_feed_forward(feed_forward: FeedForward, precision: ComputePrecision) -> FusedFeedForward:
    inner, outer = (fuse_linears([each], precision) for each in (feed_forward.inner, feed_forward.outer))
    return FusedFeedForward(inner, outer, isinstance(feed_forward.activation, nn.GELU))


def _fuse_residual(residual: ResidualConnection, precision: ComputePrecision) -> FusedResidual:
    return FusedResidual(residual.norm_placement, fuse_layer_norm(residual.norm, STORAGE_DTYPES[precision]))
