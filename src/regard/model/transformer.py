"""Tokens to tokens: Figure 1, whole."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.model.config import ModelConfig
from regard.model.embedding import Embedding
from regard.model.layers import Past, first_weights
from regard.model.masks import CAUSAL, EVERYTHING, Segments, Visible, packed, padded
from regard.model.stacks import Decoder, Encoder


class Decoding(NamedTuple):
    """Where a translation stands: what every decoder layer remembers, and how much has been read."""

    past: tuple[Past, ...]
    source_visible: Visible
    position: Int[Tensor, "row 1"]
    """Of the next target token, for each row."""

    @property
    def beam(self) -> int:
        """Rows of each sentence: hypotheses that read the same source, side by side."""
        return self.position.shape[0] // self.past[0].source.key.shape[0]

    def expand(self, beam: int) -> "Decoding":
        """So many rows for each sentence, all as its one row was; the source is not copied."""
        rows = torch.arange(self.position.shape[0], device=self.position.device).repeat_interleave(beam)
        return self.reorder(rows)

    def reorder(self, rows: Int[Tensor, " row"]) -> "Decoding":
        """Each row goes on from that one, of the same sentence, whose source stays where it is."""
        past = tuple(layer.reorder(rows) for layer in self.past)
        return Decoding(past, self.source_visible, self.position.index_select(0, rows))

    def select(self, sentences: Int[Tensor, " sentence"]) -> "Decoding":
        """Those sentences, in that order, with all their rows: how search drops what is finished."""
        keep = self.source_visible.keep
        seen = Visible(None if keep is None else keep.index_select(0, sentences))
        past = tuple(layer.select_source(sentences) for layer in self.past)
        rows = sentences[:, None] * self.beam + torch.arange(self.beam, device=sentences.device)
        return Decoding(past, seen, self.position).reorder(rows.flatten())


class Transformer(nn.Module):
    """Encoder, decoder, and the final linear layer whose softmax is the next token's distribution."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.source_embedding = _embedding(config)
        self.target_embedding = _embedding(config)
        self.encoder = Encoder(config, config.encoder_layers)
        self.decoder = Decoder(config, config.decoder_layers)
        self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        first_weights(self, config.d_model)
        nn.init.normal_(self.output.weight, std=config.d_model**-0.5)
        self._tie()

    @property
    def device(self) -> torch.device:
        return self.output.weight.device

    @property
    def longest(self) -> int:
        """Tokens that a sentence has at most, on either side: one place is a mark's."""
        return self.config.max_length - 1

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        source_keep: Bool[Tensor, "batch source"],
        target_in: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        """Logits of the token after each of `target_in`, all positions in one pass (right-padded rows)."""
        visible = padded(source_keep)
        encoded = self.encode(source, positions(source), visible)
        return self.output(self.decode(target_in, positions(target_in), encoded, CAUSAL, visible))

    def packed(
        self,
        source: Int[Tensor, "1 source"],
        sources: Segments,
        target_in: Int[Tensor, "1 target"],
        targets: Segments,
    ) -> Float[Tensor, "1 target d_model"]:
        """The last decoder layer over many pairs that lie end to end: training's road, without padding."""
        encoded = self.encode(source, sources.at, packed(sources, sources))
        return self.decode(
            target_in, targets.at, encoded, packed(targets, targets, causal=True), packed(targets, sources)
        )

    def encode(
        self,
        source: Int[Tensor, "batch source"],
        at: Int[Tensor, "#batch source"],
        visible: Visible,
    ) -> Float[Tensor, "batch source d_model"]:
        """The source as the decoder will see it; `at` and `visible` say how sentences lie in the rows."""
        return self.encoder(self.source_embedding(source, at), visible)

    def decode(
        self,
        target_in: Int[Tensor, "batch target"],
        at: Int[Tensor, "#batch target"],
        encoded: Float[Tensor, "batch source d_model"],
        target_visible: Visible,
        source_visible: Visible,
    ) -> Float[Tensor, "batch target d_model"]:
        """The last decoder layer at every target position; `output` makes logits of it."""
        x = self.target_embedding(target_in, at)
        return self.decoder(x, self.decoder.start(encoded), target_visible, source_visible)[0]

    def start(self, source: Int[Tensor, "row source"], source_keep: Bool[Tensor, "row source"]) -> Decoding:
        """Reads the source once; from here `step` writes the target token by token."""
        visible = padded(source_keep)
        encoded = self.encode(source, positions(source), visible)
        first = torch.zeros(source.shape[0], 1, dtype=torch.long, device=source.device)
        return Decoding(self.decoder.start(encoded), visible, first)

    def step(
        self, decoding: Decoding, token: Int[Tensor, " row"]
    ) -> tuple[Float[Tensor, "row vocab"], Decoding]:
        """Reads one more target token in each row: logits of the next, and where we stand then.

        The new token may see all that came before it, so nothing needs hiding.
        """
        past, source_visible, position = decoding
        x = self.target_embedding(token[:, None], position)
        x, past = self.decoder(x, past, EVERYTHING, source_visible)
        return self.output(x[:, 0]), Decoding(past, source_visible, position + 1)

    def _tie(self) -> None:
        """Section 3.4: one matrix for both embeddings and the output, or as the config says."""
        if self.config.tied == "all":
            self.source_embedding.tokens.weight = self.target_embedding.tokens.weight
        if self.config.tied != "none":
            self.output.weight = self.target_embedding.tokens.weight


def positions(tokens: Int[Tensor, "batch length"]) -> Int[Tensor, "1 length"]:
    """0, 1, 2, ...: each row is one sequence."""
    return torch.arange(tokens.shape[1], device=tokens.device)[None]


def _embedding(config: ModelConfig) -> Embedding:
    return Embedding(config.vocab_size, config.d_model, config.position, config.max_length, config.dropout)
