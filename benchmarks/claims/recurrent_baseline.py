"""RNN, GRU and LSTM encoder-decoders, in the form that is quickest to train.

Encoder and decoder are torch's own fused layers. Attention is Luong's: asked after the decoder's last
layer, so that with the target given it is one product for all words. With `feeding` its answer
goes into the next step, as Bahdanau's and Luong's best systems have it, and nothing is left to fuse.
"""

import math
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

RecurrentKind = Literal["RNN", "GRU", "LSTM"]
LAYERS = {"RNN": nn.RNN, "GRU": nn.GRU, "LSTM": nn.LSTM}
RecurrentState = Tensor | tuple[Tensor, Tensor]


class RecurrentBaseline(nn.Module):
    """Scores of every next target token, from states that are passed on word by word."""

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
        """Without attention the decoder knows of the source what the last state says, and no more."""
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
        said = decode(self._embedded(target_in), self._decoder_state(state), memory)
        return functional.linear(said, self.tokens.weight)

    def _embedded(self, tokens: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length width"]:
        """As in the Transformer: one matrix for both sides and the output, and unit variance going in."""
        return self.tokens(tokens) * math.sqrt(self.tokens.embedding_dim)

    def _decode(self, words: Tensor, state: RecurrentState, memory: Tensor) -> Tensor:
        states, _ = self.decoder(words, state)
        return self._attend(states, memory)

    def _decode_by_word(self, words: Tensor, state: RecurrentState, memory: Tensor) -> Tensor:
        told, said = torch.zeros_like(words[:, :1]), []
        for word in words.split(1, dim=1):
            states, state = self.decoder(torch.cat([word, told], dim=-1), state)
            told = self._attend(states, memory)
            said.append(told)
        return torch.cat(said, dim=1)

    def _attend(
        self, states: Float[Tensor, "batch target width"], memory: Float[Tensor, "batch source width"]
    ) -> Float[Tensor, "batch target width"]:
        if self.query is None or self.combine is None:
            return states
        found = functional.scaled_dot_product_attention(self.query(states), memory, memory)
        return self.combine(torch.cat([found, states], dim=-1)).tanh()

    def _decoder_state(self, state: RecurrentState) -> RecurrentState:
        """The encoder's last states as the decoder's first: both directions side by side."""
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
