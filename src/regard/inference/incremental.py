"""The model's arithmetic once more, as search needs it: one step after another, and nothing moved twice.

Three things make it faster than the model's own `step`, and none changes an answer by more than rounding.
Products of one input are one product. Keys and values have their place from the start instead of being
appended. And hypotheses that change places take nothing along: all those of a sentence lie in one memory,
and each sees in it what its own ancestors wrote.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from regard.inference.linear import STORAGE_DTYPES, ComputePrecision, FusedLinear, fuse_linears
from regard.model.attention import MultiHeadAttention
from regard.model.config import NormPlacement
from regard.model.embedding import Embedding
from regard.model.layers import DecoderLayer, EncoderLayer, FeedForward, ResidualConnection
from regard.model.transformer import Transformer

try:  # comes with torch wherever there is a GPU to compute on
    from regard.inference import decoder_kernels
except ImportError:
    decoder_kernels = None

INITIAL_CAPACITY = 32
"""Target tokens that there is room for at first; it doubles when it is full."""
NO_ANCESTOR = -1


class FusedAttention(NamedTuple):
    """Heads look at what lies in a memory: [sentence, head, slot, width] of keys, and of values."""

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
        asked = _split_heads(query, self.heads)
        if query.is_cuda:
            fused = functional.scaled_dot_product_attention
            seen = fused(asked, keys, values, attn_mask=mask, scale=self.scale)
        else:  # where the fused kernel is slower for few queries
            scores = (asked @ keys.transpose(2, 3)).mul_(self.scale)
            seen = (scores if mask is None else scores.add_(mask)).softmax(dim=3) @ values
        return self.output(seen.transpose(1, 2).reshape(-1, query.shape[2]))


class FusedResidual(NamedTuple):
    """Residual and norm, where the model has them (section 3.1)."""

    norm_placement: NormPlacement
    norm: "FusedLayerNorm"

    def before(self, x: Tensor) -> Tensor:
        return self.norm(x) if self.norm_placement == "pre" else x

    def after(self, x: Tensor, out: Tensor) -> Tensor:
        match self.norm_placement:
            case "post":
                return self.norm.add_and_norm(x, out)
            case "pre":
                return x + out
            case "literal":
                return x + self.norm(out)


class FusedLayerNorm(NamedTuple):
    """Layer norm with weights of the right precision."""

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


class FusedFeedForward(NamedTuple):
    """Equation 2."""

    inner: FusedLinear
    outer: FusedLinear
    use_gelu: bool

    def __call__(self, x: Float[Tensor, "row d_model"]) -> Float[Tensor, "row d_model"]:
        inner = functional.gelu(self.inner(x)) if self.use_gelu else self.inner(x, relu=True)
        return self.outer(inner)


class StepContext(NamedTuple):
    """Where a step writes, and what it may see; kernels of our own ask less than torch's."""

    position: Int[Tensor, ""]
    ancestors: Int[Tensor, "sentence beam time"]
    lengths: Int[Tensor, " sentence"]
    slots: Int[Tensor, " beam"]
    visible_slots: int
    mask: Float[Tensor, "sentence 1 beam seen"] | None
    source_mask: Float[Tensor, "sentence 1 1 source"] | None


class FusedEncoderLayer:
    def __init__(self, layer: EncoderLayer, precision: ComputePrecision) -> None:
        attend = layer.self_attention
        self._asked = fuse_linears([attend.query, attend.key, attend.value], precision)
        self._look, self._feed = (
            _fuse_attention(attend, precision),
            _fuse_feed_forward(layer.feed_forward, precision),
        )
        self._around_look = _fuse_residual(layer.around_attention, precision)
        self._around_feed = _fuse_residual(layer.around_feed_forward, precision)

    def __call__(
        self,
        x: Float[Tensor, "row d_model"],
        sentences: int,
        mask: Float[Tensor, "sentence 1 1 source"] | None,
    ) -> Float[Tensor, "row d_model"]:
        asked = _group_by_sentence(self._asked(self._around_look.before(x)), sentences)
        query, keys, values = asked.chunk(3, dim=2)
        keys, values = (_split_heads(each, self._look.heads) for each in (keys, values))
        x = self._around_look.after(x, self._look(query, keys, values, mask))
        return self._around_feed.after(x, self._feed(self._around_feed.before(x)))


