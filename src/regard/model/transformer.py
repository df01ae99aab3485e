"""Tokens to tokens: Figure 1, whole."""

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
    """Where a translation stands: what every decoder layer remembers, and how much has been read."""

    caches: tuple[KVCache, ...]
    source_mask: AttentionMask
    position: Int[Tensor, "row 1"]
    """Of the next target token, for each row."""

    @property
    def beam(self) -> int:
        """Rows of each sentence: hypotheses that read the same source, side by side."""
        return self.position.shape[0] // self.caches[0].source.key.shape[0]

    def expand(self, beam: int) -> "DecoderState":
        """So many rows for each sentence, all as its one row was; the source is not copied."""
        rows = torch.arange(self.position.shape[0], device=self.position.device).repeat_interleave(beam)
        return self.reorder(rows)

    def reorder(self, rows: Int[Tensor, " row"]) -> "DecoderState":
        """Each row goes on from that one, of the same sentence, whose source stays where it is."""
        past = tuple(layer.reorder_target(rows) for layer in self.caches)
        return DecoderState(past, self.source_mask, self.position.index_select(0, rows))

    def select(self, sentences: Int[Tensor, " sentence"]) -> "DecoderState":
        """Those sentences, in that order, with all their rows: how search drops what is finished."""
        keep = self.source_mask.keep
        seen = AttentionMask(None if keep is None else keep.index_select(0, sentences))
        past = tuple(layer.select_source(sentences) for layer in self.caches)
        rows = sentences[:, None] * self.beam + torch.arange(self.beam, device=sentences.device)
        return DecoderState(past, seen, self.position).reorder(rows.flatten())


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
        """Tokens that a sentence has at most, on either side: one place is a mark's."""
        return self.config.max_length - 1

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        source_keep: Bool[Tensor, "batch source"],
        target_in: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        """Logits of the token after each of `target_in`, all positions in one pass (right-padded rows)."""
        visible = make_padding_mask(source_keep)
        encoded = self.encode(source, position_ids(source), visible)
        return self.output(self.decode(target_in, position_ids(target_in), encoded, CAUSAL_MASK, visible))

    def forward_packed(
        self,
        source: Int[Tensor, "1 source"],
        sources: PackedSequences,
        target_in: Int[Tensor, "1 target"],
        targets: PackedSequences,
    ) -> Float[Tensor, "1 target d_model"]:
        """The last decoder layer over many pairs that lie end to end: training's road, without padding."""
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
        """The source as the decoder will see it; `at` and `visible` say how sentences lie in the rows."""
        return self.encoder(self.source_embedding(source, positions), mask)

    def decode(
        self,
        target_in: Int[Tensor, "batch target"],
        positions: Int[Tensor, "#batch target"],
        encoded: Float[Tensor, "batch source d_model"],
        target_mask: AttentionMask,
        source_mask: AttentionMask,
    ) -> Float[Tensor, "batch target d_model"]:
        """The last decoder layer at every target position; `output` makes logits of it."""
        x = self.target_embedding(target_in, positions)
        return self.decoder(x, self.decoder.start_caches(encoded), target_mask, source_mask)[0]

    def start_decoding(
        self, source: Int[Tensor, "row source"], source_keep: Bool[Tensor, "row source"]
    ) -> DecoderState:
        """Reads the source once; from here `step` writes the target token by token."""
        visible = make_padding_mask(source_keep)
        encoded = self.encode(source, position_ids(source), visible)
        first = torch.zeros(source.shape[0], 1, dtype=torch.long, device=source.device)
        return DecoderState(self.decoder.start_caches(encoded), visible, first)

    def step(
        self, state: DecoderState, token: Int[Tensor, " row"]
    ) -> tuple[Float[Tensor, "row vocab"], DecoderState]:
        """Reads one more target token in each row: logits of the next, and where we stand then.

        The new token may see all that came before it, so nothing needs hiding.
        """
        past, source_visible, position = state
        x = self.target_embedding(token[:, None], position)
        x, past = self.decoder(x, past, NO_MASK, source_visible)
        return self.output(x[:, 0]), DecoderState(past, source_visible, position + 1)

    def _tie_embeddings(self) -> None:
        """Section 3.4: one matrix for both embeddings and the output, or as the config says."""
        if self.config.tied == "all":
            self.source_embedding.tokens.weight = self.target_embedding.tokens.weight
        if self.config.tied != "none":
            self.output.weight = self.target_embedding.tokens.weight


def position_ids(tokens: Int[Tensor, "batch length"]) -> Int[Tensor, "1 length"]:
    """0, 1, 2, ...: each row is one sequence."""
    return torch.arange(tokens.shape[1], device=tokens.device)[None]


def _make_embedding(config: ModelConfig) -> Embedding:
    return Embedding(config.vocab_size, config.d_model, config.position, config.max_length, config.dropout)
