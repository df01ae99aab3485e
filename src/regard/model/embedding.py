"""Token embeddings with positions: section 3.4."""

import math

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.config import PositionScheme
from regard.model.dropout import Dropout
from regard.model.position import PositionalEncoding


class Embedding(nn.Module):
    """Token embedding times sqrt(d_model), plus positional encoding, then dropout."""

    def __init__(
        self, vocab_size: int, d_model: int, position: PositionScheme, max_length: int, dropout: float
    ) -> None:
        super().__init__()
        self.scale = math.sqrt(d_model)
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = PositionalEncoding(position, max_length, d_model)
        self.dropout = Dropout(dropout)

    def forward(
        self, tokens: Int[Tensor, "batch length"], positions: Int[Tensor, "#batch length"]
    ) -> Float[Tensor, "batch length d_model"]:
        return self.dropout(self.tokens(tokens) * self.scale + self.positions(positions))
