"""A class token in front of a text, the paper's encoder over both, and a label read from the class token."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import require_setting
from regard.model.config import LayerConfig, require_at_least
from regard.model.dropout import Dropout
from regard.model.embedding import Embedding
from regard.model.layers import init_weights
from regard.model.masks import PackedSequences, make_packed_mask
from regard.model.stacks import Encoder


@dataclass(frozen=True)
class ClassifierConfig(LayerConfig):
    """The sizes and choices of one classifier; the labels of the data say how many classes it has."""

    vocab_size: int = 8_000
    """Pieces; the tokenizer learns up to this many."""
    encoder_layers: int = 2
    max_length: int = 512
    """Longest text in pieces, class token included."""
    first_embedding: float = 0.1
    """How large the pieces' vectors are before the first step, where 1 is what the Transformer has.

    Small ones let each word's vector grow as far as the labels call for; large ones are mostly luck, which
    rare words keep. Not in the paper.
    """
    piece_dropout: float = 0.0
    """How often training hides a piece of the text, so that no single word decides; not in the paper."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, 1, "vocab_size", "encoder_layers")
        require_at_least(self, 2, "max_length")
        first = self.first_embedding
        require_setting(0 < first < math.inf, "model.first_embedding", first, "it must be a number above 0")
        hides, right = self.piece_dropout, "it must be at least 0 and less than 1"
        require_setting(0 <= hides < 1, "model.piece_dropout", hides, right)


class TransformerClassifier(nn.Module):
    """Texts to scores of labels; every text begins with the class token, a learned vector like any piece's.

    A piece of the vocabulary stands for it, and not a parameter of its own, so that a batch is plain ids
    and the class token has its place, position 0, in every table of pieces, weights and attention.
    """

    def __init__(self, config: ClassifierConfig, classes: int, mask_token: int) -> None:
        """`hidden` is the piece that stands where training hides one: it is never in a text."""
        super().__init__()
        self.config = config
        self.mask_token = mask_token
        self.embedding = Embedding(
            config.vocab_size, config.d_model, config.position, config.max_length, config.dropout
        )
        self.encoder = Encoder(config, config.encoder_layers)
        self.dropout = Dropout(config.dropout)
        self.output = nn.Linear(config.d_model, classes)
        init_weights(self, config.d_model)
        with torch.no_grad():
            self.embedding.tokens.weight.mul_(config.first_embedding)

    @property
    def device(self) -> torch.device:
        return self.output.weight.device

    @property
    def max_tokens(self) -> int:
        """Pieces that a text has at most: one place is the class token's."""
        return self.config.max_length - 1

    def forward(
        self, tokens: Int[Tensor, "1 tokens"], texts: PackedSequences
    ) -> Float[Tensor, "texts classes"]:
        """The scores of the labels of texts that lie end to end; a softmax makes probabilities of them."""
        return self.output(self.dropout(self.class_token_states(tokens, texts)))

    def class_token_states(
        self, tokens: Int[Tensor, "1 tokens"], texts: PackedSequences
    ) -> Float[Tensor, "texts d_model"]:
        """What the last layer makes of each class token, which has looked at its whole text by then."""
        encoded = self.encode(self._drop_tokens(tokens, texts), texts)
        return encoded[0].index_select(0, texts.starts[:-1])

    def encode(
        self, tokens: Int[Tensor, "1 tokens"], texts: PackedSequences
    ) -> Float[Tensor, "1 tokens d_model"]:
        """Every piece after the last layer."""
        return self.encoder(self.embedding(tokens, texts.positions), make_packed_mask(texts, texts))

    def _drop_tokens(
        self, tokens: Int[Tensor, "1 tokens"], texts: PackedSequences
    ) -> Int[Tensor, "1 tokens"]:
        """The pieces that training sees; the class token is never hidden."""
        share = self.config.piece_dropout
        if not self.training or share == 0:
            return tokens
        chosen = (torch.rand(tokens.shape, device=tokens.device) < share) & (texts.positions > 0)
        return tokens.masked_fill(chosen, self.mask_token)
