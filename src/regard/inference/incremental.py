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

from regard.inference.linear import STORED, Linear, Precision, ready
from regard.model.attention import MultiHeadAttention
from regard.model.config import Norm
from regard.model.embedding import Embedding
from regard.model.layers import DecoderLayer, EncoderLayer, FeedForward, Residual
from regard.model.transformer import Transformer

try:  # comes with torch wherever there is a GPU to compute on
    from regard.inference import decoder_kernels
except ImportError:
    decoder_kernels = None

FIRST_ROOM = 32
"""Target tokens that there is room for at first; it doubles when it is full."""
NOBODY = -1


class Look(NamedTuple):
    """Heads look at what lies in a memory: [sentence, head, slot, width] of keys, and of values."""

    heads: int
    scale: float
    output: Linear

    def __call__(
        self,
        query: Float[Tensor, "sentence query heads_width"],
        keys: Float[Tensor, "sentence heads slot width"],
        values: Float[Tensor, "sentence heads slot width"],
        mask: Float[Tensor, "sentence 1 #query slot"] | None,
    ) -> Float[Tensor, "row d_model"]:
        asked = _split(query, self.heads)
        if query.is_cuda:
            fused = functional.scaled_dot_product_attention
            seen = fused(asked, keys, values, attn_mask=mask, scale=self.scale)
        else:  # where the fused kernel is slower for few queries
            scores = (asked @ keys.transpose(2, 3)).mul_(self.scale)
            seen = (scores if mask is None else scores.add_(mask)).softmax(dim=3) @ values
        return self.output(seen.transpose(1, 2).reshape(-1, query.shape[2]))


class Around(NamedTuple):
    """Residual and norm, where the model has them (section 3.1)."""

    place: Norm
    norm: "NormOf"

    def before(self, x: Tensor) -> Tensor:
        return self.norm(x) if self.place == "pre" else x

    def after(self, x: Tensor, out: Tensor) -> Tensor:
        match self.place:
            case "post":
                return self.norm.of_sum(x, out)
            case "pre":
                return x + out
            case "literal":
                return x + self.norm(out)


class NormOf(NamedTuple):
    """Layer norm with weights of the right precision."""

    width: list[int]
    weight: Tensor
    bias: Tensor
    epsilon: float

    def __call__(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self.width, self.weight, self.bias, self.epsilon)

    def of_sum(self, x: Tensor, y: Tensor) -> Tensor:
        if decoder_kernels and x.is_cuda:
            return decoder_kernels.add_norm(x, y, self.weight, self.bias, self.epsilon)
        return self(x + y)


class Feed(NamedTuple):
    """Equation 2."""

    inner: Linear
    outer: Linear
    gelu: bool

    def __call__(self, x: Float[Tensor, "row d_model"]) -> Float[Tensor, "row d_model"]:
        inner = functional.gelu(self.inner(x)) if self.gelu else self.inner(x, relu=True)
        return self.outer(inner)


class Here(NamedTuple):
    """Where a step writes, and what it may see; kernels of our own ask less than torch's."""

    at: Int[Tensor, ""]
    ancestors: Int[Tensor, "sentence beam time"]
    lengths: Int[Tensor, " sentence"]
    slots: Int[Tensor, " beam"]
    seen: int
    mask: Float[Tensor, "sentence 1 beam seen"] | None
    source_mask: Float[Tensor, "sentence 1 1 source"] | None


class LeanEncoderLayer:
    def __init__(self, layer: EncoderLayer, precision: Precision) -> None:
        attend = layer.self_attention
        self._asked = ready([attend.query, attend.key, attend.value], precision)
        self._look, self._feed = _look(attend, precision), _feed(layer.feed_forward, precision)
        self._around_look = _around(layer.around_attention, precision)
        self._around_feed = _around(layer.around_feed_forward, precision)

    def __call__(
        self,
        x: Float[Tensor, "row d_model"],
        sentences: int,
        mask: Float[Tensor, "sentence 1 1 source"] | None,
    ) -> Float[Tensor, "row d_model"]:
        asked = _in_sentences(self._asked(self._around_look.before(x)), sentences)
        query, keys, values = asked.chunk(3, dim=2)
        keys, values = (_split(each, self._look.heads) for each in (keys, values))
        x = self._around_look.after(x, self._look(query, keys, values, mask))
        return self._around_feed.after(x, self._feed(self._around_feed.before(x)))


