"""Feed-forward (3.3), residual and norm, encoder and decoder layer (3.1)."""

from collections.abc import Callable
from typing import NamedTuple, assert_never

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.attention import Memory, MultiHeadAttention, cast_once
from regard.model.config import CoreConfig, Norm
from regard.model.dropout import Dropout
from regard.model.masks import Visible


class FeedForward(nn.Module):
    """Equation 2: max(0, x W_1 + b_1) W_2 + b_2, at each position by itself."""

    def __init__(self, config: CoreConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.activation = nn.ReLU() if config.activation == "relu" else nn.GELU()
        self.dropout = Dropout(config.activation_dropout)
        self.outer = nn.Linear(config.d_ff, config.d_model)

    def forward(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length d_model"]:
        return self.outer(self.dropout(self.activation(self.inner(x))))


class Residual(nn.Module):
    """Section 3.1: LayerNorm(x + Sublayer(x)), with dropout on the sublayer (5.4).

    Two other readings of the same words are offered by name; docs/decisions/0003 says when to use them.
    """

    def __init__(self, config: CoreConfig) -> None:
        super().__init__()
        self.place: Norm = config.norm
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_epsilon)
        self.dropout = Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "batch length d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch length d_model"]:
        match self.place:
            case "post":
                return self.norm(x + self.dropout(sublayer(x)))
            case "pre":
                return x + self.dropout(sublayer(self.norm(x)))
            case "literal":
                return x + self.norm(self.dropout(sublayer(x)))
            case _:
                assert_never(self.place)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: CoreConfig) -> None:
        super().__init__()
        self.self_attention = multi_head(config)
        self.feed_forward = FeedForward(config)
        self.around_attention = Residual(config)
        self.around_feed_forward = Residual(config)

    def forward(
        self, x: Float[Tensor, "batch source d_model"], visible: Visible
    ) -> Float[Tensor, "batch source d_model"]:
        def look_around(y: Tensor) -> Tensor:
            y = cast_once(y)
            return self.self_attention(y, self.self_attention.remember(y), visible)

        x = self.around_attention(x, look_around)
        return self.around_feed_forward(x, self.feed_forward)


class Past(NamedTuple):
    """What one decoder layer remembers: the source, once per sentence, and the target so far, by row.

    A sentence has one row, or as many as it has hypotheses, side by side.
    """

    source: Memory
    target: Memory | None
    """None before the first token."""

    def reorder(self, rows: Int[Tensor, " row"]) -> "Past":
        """Those rows of the target, in that order."""
        return Past(self.source, None if self.target is None else self.target.select(rows))

    def select_source(self, sentences: Int[Tensor, " sentence"]) -> "Past":
        """Those sentences of the source, in that order."""
        return Past(self.source.select(sentences), self.target)


class DecoderLayer(nn.Module):
    """Masked self-attention, then attention over the encoder's output, then feed-forward."""

    def __init__(self, config: CoreConfig) -> None:
        super().__init__()
        self.self_attention = multi_head(config)
        self.cross_attention = multi_head(config)
        self.feed_forward = FeedForward(config)
        self.around_self_attention = Residual(config)
        self.around_cross_attention = Residual(config)
        self.around_feed_forward = Residual(config)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        past: Past,
        target_visible: Visible,
        source_visible: Visible,
    ) -> tuple[Float[Tensor, "batch target d_model"], Past]:
        """The new representation of x, and the past with x in it."""
        target = past.target

        def look_back(y: Tensor) -> Tensor:
            nonlocal target
            y = cast_once(y)
            new = self.self_attention.remember(y)
            target = new if target is None else target.then(new)
            return self.self_attention(y, target, target_visible)

        def look_at_source(y: Tensor) -> Tensor:
            """The rows of a sentence ask as one sequence would: none needs its own copy of the source."""
            asked = y.reshape(past.source.key.shape[0], -1, y.shape[-1])
            return self.cross_attention(asked, past.source, source_visible).reshape(y.shape)

        x = self.around_self_attention(x, look_back)
        x = self.around_cross_attention(x, look_at_source)
        return self.around_feed_forward(x, self.feed_forward), Past(past.source, target)


def multi_head(config: CoreConfig) -> MultiHeadAttention:
    """The attention that `config` describes; all three kinds are this one."""
    return MultiHeadAttention(
        config.d_model,
        config.heads,
        config.head_width,
        scale=config.attention_scale,
        dropout=config.attention_dropout,
    )


def final_norm(config: CoreConfig) -> nn.Module:
    """With pre-norm, what leaves the stack has passed no norm yet; the paper's has."""
    if config.norm == "pre":
        return nn.LayerNorm(config.d_model, eps=config.norm_epsilon)
    return nn.Identity()


def first_weights(model: nn.Module, d_model: int) -> None:
    """Xavier for matrices, zero for biases, and embeddings that sqrt(d_model) scales to unit variance."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=d_model**-0.5)