class FusedDecoderLayer:
    def __init__(self, layer: DecoderLayer, precision: ComputePrecision) -> None:
        back, source = layer.self_attention, layer.cross_attention
        self._asked = fuse_linears([back.query, back.key, back.value], precision)
        self._asked_source = fuse_linears([source.query], precision)
        self._remembered = fuse_linears([source.key, source.value], precision)
        self._look_back, self._look_at_source = (
            _fuse_attention(back, precision),
            _fuse_attention(source, precision),
        )
        self._feed = _fuse_feed_forward(layer.feed_forward, precision)
        self._around_back = _fuse_residual(layer.around_self_attention, precision)
        self._around_source = _fuse_residual(layer.around_cross_attention, precision)
        self._around_feed = _fuse_residual(layer.around_feed_forward, precision)

    def project_source(
        self, encoded: Float[Tensor, "row d_model"], sentences: int
    ) -> Float[Tensor, "2 sentence heads source width"]:
        """Keys and values of the source."""
        both = _group_by_sentence(self._remembered(encoded), sentences).chunk(2, dim=2)
        return torch.stack([_split_heads(each, self._look_at_source.heads) for each in both])

    def __call__(
        self,
        x: Float[Tensor, "row d_model"],
        kv_cache: Float[Tensor, "2 sentence heads slot width"],
        source_kv: Float[Tensor, "2 sentence heads source width"],
        context: StepContext,
    ) -> Float[Tensor, "row d_model"]:
        """Writes its keys and values to the past, and sees what is there for it to see."""
        x = self._around_back.after(
            x, self._self_attention(self._asked(self._around_back.before(x)), kv_cache, context)
        )
        query = self._asked_source(self._around_source.before(x))
        x = self._around_source.after(x, self._cross_attention(query, source_kv, context))
        return self._around_feed.after(x, self._feed(self._around_feed.before(x)))

    def _self_attention(
        self,
        asked: Float[Tensor, "row heads_width_3"],
        past: Float[Tensor, "2 sentence heads slot width"],
        here: StepContext,
    ) -> Float[Tensor, "row d_model"]:
        look = self._look_back
        if decoder_kernels and asked.is_cuda:
            return look.output(
                decoder_kernels.self_attention_step(asked, past, here.ancestors, here.position, look.scale)
            )
        sentences, width = past.shape[1], past.shape[4]
        each = asked.view(sentences, -1, 3, look.heads, width)
        keys_and_values = each[:, :, 1:].permute(2, 0, 3, 1, 4)
        if past.is_cuda:  # where only the device knows the place
            past.index_copy_(3, here.slots, keys_and_values)
        else:
            beam = each.shape[1]
            past.narrow(3, int(here.position) * beam, beam).copy_(keys_and_values)
        query = each[:, :, 0].flatten(2)
        return look(
            query, past[0, :, :, : here.visible_slots], past[1, :, :, : here.visible_slots], here.mask
        )

    def _cross_attention(
        self,
        query: Float[Tensor, "row heads_width"],
        source: Float[Tensor, "2 sentence heads source width"],
        here: StepContext,
    ) -> Float[Tensor, "row d_model"]:
        look = self._look_at_source
        if decoder_kernels and query.is_cuda:
            return look.output(decoder_kernels.cross_attention_step(query, source, here.lengths, look.scale))
        return look(_group_by_sentence(query, source.shape[1]), source[0], source[1], here.source_mask)


