"""Feed-forward (3.3), residual connection, encoder and decoder layer (3.1), weight initialization."""

from collections.abc import Callable
from typing import NamedTuple, assert_never

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.attention import KeyValues, MultiHeadAttention, cast_for_autocast
from regard.model.config import LayerConfig, NormPlacement
from regard.model.dropout import Dropout
from regard.model.masks import AttentionMask


class FeedForward(nn.Module):
    """Equation 2: max(0, x W_1 + b_1) W_2 + b_2, at each position separately."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.activation = nn.ReLU() if config.activation == "relu" else nn.GELU()
        self.dropout = Dropout(config.activation_dropout)
        self.outer = nn.Linear(config.d_ff, config.d_model)

    def forward(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length d_model"]:
        return self.outer(self.dropout(self.activation(self.inner(x))))


class ResidualConnection(nn.Module):
    """Section 3.1: LayerNorm(x + Sublayer(x)), with dropout on the sublayer (5.4).

    Two other norm placements are available; docs/decisions/0003 says when to use them.
    """

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.norm_placement: NormPlacement = config.norm
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_epsilon)
        self.dropout = Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "batch length d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch length d_model"]:
        match self.norm_placement:
            case "post":
                return self.norm(x + self.dropout(sublayer(x)))
            case "pre":
                return x + self.dropout(sublayer(self.norm(x)))
            case "literal":
                return x + self.norm(self.dropout(sublayer(x)))
            case _:
                assert_never(self.norm_placement)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.self_attention = make_attention(config)
        self.feed_forward = FeedForward(config)
        self.around_attention = ResidualConnection(config)
        self.around_feed_forward = ResidualConnection(config)

    def forward(
        self, x: Float[Tensor, "batch source d_model"], mask: AttentionMask
    ) -> Float[Tensor, "batch source d_model"]:
        def attend(y: Tensor) -> Tensor:
            y = cast_for_autocast(y)
            return self.self_attention(y, self.self_attention.project_keys_values(y), mask)

        x = self.around_attention(x, attend)
        return self.around_feed_forward(x, self.feed_forward)


class KVCache(NamedTuple):
    """Keys and values of one decoder layer: of the source, per sentence, and of the target so far, per row.

    A sentence has one row, or one per hypothesis, which are adjacent.
    """

    source: KeyValues
    target: KeyValues | None
    """None before the first token."""

    def reorder_target(self, rows: Int[Tensor, " row"]) -> "KVCache":
        """Return the cache with these rows of the target, in this order."""
        return KVCache(self.source, None if self.target is None else self.target.select(rows))

    def select_source(self, sentences: Int[Tensor, " sentence"]) -> "KVCache":
        """Return the cache with these sentences of the source, in this order."""
        return KVCache(self.source.select(sentences), self.target)


class DecoderLayer(nn.Module):
    """Masked self-attention, then attention over the encoder's output, then feed-forward."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.self_attention = make_attention(config)
        self.cross_attention = make_attention(config)
        self.feed_forward = FeedForward(config)
        self.around_self_attention = ResidualConnection(config)
        self.around_cross_attention = ResidualConnection(config)
        self.around_feed_forward = ResidualConnection(config)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        cache: KVCache,
        target_mask: AttentionMask,
        source_mask: AttentionMask,
    ) -> tuple[Float[Tensor, "batch target d_model"], KVCache]:
        """Return the layer's output for the new tokens x, and the cache that includes them."""
        target = cache.target

        def attend_to_target(y: Tensor) -> Tensor:
            nonlocal target
            y = cast_for_autocast(y)
            new = self.self_attention.project_keys_values(y)
            target = new if target is None else target.append(new)
            return self.self_attention(y, target, target_mask)

        def attend_to_source(y: Tensor) -> Tensor:
            """Treat the rows of a sentence as one sequence, so that they share its source."""
            by_sentence = y.reshape(cache.source.key.shape[0], -1, y.shape[-1])
            return self.cross_attention(by_sentence, cache.source, source_mask).reshape(y.shape)

        x = self.around_self_attention(x, attend_to_target)
        x = self.around_cross_attention(x, attend_to_source)
        return self.around_feed_forward(x, self.feed_forward), KVCache(cache.source, target)


def make_attention(config: LayerConfig) -> MultiHeadAttention:
    """Return multi-head attention as configured; all three uses of it are alike."""
    return MultiHeadAttention(
        config.d_model,
        config.heads,
        config.head_width,
        scale=config.attention_scale,
        dropout=config.attention_dropout,
    )


def make_final_norm(config: LayerConfig) -> nn.Module:
    """Return the norm after a stack: only pre-norm needs one, as its layers do not end in a norm."""
    if config.norm == "pre":
        return nn.LayerNorm(config.d_model, eps=config.norm_epsilon)
    return nn.Identity()


def init_weights(model: nn.Module, d_model: int) -> None:
    """Initialize matrices with Xavier, biases with 0, embeddings with standard deviation d_model^-0.5."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=d_model**-0.5)