class LeanDecoderLayer:
    def __init__(self, layer: DecoderLayer, precision: Precision) -> None:
        back, source = layer.self_attention, layer.cross_attention
        self._asked = ready([back.query, back.key, back.value], precision)
        self._asked_source = ready([source.query], precision)
        self._remembered = ready([source.key, source.value], precision)
        self._look_back, self._look_at_source = _look(back, precision), _look(source, precision)
        self._feed = _feed(layer.feed_forward, precision)
        self._around_back = _around(layer.around_self_attention, precision)
        self._around_source = _around(layer.around_cross_attention, precision)
        self._around_feed = _around(layer.around_feed_forward, precision)

    def remember(
        self, encoded: Float[Tensor, "row d_model"], sentences: int
    ) -> Float[Tensor, "2 sentence heads source width"]:
        """Keys and values of the source."""
        both = _in_sentences(self._remembered(encoded), sentences).chunk(2, dim=2)
        return torch.stack([_split(each, self._look_at_source.heads) for each in both])

    def __call__(
        self,
        x: Float[Tensor, "row d_model"],
        past: Float[Tensor, "2 sentence heads slot width"],
        source: Float[Tensor, "2 sentence heads source width"],
        here: Here,
    ) -> Float[Tensor, "row d_model"]:
        """Writes its keys and values to the past, and sees what is there for it to see."""
        x = self._around_back.after(x, self._back(self._asked(self._around_back.before(x)), past, here))
        query = self._asked_source(self._around_source.before(x))
        x = self._around_source.after(x, self._source(query, source, here))
        return self._around_feed.after(x, self._feed(self._around_feed.before(x)))

    def _back(
        self,
        asked: Float[Tensor, "row heads_width_3"],
        past: Float[Tensor, "2 sentence heads slot width"],
        here: Here,
    ) -> Float[Tensor, "row d_model"]:
        look = self._look_back
        if decoder_kernels and asked.is_cuda:
            return look.output(decoder_kernels.look_back(asked, past, here.ancestors, here.at, look.scale))
        sentences, width = past.shape[1], past.shape[4]
        each = asked.view(sentences, -1, 3, look.heads, width)
        keys_and_values = each[:, :, 1:].permute(2, 0, 3, 1, 4)
        if past.is_cuda:  # where only the device knows the place
            past.index_copy_(3, here.slots, keys_and_values)
        else:
            beam = each.shape[1]
            past.narrow(3, int(here.at) * beam, beam).copy_(keys_and_values)
        query = each[:, :, 0].flatten(2)
        return look(query, past[0, :, :, : here.seen], past[1, :, :, : here.seen], here.mask)

    def _source(
        self,
        query: Float[Tensor, "row heads_width"],
        source: Float[Tensor, "2 sentence heads source width"],
        here: Here,
    ) -> Float[Tensor, "row d_model"]:
        look = self._look_at_source
        if decoder_kernels and query.is_cuda:
            return look.output(decoder_kernels.look_at_source(query, source, here.lengths, look.scale))
        return look(_in_sentences(query, source.shape[1]), source[0], source[1], here.source_mask)