@dataclass(frozen=True)
class IncrementalState:
    """Where a batch of translations stands; a step writes into its tensors, so only the last counts."""

    source_kv: tuple[Float[Tensor, "2 sentence heads source width"], ...]
    """What each decoder layer remembers of the source."""
    source_lengths: Int[Tensor, " sentence"]
    """Of the sources."""
    source_mask: Float[Tensor, "sentence 1 1 source"]
    kv_cache: tuple[Float[Tensor, "2 sentence heads slot width"], ...]
    """And of the target: the slot of token t of the hypothesis in place b is t * beam + b."""
    ancestors: Int[Tensor, "sentence beam time"]
    """In which place each token of a hypothesis was written; nobody where none is yet."""
    length: int = 0

    def expand(self, beam: int) -> "IncrementalState":
        """So many rows for each sentence, before the first token."""
        past = tuple(each.repeat(1, 1, 1, beam, 1) for each in self.kv_cache)
        return replace(self, kv_cache=past, ancestors=self.ancestors.repeat(1, beam, 1))

    def reorder(self, rows: Int[Tensor, " row"]) -> "IncrementalState":
        """Rows take the ancestors of others of their sentence; nothing else moves."""
        beam = self.ancestors.shape[1]
        if beam == 1:
            return self
        place = rows.unflatten(0, (-1, beam)) % beam
        return replace(self, ancestors=self.ancestors.gather(1, place[:, :, None].expand_as(self.ancestors)))

    def select(self, sentences: Int[Tensor, " chosen"]) -> "IncrementalState":
        """Those sentences, in that order, each with all its rows."""
        return IncrementalState(
            tuple(each.index_select(1, sentences) for each in self.source_kv),
            self.source_lengths.index_select(0, sentences),
            self.source_mask.index_select(0, sentences),
            tuple(each.index_select(1, sentences) for each in self.kv_cache),
            self.ancestors.index_select(0, sentences),
            self.length,
        )

    def ensure_capacity(self) -> "IncrementalState":
        """Twice the room where there is none left."""
        if self.length < self.ancestors.shape[2]:
            return self
        past = tuple(torch.cat([each, torch.zeros_like(each)], dim=3) for each in self.kv_cache)
        empty = torch.full_like(self.ancestors, NO_ANCESTOR)
        return replace(self, kv_cache=past, ancestors=torch.cat([self.ancestors, empty], dim=2))


class IncrementalDecoder:
    """A model made ready, to be searched as the model itself would be."""

    def __init__(self, model: Transformer, precision: ComputePrecision) -> None:
        self.config, self.device, self.dtype = (
            model.config,
            model.output.weight.device,
            STORAGE_DTYPES[precision],
        )
        self._source, self._target = (
            _FusedEmbedding(each, self.dtype) for each in (model.source_embedding, model.target_embedding)
        )
        encoder = cast(Iterable[EncoderLayer], model.encoder.layers)
        decoder = cast(Iterable[DecoderLayer], model.decoder.layers)
        self._encoder = [FusedEncoderLayer(layer, precision) for layer in encoder]
        self._decoder = [FusedDecoderLayer(layer, precision) for layer in decoder]
        self._after_encoder, self._after_decoder = (
            _fuse_layer_norm(each.norm, self.dtype) if isinstance(each.norm, nn.LayerNorm) else None
            for each in (model.encoder, model.decoder)
        )
        self._output = fuse_linears([model.output], precision)

    @property
    def max_tokens(self) -> int:
        return self.config.max_length - 1  # one place is the end mark's

    def start_decoding(
        self, source: Int[Tensor, "sentence source"], source_keep: Bool[Tensor, "sentence source"]
    ) -> IncrementalState:
        """Reads the source once; from here `step` writes the target token by token."""
        mask = _additive_mask(source_keep[:, None, None], self.dtype)
        return self.allocate_state(
            self.encode_source(source, mask), source_keep.sum(dim=1), mask, 1, INITIAL_CAPACITY
        )

    def allocate_state(
        self,
        source_kv: tuple[Float[Tensor, "2 sentence heads source width"], ...],
        source_lengths: Int[Tensor, " sentence"],
        source_mask: Float[Tensor, "sentence 1 1 source"],
        beam: int,
        capacity: int,
    ) -> IncrementalState:
        """Nothing written yet, and room for so many tokens."""
        sentences, heads, _, width = source_kv[0].shape[1:]
        past = tuple(
            torch.zeros(2, sentences, heads, capacity * beam, width, dtype=self.dtype, device=self.device)
            for _ in source_kv
        )
        ancestors = torch.full((sentences, beam, capacity), NO_ANCESTOR, device=self.device)
        return IncrementalState(source_kv, source_lengths, source_mask, past, ancestors)

    def encode_source(
        self, source: Int[Tensor, "sentence source"], source_mask: Float[Tensor, "sentence 1 1 source"]
    ) -> tuple[Float[Tensor, "2 sentence heads source width"], ...]:
        """The source as each decoder layer sees it."""
        sentences, length = source.shape
        at = torch.arange(length, device=source.device).expand_as(source)
        x = self._source(source.flatten(), at.flatten())
        for layer in self._encoder:
            x = layer(x, sentences, source_mask)
        x = x if self._after_encoder is None else self._after_encoder(x)
        return tuple(layer.project_source(x, sentences) for layer in self._decoder)

    def step(
        self, state: IncrementalState, token: Int[Tensor, " row"]
    ) -> tuple[Float[Tensor, "row vocab"], IncrementalState]:
        """Logits of the next token of every row."""
        state = state.ensure_capacity()
        at = torch.tensor(state.length, device=self.device)
        return self.step_logits(state, token, at, state.length + 1), replace(state, length=state.length + 1)

    def step_logits(
        self,
        state: IncrementalState,
        token: Int[Tensor, " row"],
        position: Int[Tensor, ""],
        visible_length: int,
    ) -> Float[Tensor, "row vocab"]:
        """The same with the token's place on the device; no more than `seen` places have to be looked at."""
        sentences, beam, _ = state.ancestors.shape
        place = torch.arange(beam, device=self.device)
        state.ancestors.index_copy_(2, position[None], place.expand(sentences, beam)[:, :, None])
        mask = None
        if not (decoder_kernels and position.is_cuda) and (beam > 1 or visible_length > state.length + 1):
            mask = _additive_mask(
                (state.ancestors[:, :, :visible_length, None] == place).flatten(2)[:, None], self.dtype
            )
        here = StepContext(
            position,
            state.ancestors,
            state.source_lengths,
            position * beam + place,
            visible_length * beam,
            mask,
            state.source_mask,
        )
        x = self._target(token, position.expand(len(token)))
        for layer, past, source in zip(self._decoder, state.kv_cache, state.source_kv, strict=True):
            x = layer(x, past, source, here)
        return self._output(x if self._after_decoder is None else self._after_decoder(x))


