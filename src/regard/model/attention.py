"""Scaled dot-product attention and multi-head attention: section 3.2."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from regard.model.masks import NO_MASK, AttentionMask, PackedSequences

try:  # comes with torch wherever there is a GPU to compute on
    from regard.model.packed_attention import packed_attention
except ImportError:
    packed_attention = None

PACKED_KERNEL_HEAD_WIDTHS = (16, 32, 64, 128)
"""Of heads that the kernels for packed sentences can take."""


def attention(
    query: Float[Tensor, "batch heads query d_k"],
    key: Float[Tensor, "batch heads key d_k"],
    value: Float[Tensor, "batch heads key d_v"],
    mask: AttentionMask,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "batch heads query d_v"]:
    """Equation 1, softmax(Q K^T / sqrt(d_k)) V, by the fused kernel; a query that sees nothing gets zeros."""
    mask.check(query.shape[2], key.shape[2])
    if mask.packed is not None:
        return _packed_attention(query, key, value, *mask.packed, mask.causal, scale, dropout)
    if query.dtype == torch.bfloat16 and not query.is_cuda:  # where the fused kernel is several times slower
        weights = attention_weights(query, key, mask, scale)
        return functional.dropout(weights, dropout, training=dropout > 0) @ value
    keep = None if mask.keep is None else mask.keep[:, None]
    blind = None
    if keep is not None and query.is_cuda:  # cuDNN's kernel gives such a query a mean, and NaN gradients
        blind = ~keep.any(dim=-1, keepdim=True)
        keep = keep | blind
    out = functional.scaled_dot_product_attention(
        query, key, value, attn_mask=keep, dropout_p=dropout, is_causal=mask.causal, scale=scale
    )
    return out if blind is None else out.masked_fill(blind, 0.0)


def _packed_attention(
    query: Float[Tensor, "1 heads query d_k"],
    key: Float[Tensor, "1 heads key d_k"],
    value: Float[Tensor, "1 heads key d_v"],
    queries: PackedSequences,
    keys: PackedSequences,
    causal: bool,
    scale: float | None,
    dropout: float,
) -> Float[Tensor, "1 heads query d_v"]:
    """The same over sentences that lie end to end; on a GPU by kernels of our own, which drop nothing."""
    query, key, value = (x[0].transpose(0, 1) for x in (query, key, value))
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    halved = query.dtype in (torch.bfloat16, torch.float16)
    if (
        packed_attention
        and query.is_cuda
        and halved
        and dropout == 0.0
        and query.shape[-1] in PACKED_KERNEL_HEAD_WIDTHS
    ):
        out = packed_attention(query, key, value, queries.starts, keys.starts, causal, scale)
        return out.transpose(0, 1)[None]
    keep = None if causal else keys.keep()
    visible = AttentionMask(None if keep is None else keep[:, None], causal)
    rows = attention(
        _unpack(query, queries), _unpack(key, keys), _unpack(value, keys), visible, scale, dropout
    )
    out = rows.transpose(1, 2).flatten(0, 1)
    out = out if queries.is_uniform else out.index_select(0, queries.padded_indices())
    return out.transpose(0, 1)[None]


def _unpack(
    x: Float[Tensor, "tokens heads width"], segments: PackedSequences
) -> Float[Tensor, "sentences heads longest width"]:
    """Each sentence in a padded row of its own."""
    sentences, longest = len(segments.starts) - 1, segments.max_length
    if not segments.is_uniform:
        x = x.new_zeros(sentences * longest, *x.shape[1:]).index_copy_(0, segments.padded_indices(), x)
    return x.unflatten(0, (sentences, longest)).transpose(1, 2)


def attention_weights(
    query: Float[Tensor, "batch heads query d_k"],
    key: Float[Tensor, "batch heads key d_k"],
    mask: AttentionMask,
    scale: float | None = None,
) -> Float[Tensor, "batch heads query key"]:
    """The softmax of equation 1 by itself: how much each query looks at each key.

    Masking sets the unseen to minus infinity before the softmax (section 3.2.3), so their
    weight is exactly zero. The fused kernel never holds this matrix, hence the second road.
    """
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * scale) @ key.transpose(-2, -1)
    if mask == NO_MASK:
        return scores.softmax(dim=-1)
    hidden = ~mask.to_matrix(query.shape[2], key.shape[2], query.device)[:, None]
    weights = scores.masked_fill(hidden, -math.inf).softmax(dim=-1)
    blind = hidden.all(dim=-1, keepdim=True)  # where softmax gave NaN
    if torch.compiler.is_compiling() or blind.any():
        weights = weights.masked_fill(blind, 0.0)
    return weights


def cast_for_autocast(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """x as products take it: under autocast each of them would make a copy of its own, and keep it.

    On a GPU training is compiled, and the compiler makes one.
    """
    if x.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
        return x.to(torch.get_autocast_dtype("cpu"))
    return x


class KeyValues(NamedTuple):
    """What is attended to, already projected; whoever attends holds it, so a cache is not a mode."""

    key: Float[Tensor, "batch heads key d_k"]
    value: Float[Tensor, "batch heads key d_v"]

    def append(self, new: "KeyValues") -> "KeyValues":
        """This, followed by what came next; nothing is mutated."""
        return KeyValues(torch.cat([self.key, new.key], dim=2), torch.cat([self.value, new.value], dim=2))

    def select(self, rows: Int[Tensor, " row"]) -> "KeyValues":
        """Those rows of the batch, in that order."""
        return KeyValues(self.key.index_select(0, rows), self.value.index_select(0, rows))


class MultiHeadAttention(nn.Module):
    """Concat(head_1, ..., head_h) W^O, where head_i = attention(Q W_i^Q, K W_i^K, V W_i^V): section 3.2.2.

    W_1^Q, ..., W_h^Q stand side by side in `query`, and so for the others: one product, all heads.
    """

    def __init__(
        self, d_model: int, heads: int, d_k: int, scale: float | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.heads = heads
        self.scale = scale
        self.dropout = dropout
        self.query = nn.Linear(d_model, heads * d_k)
        self.key = nn.Linear(d_model, heads * d_k)
        self.value = nn.Linear(d_model, heads * d_k)
        self.output = nn.Linear(heads * d_k, d_model)

    def project_keys_values(self, x: Float[Tensor, "batch key d_model"]) -> KeyValues:
        """x as keys (where to look) and values (what is found there)."""
        x = cast_for_autocast(x)
        return KeyValues(self._split_heads(self.key(x)), self._split_heads(self.value(x)))

    def forward(
        self, x: Float[Tensor, "batch query d_model"], keys_values: KeyValues, mask: AttentionMask
    ) -> Float[Tensor, "batch query d_model"]:
        """Each position of x asks the memory: itself, the target so far, or the source."""
        dropout = self.dropout if self.training else 0.0
        heads = attention(
            self._split_heads(self.query(x)), keys_values.key, keys_values.value, mask, self.scale, dropout
        )
        return self.output(heads.transpose(1, 2).flatten(2))

    def weights(
        self, x: Float[Tensor, "batch query d_model"], keys_values: KeyValues, mask: AttentionMask
    ) -> Float[Tensor, "batch heads query key"]:
        """What `forward` weighs the values with, before dropout."""
        return attention_weights(self._split_heads(self.query(x)), keys_values.key, mask, self.scale)

    def _split_heads(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch heads length d_k"]:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