@dataclass(frozen=True)
class Written:
    """Where a batch of translations stands; a step writes into its tensors, so only the last counts."""

    source: tuple[Float[Tensor, "2 sentence heads source width"], ...]
    """What each decoder layer remembers of the source."""
    lengths: Int[Tensor, " sentence"]
    """Of the sources."""
    source_mask: Float[Tensor, "sentence 1 1 source"]
    past: tuple[Float[Tensor, "2 sentence heads slot width"], ...]
    """And of the target: the slot of token t of the hypothesis in place b is t * beam + b."""
    ancestors: Int[Tensor, "sentence beam time"]
    """In which place each token of a hypothesis was written; nobody where none is yet."""
    length: int = 0

    def expand(self, beam: int) -> "Written":
        """So many rows for each sentence, before the first token."""
        past = tuple(each.repeat(1, 1, 1, beam, 1) for each in self.past)
        return replace(self, past=past, ancestors=self.ancestors.repeat(1, beam, 1))

    def reorder(self, rows: Int[Tensor, " row"]) -> "Written":
        """Rows take the ancestors of others of their sentence; nothing else moves."""
        beam = self.ancestors.shape[1]
        if beam == 1:
            return self
        place = rows.unflatten(0, (-1, beam)) % beam
        return replace(self, ancestors=self.ancestors.gather(1, place[:, :, None].expand_as(self.ancestors)))

    def select(self, sentences: Int[Tensor, " chosen"]) -> "Written":
        """Those sentences, in that order, each with all its rows."""
        return Written(
            tuple(each.index_select(1, sentences) for each in self.source),
            self.lengths.index_select(0, sentences),
            self.source_mask.index_select(0, sentences),
            tuple(each.index_select(1, sentences) for each in self.past),
            self.ancestors.index_select(0, sentences),
            self.length,
        )

    def with_room(self) -> "Written":
        """Twice the room where there is none left."""
        if self.length < self.ancestors.shape[2]:
            return self
        past = tuple(torch.cat([each, torch.zeros_like(each)], dim=3) for each in self.past)
        empty = torch.full_like(self.ancestors, NOBODY)
        return replace(self, past=past, ancestors=torch.cat([self.ancestors, empty], dim=2))


class Lean:
    """A model made ready, to be searched as the model itself would be."""

    def __init__(self, model: Transformer, precision: Precision) -> None:
        self.config, self.device, self.dtype = model.config, model.output.weight.device, STORED[precision]
        self._source, self._target = (
            _Embed(each, self.dtype) for each in (model.source_embedding, model.target_embedding)
        )
        encoder = cast(Iterable[EncoderLayer], model.encoder.layers)
        decoder = cast(Iterable[DecoderLayer], model.decoder.layers)
        self._encoder = [LeanEncoderLayer(layer, precision) for layer in encoder]
        self._decoder = [LeanDecoderLayer(layer, precision) for layer in decoder]
        self._after_encoder, self._after_decoder = (
            _norm(each.norm, self.dtype) if isinstance(each.norm, nn.LayerNorm) else None
            for each in (model.encoder, model.decoder)
        )
        self._output = ready([model.output], precision)

    @property
    def longest(self) -> int:
        return self.config.max_length - 1  # one place is the end mark's

    def start(self, source: Int[Tensor, "sentence source"], keep: Bool[Tensor, "sentence source"]) -> Written:
        """Reads the source once; from here `step` writes the target token by token."""
        mask = _mask(keep[:, None, None], self.dtype)
        return self.room(self.remembered(source, mask), keep.sum(dim=1), mask, 1, FIRST_ROOM)

    def room(
        self,
        source: tuple[Float[Tensor, "2 sentence heads source width"], ...],
        lengths: Int[Tensor, " sentence"],
        mask: Float[Tensor, "sentence 1 1 source"],
        beam: int,
        times: int,
    ) -> Written:
        """Nothing written yet, and room for so many tokens."""
        sentences, heads, _, width = source[0].shape[1:]
        past = tuple(
            torch.zeros(2, sentences, heads, times * beam, width, dtype=self.dtype, device=self.device)
            for _ in source
        )
        ancestors = torch.full((sentences, beam, times), NOBODY, device=self.device)
        return Written(source, lengths, mask, past, ancestors)

    def remembered(
        self, source: Int[Tensor, "sentence source"], mask: Float[Tensor, "sentence 1 1 source"]
    ) -> tuple[Float[Tensor, "2 sentence heads source width"], ...]:
        """The source as each decoder layer sees it."""
        sentences, length = source.shape
        at = torch.arange(length, device=source.device).expand_as(source)
        x = self._source(source.flatten(), at.flatten())
        for layer in self._encoder:
            x = layer(x, sentences, mask)
        x = x if self._after_encoder is None else self._after_encoder(x)
        return tuple(layer.remember(x, sentences) for layer in self._decoder)

    def step(self, state: Written, token: Int[Tensor, " row"]) -> tuple[Float[Tensor, "row vocab"], Written]:
        """Logits of the next token of every row."""
        state = state.with_room()
        at = torch.tensor(state.length, device=self.device)
        return self.logits(state, token, at, state.length + 1), replace(state, length=state.length + 1)

    def logits(
        self, state: Written, token: Int[Tensor, " row"], at: Int[Tensor, ""], seen: int
    ) -> Float[Tensor, "row vocab"]:
        """The same with the token's place on the device; no more than `seen` places have to be looked at."""
        sentences, beam, _ = state.ancestors.shape
        place = torch.arange(beam, device=self.device)
        state.ancestors.index_copy_(2, at[None], place.expand(sentences, beam)[:, :, None])
        mask = None
        if not (decoder_kernels and at.is_cuda) and (beam > 1 or seen > state.length + 1):
            mask = _mask((state.ancestors[:, :, :seen, None] == place).flatten(2)[:, None], self.dtype)
        here = Here(
            at, state.ancestors, state.lengths, at * beam + place, seen * beam, mask, state.source_mask
        )
        x = self._target(token, at.expand(len(token)))
        for layer, past, source in zip(self._decoder, state.past, state.source, strict=True):
            x = layer(x, past, source, here)
        return self._output(x if self._after_decoder is None else self._after_decoder(x))


