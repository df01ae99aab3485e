"""Transformer classifier: the paper's encoder over a class token and a text, with a linear output layer."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.config import setting
from regard.errors import require_setting
from regard.model.config import LayerConfig, require_position_table
from regard.model.dropout import Dropout
from regard.model.embedding import Embedding
from regard.model.layers import init_weights
from regard.model.masks import PackedSequences, make_packed_mask
from regard.model.stacks import Encoder
from regard.model.weight_shapes import NamedShapes, linear_weight_shapes, stack_weight_shapes


@dataclass(frozen=True)
class ClassifierConfig(LayerConfig):
    """Settings of a classifier; the number of classes comes from the data."""

    vocab_size: int = setting(8_000, at_least=1, at_most=2**18)
    """Maximum vocabulary size; the tokenizer may learn fewer tokens."""
    encoder_layers: int = setting(2, at_least=1, at_most=1000)
    max_length: int = setting(512, at_least=2, at_most=2**17)
    """Longest text in tokens, class token included."""
    first_embedding: float = setting(0.1, at_most=1000.0)
    """Scale of the initial token embeddings, where 1 is the Transformer's.

    With small ones each embedding grows as far as the labels require; large ones are mostly random noise,
    which stays in the embeddings of rare words. Not in the paper.
    """
    piece_dropout: float = 0.0
    """Probability of masking a token in training, so that no single word decides; not in the paper."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_position_table(self, "max_length", self.max_length)
        scale, probability = self.first_embedding, self.piece_dropout
        require_setting(0 < scale < math.inf, "model.first_embedding", scale, "it must be a number above 0")
        advice = "it must be at least 0 and less than 1"
        require_setting(0 <= probability < 1, "model.piece_dropout", probability, advice)


def classifier_weight_shapes(config: ClassifierConfig, classes: int) -> NamedShapes:
    """Yield the weights of a `TransformerClassifier`."""
    yield "embedding.tokens.weight", (config.vocab_size, config.d_model)
    if config.position == "learned":
        yield "embedding.positions.table", (config.max_length, config.d_model)
    yield from stack_weight_shapes("encoder", config, config.encoder_layers)
    yield from linear_weight_shapes("output", config.d_model, classes)


class TransformerClassifier(nn.Module):
    """Texts to logits of labels; every text begins with the class token.

    The class token is a token of the vocabulary and not a parameter of its own, so that a batch is plain ids
    and the class token has position 0 in every table of tokens, weights and attention.
    """

    def __init__(self, config: ClassifierConfig, classes: int, mask_token: int) -> None:
        """Build a classifier; `mask_token` replaces masked tokens and occurs in no text."""
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
        """The maximum number of tokens of a text, without the class token."""
        return self.config.max_length - 1

    def forward(
        self, tokens: Int[Tensor, "1 tokens"], texts: PackedSequences
    ) -> Float[Tensor, "texts classes"]:
        """Return the logits of the labels of packed texts."""
        return self.output(self.dropout(self.class_token_states(tokens, texts)))

    def class_token_states(
        self, tokens: Int[Tensor, "1 tokens"], texts: PackedSequences
    ) -> Float[Tensor, "texts d_model"]:
        """Return the last layer's output at each class token, which attends to its whole text."""
        encoded = self.encode(self._drop_tokens(tokens, texts), texts)
        return encoded[0].index_select(0, texts.starts[:-1])

    def encode(
        self, tokens: Int[Tensor, "1 tokens"], texts: PackedSequences
    ) -> Float[Tensor, "1 tokens d_model"]:
        """Return the last layer's output at every token."""
        return self.encoder(self.embedding(tokens, texts.positions), make_packed_mask(texts, texts))

    def _drop_tokens(
        self, tokens: Int[Tensor, "1 tokens"], texts: PackedSequences
    ) -> Int[Tensor, "1 tokens"]:
        """Mask random tokens in training; the class token is never masked."""
        probability = self.config.piece_dropout
        if not self.training or probability == 0:
            return tokens
        masked = (torch.rand(tokens.shape, device=tokens.device) < probability) & (texts.positions > 0)
        return tokens.masked_fill(masked, self.mask_token)
