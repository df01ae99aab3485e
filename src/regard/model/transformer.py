"""The Transformer of Figure 1: embeddings, encoder, decoder and output layer."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.model.config import ModelConfig
from regard.model.embedding import Embedding
from regard.model.layers import KVCache, init_weights
from regard.model.masks import (
    CAUSAL_MASK,
    NO_MASK,
    AttentionMask,
    PackedSequences,
    make_packed_mask,
    make_padding_mask,
)
from regard.model.stacks import Decoder, Encoder


class DecoderState(NamedTuple):
    """State of incremental decoding: the cache of every decoder layer and the position reached."""

    caches: tuple[KVCache, ...]
    source_mask: AttentionMask
    position: Int[Tensor, "row 1"]
    """The position of the next target token of each row."""

    @property
    def beam(self) -> int:
        """Rows per sentence: hypotheses that share a source, adjacent."""
        return self.position.shape[0] // self.caches[0].source.key.shape[0]

    def expand(self, beam: int) -> "DecoderState":
        """Return the state with `beam` copies of each sentence's one row; the source is not copied."""
        rows = torch.arange(self.position.shape[0], device=self.position.device).repeat_interleave(beam)
        return self.reorder(rows)

    def reorder(self, rows: Int[Tensor, " row"]) -> "DecoderState":
        """Return the state whose row i continues row `rows[i]`, of the same sentence."""
        caches = tuple(layer.reorder_target(rows) for layer in self.caches)
        return DecoderState(caches, self.source_mask, self.position.index_select(0, rows))

    def select(self, sentences: Int[Tensor, " sentence"]) -> "DecoderState":
        """Return the state of these sentences, in this order, with all their rows."""
        keep = self.source_mask.keep
        source_mask = AttentionMask(None if keep is None else keep.index_select(0, sentences))
        caches = tuple(layer.select_source(sentences) for layer in self.caches)
        rows = sentences[:, None] * self.beam + torch.arange(self.beam, device=sentences.device)
        return DecoderState(caches, source_mask, self.position).reorder(rows.flatten())


class Transformer(nn.Module):
    """Encoder, decoder, and the final linear layer whose softmax is the next token's distribution."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.source_embedding = _make_embedding(config)
        self.target_embedding = _make_embedding(config)
        self.encoder = Encoder(config, config.encoder_layers)
        self.decoder = Decoder(config, config.decoder_layers)
        self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        init_weights(self, config.d_model)
        nn.init.normal_(self.output.weight, std=config.d_model**-0.5)
        self._tie_embeddings()

    @property
    def device(self) -> torch.device:
        return self.output.weight.device

    @property
    def max_tokens(self) -> int:
        """The maximum number of tokens of a sentence, on either side, without its begin or end mark."""
        return self.config.max_tokens

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        source_keep: Bool[Tensor, "batch source"],
        target_in: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        """Return the logits of the token after each of `target_in`; rows are right-padded."""
        mask = make_padding_mask(source_keep)
        encoded = self.encode(source, position_ids(source), mask)
        return self.output(self.decode(target_in, position_ids(target_in), encoded, CAUSAL_MASK, mask))

    def forward_packed(
        self,
        source: Int[Tensor, "1 source"],
        sources: PackedSequences,
        target_in: Int[Tensor, "1 target"],
        targets: PackedSequences,
    ) -> Float[Tensor, "1 target d_model"]:
        """Return the last decoder layer's output for packed sentence pairs, as training needs it."""
        encoded = self.encode(source, sources.positions, make_packed_mask(sources, sources))
        return self.decode(
            target_in,
            targets.positions,
            encoded,
            make_packed_mask(targets, targets, causal=True),
            make_packed_mask(targets, sources),
        )

    def encode(
        self,
        source: Int[Tensor, "batch source"],
        positions: Int[Tensor, "#batch source"],
        mask: AttentionMask,
    ) -> Float[Tensor, "batch source d_model"]:
        """Return the encoder output; `positions` and `mask` describe the layout of sentences in the rows."""
        return self.encoder(self.source_embedding(source, positions), mask)

    def decode(
        self,
        target_in: Int[Tensor, "batch target"],
        positions: Int[Tensor, "#batch target"],
        encoded: Float[Tensor, "batch source d_model"],
        target_mask: AttentionMask,
        source_mask: AttentionMask,
    ) -> Float[Tensor, "batch target d_model"]:
        """Return the last decoder layer's output at every target position; `output` maps it to logits."""
        x = self.target_embedding(target_in, positions)
        return self.decoder(x, self.decoder.start_caches(encoded), target_mask, source_mask)[0]

    def start_decoding(
        self, source: Int[Tensor, "row source"], source_keep: Bool[Tensor, "row source"]
    ) -> DecoderState:
        """Encode the source; `step` then decodes the target token by token."""
        mask = make_padding_mask(source_keep)
        encoded = self.encode(source, position_ids(source), mask)
        first = torch.zeros(source.shape[0], 1, dtype=torch.long, device=source.device)
        return DecoderState(self.decoder.start_caches(encoded), mask, first)

    def step(
        self, state: DecoderState, token: Int[Tensor, " row"]
    ) -> tuple[Float[Tensor, "row vocab"], DecoderState]:
        """Return the logits of the token after `token` in each row, and the state that includes `token`.

        The new token may attend to the whole cache, so no causal mask is needed.
        """
        caches, source_mask, position = state
        x = self.target_embedding(token[:, None], position)
        x, caches = self.decoder(x, caches, NO_MASK, source_mask)
        return self.output(x[:, 0]), DecoderState(caches, source_mask, position + 1)

    def _tie_embeddings(self) -> None:
        """Share one matrix between both embeddings and the output (section 3.4), or as configured."""
        if self.config.tied == "all":
            self.source_embedding.tokens.weight = self.target_embedding.tokens.weight
        if self.config.tied != "none":
            self.output.weight = self.target_embedding.tokens.weight


def position_ids(tokens: Int[Tensor, "batch length"]) -> Int[Tensor, "1 length"]:
    """Return the positions 0, 1, 2, ... of rows that are one sequence each."""
    return torch.arange(tokens.shape[1], device=tokens.device)[None]


def _make_embedding(config: ModelConfig) -> Embedding:
    return Embedding(config.vocab_size, config.d_model, config.position, config.max_length, config.dropout)