class _Embed:
    """Tokens and positions to vectors: section 3.4 and 3.5."""

    def __init__(self, embedding: Embedding, dtype: torch.dtype) -> None:
        self._tokens = embedding.tokens.weight.detach().to(dtype)
        self._positions = embedding.positions.table.detach().to(dtype)
        self._scale = embedding.scale

    def __call__(self, tokens: Int[Tensor, " row"], at: Int[Tensor, " row"]) -> Float[Tensor, "row d_model"]:
        positions = functional.embedding(at, self._positions)
        return torch.add(positions, functional.embedding(tokens, self._tokens), alpha=self._scale)


def _mask(
    keep: Bool[Tensor, "sentence 1 query slot"], dtype: torch.dtype
) -> Float[Tensor, "sentence 1 query slot"]:
    """What is added to scores: nothing, or minus infinity."""
    return torch.zeros(keep.shape, dtype=dtype, device=keep.device).masked_fill_(~keep, -math.inf)


def _split(
    x: Float[Tensor, "sentence length heads_width"], heads: int
) -> Float[Tensor, "sentence heads length width"]:
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def _in_sentences(x: Float[Tensor, "row width"], sentences: int) -> Float[Tensor, "sentence length width"]:
    return x.view(sentences, -1, x.shape[1])


def _look(attention: MultiHeadAttention, precision: Precision) -> Look:
    width = attention.query.out_features // attention.heads
    scale = 1 / math.sqrt(width) if attention.scale is None else attention.scale
    return Look(attention.heads, scale, ready([attention.output], precision))


def _feed(feed: FeedForward, precision: Precision) -> Feed:
    gelu = isinstance(feed.activation, nn.GELU)
    return Feed(ready([feed.inner], precision), ready([feed.outer], precision), gelu)


def _around(residual: Residual, precision: Precision) -> Around:
    return Around(residual.place, _norm(residual.norm, STORED[precision]))


def _norm(norm: nn.LayerNorm, dtype: torch.dtype) -> NormOf:
    return NormOf(
        list(norm.normalized_shape), norm.weight.detach().to(dtype), norm.bias.detach().to(dtype), norm.eps
    )
