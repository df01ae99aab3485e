"""Feed-forward (3.3), residual and norm, encoder and decoder layer (3.1)."""

from collections.abc import Callable
from typing import NamedTuple, assert_never

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.attention import KeyValues, MultiHeadAttention, cast_for_autocast
from regard.model.config import LayerConfig, NormPlacement
from regard.model.dropout import Dropout
from regard.model.masks import AttentionMask


class FeedForward(nn.Module):
    """Equation 2: max(0, x W_1 + b_1) W_2 + b_2, at each position by itself."""

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

    Two other readings of the same words are offered by name; docs/decisions/0003 says when to use them.
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
                assert_never(self.place)


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
        def look_around(y: Tensor) -> Tensor:
            y = cast_for_autocast(y)
            return self.self_attention(y, self.self_attention.project_keys_values(y), mask)

        x = self.around_attention(x, look_around)
        return self.around_feed_forward(x, self.feed_forward)


class KVCache(NamedTuple):
    """What one decoder layer remembers: the source, once per sentence, and the target so far, by row.

    A sentence has one row, or as many as it has hypotheses, side by side.
    """

    source: KeyValues
    target: KeyValues | None
    """None before the first token."""

    def reorder_target(self, rows: Int[Tensor, " row"]) -> "KVCache":
        """Those rows of the target, in that order."""
        return KVCache(self.source, None if self.target is None else self.target.select(rows))

    def select_source(self, sentences: Int[Tensor, " sentence"]) -> "KVCache":
        """Those sentences of the source, in that order."""
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
        """The new representation of x, and the past with x in it."""
        target = cache.target

        def look_back(y: Tensor) -> Tensor:
            nonlocal target
            y = cast_for_autocast(y)
            new = self.self_attention.project_keys_values(y)
            target = new if target is None else target.append(new)
            return self.self_attention(y, target, target_mask)

        def look_at_source(y: Tensor) -> Tensor:
            """The rows of a sentence ask as one sequence would: none needs its own copy of the source."""
            asked = y.reshape(cache.source.key.shape[0], -1, y.shape[-1])
            return self.cross_attention(asked, cache.source, source_mask).reshape(y.shape)

        x = self.around_self_attention(x, look_back)
        x = self.around_cross_attention(x, look_at_source)
        return self.around_feed_forward(x, self.feed_forward), KVCache(cache.source, target)


def make_attention(config: LayerConfig) -> MultiHeadAttention:
    """The attention that `config` describes; all three kinds are this one."""
    return MultiHeadAttention(
        config.d_model,
        config.heads,
        config.head_width,
        scale=config.attention_scale,
        dropout=config.attention_dropout,
    )


def make_final_norm(config: LayerConfig) -> nn.Module:
    """With pre-norm, what leaves the stack has passed no norm yet; the paper's has."""
    if config.norm == "pre":
        return nn.LayerNorm(config.d_model, eps=config.norm_epsilon)
    return nn.Identity()


def init_weights(model: nn.Module, d_model: int) -> None:
    """Xavier for matrices, zero for biases, and embeddings that sqrt(d_model) scales to unit variance."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=d_model**-0.5)
