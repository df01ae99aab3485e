"""Incremental decoder: the model's forward pass, one target token per step, for search.

It is faster than the model's own `step`, with equal results up to rounding. Projections are fused. The KV
cache is preallocated instead of concatenated. Reordering hypotheses copies no cache: all hypotheses of a
sentence share one, and an ancestor table says which slots each of them attends to.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.inference.fused_layers import (
    FusedDecoderLayer,
    FusedEmbedding,
    FusedEncoderLayer,
    StepContext,
    additive_mask,
    decoder_kernels,
    fuse_layer_norm,
)
from regard.inference.linear import STORAGE_DTYPES, ComputePrecision, fuse_linears
from regard.model.layers import DecoderLayer, EncoderLayer
from regard.model.transformer import Transformer

INITIAL_CAPACITY = 32
"""Target tokens the KV cache has room for at first; its size doubles when it is full."""
NO_ANCESTOR = -1


@dataclass(frozen=True)
class IncrementalState:
    """The decoder state of a batch; a step writes into its tensors, so only the newest state is valid."""

    source_kv: tuple[Float[Tensor, "2 sentence heads source width"], ...]
    """Keys and values of the source, per decoder layer."""
    source_lengths: Int[Tensor, " sentence"]
    source_mask: Float[Tensor, "sentence 1 1 source"]
    kv_cache: tuple[Float[Tensor, "2 sentence heads slot width"], ...]
    """Keys and values of the target: token t of the hypothesis in beam slot b is in slot t * beam + b."""
    ancestors: Int[Tensor, "sentence beam time"]
    """The beam slot in which each token of a hypothesis was written; `NO_ANCESTOR` from `length` on."""
    length: int = 0

    def expand(self, beam: int) -> "IncrementalState":
        """Return a state with `beam` rows per sentence; valid before the first step."""
        kv_cache = tuple(layer.repeat(1, 1, 1, beam, 1) for layer in self.kv_cache)
        return replace(self, kv_cache=kv_cache, ancestors=self.ancestors.repeat(1, beam, 1))

    def reorder(self, rows: Int[Tensor, " row"]) -> "IncrementalState":
        """Give each row the ancestors of row `rows[i]`, which belongs to the same sentence."""
        beam = self.ancestors.shape[1]
        if beam == 1:
            return self
        slot = rows.unflatten(0, (-1, beam)) % beam
        return replace(self, ancestors=self.ancestors.gather(1, slot[:, :, None].expand_as(self.ancestors)))

    def select(self, sentences: Int[Tensor, " chosen"]) -> "IncrementalState":
        """Return these sentences, in this order, each with all its rows."""
        return IncrementalState(
            tuple(layer.index_select(1, sentences) for layer in self.source_kv),
            self.source_lengths.index_select(0, sentences),
            self.source_mask.index_select(0, sentences),
            tuple(layer.index_select(1, sentences) for layer in self.kv_cache),
            self.ancestors.index_select(0, sentences),
            self.length,
        )

    def ensure_capacity(self) -> "IncrementalState":
        """Double the KV cache if it is full."""
        if self.length < self.ancestors.shape[2]:
            return self
        kv_cache = tuple(torch.cat([layer, torch.zeros_like(layer)], dim=3) for layer in self.kv_cache)
        empty = torch.full_like(self.ancestors, NO_ANCESTOR)
        return replace(self, kv_cache=kv_cache, ancestors=torch.cat([self.ancestors, empty], dim=2))


class IncrementalDecoder:
    """A `Transformer` prepared for search, in any precision; its weights are copied."""

    def __init__(self, model: Transformer, precision: ComputePrecision) -> None:
        self.config, self.device = model.config, model.output.weight.device
        self.dtype = STORAGE_DTYPES[precision]
        self._source_embedding = FusedEmbedding(model.source_embedding, self.dtype)
        self._target_embedding = FusedEmbedding(model.target_embedding, self.dtype)
        encoder = cast(Iterable[EncoderLayer], model.encoder.layers)
        decoder = cast(Iterable[DecoderLayer], model.decoder.layers)
        self._encoder = [FusedEncoderLayer(layer, precision) for layer in encoder]
        self._decoder = [FusedDecoderLayer(layer, precision) for layer in decoder]
        self._encoder_norm, self._decoder_norm = (
            fuse_layer_norm(stack.norm, self.dtype) if isinstance(stack.norm, nn.LayerNorm) else None
            for stack in (model.encoder, model.decoder)
        )
        self._output = fuse_linears([model.output], precision)

    @property
    def max_tokens(self) -> int:
        return self.config.max_tokens

    def start_decoding(
        self, source: Int[Tensor, "sentence source"], source_keep: Bool[Tensor, "sentence source"]
    ) -> IncrementalState:
        """Encode the source; `step` then decodes the target token by token.

        Tokens between others may be hidden, too.
        """
        mask = additive_mask(source_keep[:, None, None], self.dtype)
        source_kv = self.encode_source(source, mask)
        if bool((source_keep[:, 1:] & ~source_keep[:, :-1]).any()):
            source_keep, order = source_keep.sort(dim=1, descending=True, stable=True)  # a row, then padding
            place = order[None, :, None, :, None]
            source_kv = tuple(layer.gather(3, place.expand_as(layer)) for layer in source_kv)
            mask = additive_mask(source_keep[:, None, None], self.dtype)
        return self.allocate_state(source_kv, source_keep.sum(dim=1), mask, 1, INITIAL_CAPACITY)

    def allocate_state(
        self,
        source_kv: tuple[Float[Tensor, "2 sentence heads source width"], ...],
        source_lengths: Int[Tensor, " sentence"],
        source_mask: Float[Tensor, "sentence 1 1 source"],
        beam: int,
        capacity: int,
    ) -> IncrementalState:
        """Return a state before the first token, with room for `capacity` tokens."""
        sentences, heads, _, width = source_kv[0].shape[1:]
        kv_cache = tuple(
            torch.zeros(2, sentences, heads, capacity * beam, width, dtype=self.dtype, device=self.device)
            for _ in source_kv
        )
        ancestors = torch.full((sentences, beam, capacity), NO_ANCESTOR, device=self.device)
        return IncrementalState(source_kv, source_lengths, source_mask, kv_cache, ancestors)

    def encode_source(
        self, source: Int[Tensor, "sentence source"], source_mask: Float[Tensor, "sentence 1 1 source"]
    ) -> tuple[Float[Tensor, "2 sentence heads source width"], ...]:
        """Return the source's keys and values, per decoder layer."""
        sentences, length = source.shape
        positions = torch.arange(length, device=source.device).expand_as(source)
        x = self._source_embedding(source.flatten(), positions.flatten())
        for layer in self._encoder:
            x = layer(x, sentences, source_mask)
        x = x if self._encoder_norm is None else self._encoder_norm(x)
        return tuple(layer.project_source(x, sentences) for layer in self._decoder)

    def step(
        self, state: IncrementalState, token: Int[Tensor, " row"]
    ) -> tuple[Float[Tensor, "row vocab"], IncrementalState]:
        """Return the logits of the next token of every row, and the new state."""
        state = state.ensure_capacity()
        position, length = torch.tensor(state.length, device=self.device), state.length + 1
        return self.step_logits(state, token, position, length), replace(state, length=length)

    def step_logits(
        self,
        state: IncrementalState,
        token: Int[Tensor, " row"],
        position: Int[Tensor, ""],
        visible_length: int,
    ) -> Float[Tensor, "row vocab"]:
        """Return the logits of a step at `position`; tokens from `visible_length` on are not attended to.

        Unlike `step` it needs no position on the host, so that a CUDA graph can hold it.
        """
        sentences, beam, _ = state.ancestors.shape
        slot = torch.arange(beam, device=self.device)
        state.ancestors.index_copy_(2, position[None], slot.expand(sentences, beam)[:, :, None])
        mask = None
        if not (decoder_kernels and position.is_cuda) and (beam > 1 or visible_length > state.length + 1):
            keep = state.ancestors[:, :, :visible_length, None] == slot
            mask = additive_mask(keep.flatten(2)[:, None], self.dtype)
        context = StepContext(
            position,
            state.ancestors,
            state.source_lengths,
            position * beam + slot,
            visible_length * beam,
            mask,
            state.source_mask,
        )
        x = self._target_embedding(token, position.expand(len(token)))
        for layer, kv_cache, source_kv in zip(self._decoder, state.kv_cache, state.source_kv, strict=True):
            x = layer(x, kv_cache, source_kv, context)
        return self._output(x if self._decoder_norm is None else self._decoder_norm(x))
