"""The models of the claims: Transformer, recurrent (RNN, GRU, LSTM) and convolutional encoder-decoders."""

import math
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from regard.model.config import ModelConfig
from regard.model.embedding import Embedding
from regard.model.masks import CAUSAL_MASK, NO_MASK
from regard.model.transformer import Transformer, position_ids

RecurrentKind = Literal["RNN", "GRU", "LSTM"]
LAYERS = {"RNN": nn.RNN, "GRU": nn.GRU, "LSTM": nn.LSTM}
RecurrentState = Tensor | tuple[Tensor, Tensor]


class TransformerBaseline(nn.Module):
    """The Transformer of this project, returning logits; sources are never padded, so they need no mask."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.transformer = Transformer(config)

    def forward(
        self, source: Int[Tensor, "batch source"], target_in: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        model = self.transformer
        encoded = model.encode(source, position_ids(source), NO_MASK)
        return model.output(model.decode(target_in, position_ids(target_in), encoded, CAUSAL_MASK, NO_MASK))


class RecurrentBaseline(nn.Module):
    """A recurrent encoder-decoder of torch's fused layers, returning logits.

    Attention is Luong's: after the last decoder layer, so that with a given target it is one product for all
    positions. With `input_feeding` its output is an input of the next step, as in the best recurrent
    translators, so that nothing can be fused.
    """

    def __init__(
        self,
        kind: RecurrentKind,
        vocab: int,
        width: int,
        layers: int = 2,
        attention: bool = True,
        input_feeding: bool = False,
        bidirectional: bool = True,
    ) -> None:
        """Build the layers; without attention, the last encoder state is all that the decoder knows."""
        super().__init__()
        self.bidirectional, self.input_feeding = bidirectional, input_feeding
        half = width // 2 if bidirectional else width
        self.tokens = nn.Embedding(vocab, width)
        nn.init.normal_(self.tokens.weight, std=width**-0.5)
        layer = LAYERS[kind]
        self.encoder = layer(width, half, layers, batch_first=True, bidirectional=bidirectional)
        self.decoder = layer(width * (1 + input_feeding), width, layers, batch_first=True)
        self.query = nn.Linear(width, width, bias=False) if attention else None
        self.combine = nn.Linear(2 * width, width) if attention else None

    def forward(
        self, source: Int[Tensor, "batch source"], target_in: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        memory, state = self.encoder(self._embedded(source))
        decode = self._decode_by_word if self.input_feeding else self._decode
        decoded = decode(self._embedded(target_in), self._decoder_state(state), memory)
        return functional.linear(decoded, self.tokens.weight)

    def _embedded(self, tokens: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length width"]:
        """Embed as the Transformer does: one matrix for both sides and the output, unit input variance."""
        return self.tokens(tokens) * math.sqrt(self.tokens.embedding_dim)

    def _decode(self, words: Tensor, state: RecurrentState, memory: Tensor) -> Tensor:
        states, _ = self.decoder(words, state)
        return self._attend(states, memory)

    def _decode_by_word(self, words: Tensor, state: RecurrentState, memory: Tensor) -> Tensor:
        attended, outputs = torch.zeros_like(words[:, :1]), []
        for word in words.split(1, dim=1):
            states, state = self.decoder(torch.cat([word, attended], dim=-1), state)
            attended = self._attend(states, memory)
            outputs.append(attended)
        return torch.cat(outputs, dim=1)

    def _attend(
        self, states: Float[Tensor, "batch target width"], memory: Float[Tensor, "batch source width"]
    ) -> Float[Tensor, "batch target width"]:
        if self.query is None or self.combine is None:
            return states
        context = functional.scaled_dot_product_attention(self.query(states), memory, memory)
        return self.combine(torch.cat([context, states], dim=-1)).tanh()

    def _decoder_state(self, state: RecurrentState) -> RecurrentState:
        """Return the last encoder states as the first decoder states, both directions concatenated."""
        if isinstance(state, tuple):
            hidden, cell = (self._join_directions(each) for each in state)
            return hidden, cell
        return self._join_directions(state)

    def _join_directions(
        self, state: Float[Tensor, "stacked batch half"]
    ) -> Float[Tensor, "layers batch width"]:
        if not self.bidirectional:
            return state
        return state.unflatten(0, (-1, 2)).transpose(1, 2).flatten(2).contiguous()


class GatedConvolution(nn.Module):
    """x + GLU(convolution(norm(x))), over neighbours, or with `causal` over previous positions."""

    def __init__(self, width: int, kernel: int, causal: bool) -> None:
        super().__init__()
        left = kernel - 1 if causal else kernel // 2
        self.padding = (left, kernel - 1 - left)
        self.norm = nn.LayerNorm(width)
        self.convolution = nn.Conv1d(width, 2 * width, kernel)

    def forward(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length width"]:
        y = functional.pad(self.norm(x).transpose(1, 2), self.padding)
        return x + functional.glu(self.convolution(y), dim=1).transpose(1, 2)


class SourceAttention(nn.Module):
    """x + attention over the encoder output, with one head."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def forward(
        self, x: Float[Tensor, "batch target width"], memory: Float[Tensor, "batch source width"]
    ) -> Float[Tensor, "batch target width"]:
        context = functional.scaled_dot_product_attention(self.query(self.norm(x)), memory, memory)
        return x + self.output(context)


class ConvolutionalBaseline(nn.Module):
    """A convolutional encoder-decoder after Gehring et al. (2017): gates, and attention in each layer."""

    def __init__(self, vocab: int, width: int, layers: int = 2, kernel: int = 3, longest: int = 2048) -> None:
        super().__init__()
        self.embedding = Embedding(vocab, width, "paper", longest, dropout=0.0)
        nn.init.normal_(self.embedding.tokens.weight, std=width**-0.5)
        self.encoder = nn.Sequential(*(GatedConvolution(width, kernel, causal=False) for _ in range(layers)))
        self.encoded = nn.LayerNorm(width)
        self.decoder = nn.ModuleList(GatedConvolution(width, kernel, causal=True) for _ in range(layers))
        self.source_attention = nn.ModuleList(SourceAttention(width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(
        self, source: Int[Tensor, "batch source"], target_in: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        memory = self.encoded(self.encoder(self.embedding(source, position_ids(source))))
        x = self.embedding(target_in, position_ids(target_in))
        for convolve, attend in zip(self.decoder, self.source_attention, strict=True):
            x = attend(convolve(x), memory)
        return functional.linear(self.norm(x), self.embedding.tokens.weight)