class _FusedEmbedding:
    """Tokens and positions to vectors: section 3.4 and 3.5."""

    def __init__(self, embedding: Embedding, dtype: torch.dtype) -> None:
        self._tokens = embedding.tokens.weight.detach().to(dtype)
        self._positions = embedding.positions.table.detach().to(dtype)
        self._scale = embedding.scale

    def __call__(self, tokens: Int[Tensor, " row"], at: Int[Tensor, " row"]) -> Float[Tensor, "row d_model"]:
        positions = functional.embedding(at, self._positions)
        return torch.add(positions, functional.embedding(tokens, self._tokens), alpha=self._scale)


def _additive_mask(
    keep: Bool[Tensor, "sentence 1 query slot"], dtype: torch.dtype
) -> Float[Tensor, "sentence 1 query slot"]:
    """What is added to scores: nothing, or minus infinity."""
    return torch.zeros(keep.shape, dtype=dtype, device=keep.device).masked_fill_(~keep, -math.inf)


def _split_heads(
    x: Float[Tensor, "sentence length heads_width"], heads: int
) -> Float[Tensor, "sentence heads length width"]:
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def _group_by_sentence(
    x: Float[Tensor, "row width"], sentences: int
) -> Float[Tensor, "sentence length width"]:
    return x.view(sentences, -1, x.shape[1])


def _fuse_attention(attention: MultiHeadAttention, precision: ComputePrecision) -> FusedAttention:
    width = attention.query.out_features // attention.heads
    scale = 1 / math.sqrt(width) if attention.scale is None else attention.scale
    return FusedAttention(attention.heads, scale, fuse_linears([attention.output], precision))


def _fuse_feed_forward(feed: FeedForward, precision: ComputePrecision) -> FusedFeedForward:
    gelu = isinstance(feed.activation, nn.GELU)
    return FusedFeedForward(
        fuse_linears([feed.inner], precision), fuse_linears([feed.outer], precision), gelu
    )


def _fuse_residual(residual: ResidualConnection, precision: ComputePrecision) -> FusedResidual:
    return FusedResidual(residual.norm_placement, _fuse_layer_norm(residual.norm, STORAGE_DTYPES[precision]))


def _fuse_layer_norm(norm: nn.LayerNorm, dtype: torch.dtype) -> FusedLayerNorm:
    return FusedLayerNorm(
        list(norm.normalized_shape), norm.weight.detach().to(dtype), norm.bias.detach().to(dtype), norm.eps
    )
