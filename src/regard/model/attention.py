"""Scaled dot-product attention and multi-head attention: section 3.2."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from regard.model.masks import NO_MASK, AttentionMask, PackedSequences

try:  # Triton comes with torch where there is a GPU
    from regard.model.packed_attention import packed_attention
except ImportError:
    packed_attention = None

PACKED_KERNEL_HEAD_WIDTHS = (16, 32, 64, 128)
"""Head widths that the kernels for packed sequences support."""


def attention(
    query: Float[Tensor, "batch heads query d_k"],
    key: Float[Tensor, "batch heads key d_k"],
    value: Float[Tensor, "batch heads key d_v"],
    mask: AttentionMask,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "batch heads query d_v"]:
    """Equation 1, softmax(Q K^T / sqrt(d_k)) V, by the fused kernel; zeros for a query without keys."""
    mask.check(query.shape[2], key.shape[2])
    if mask.packed is not None:
        return _packed_attention(query, key, value, *mask.packed, mask.causal, scale, dropout)
    if query.dtype == torch.bfloat16 and not query.is_cuda:  # where the fused kernel is several times slower
        weights = attention_weights(query, key, mask, scale)
        return functional.dropout(weights, dropout, training=dropout > 0) @ value
    keep = None if mask.keep is None else mask.keep[:, None]
    without_keys = None
    if keep is not None and query.is_cuda:  # cuDNN gives a query without keys a mean, and NaN gradients
        without_keys = ~keep.any(dim=-1, keepdim=True)
        keep = keep | without_keys
    out = functional.scaled_dot_product_attention(
        query, key, value, attn_mask=keep, dropout_p=dropout, is_causal=mask.causal, scale=scale
    )
    return out if without_keys is None else out.masked_fill(without_keys, 0.0)


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
    """Attention within packed sequences; on a GPU by our own kernels, which have no dropout."""
    query, key, value = (x[0].transpose(0, 1) for x in (query, key, value))
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    is_16_bit = query.dtype in (torch.bfloat16, torch.float16)
    is_supported = is_16_bit and dropout == 0.0 and query.shape[-1] in PACKED_KERNEL_HEAD_WIDTHS
    if packed_attention and query.is_cuda and is_supported:
        out = packed_attention(query, key, value, queries.starts, keys.starts, causal, scale)
        return out.transpose(0, 1)[None]
    keep = None if causal else keys.keep()
    mask = AttentionMask(None if keep is None else keep[:, None], causal)
    rows = attention(_unpack(query, queries), _unpack(key, keys), _unpack(value, keys), mask, scale, dropout)
    out = rows.transpose(1, 2).flatten(0, 1)
    out = out if queries.is_uniform else out.index_select(0, queries.padded_indices())
    return out.transpose(0, 1)[None]


def _unpack(
    x: Float[Tensor, "tokens heads width"], sequences: PackedSequences
) -> Float[Tensor, "sentences heads longest width"]:
    """Return each sequence in a padded row."""
    count, longest = len(sequences.starts) - 1, sequences.max_length
    if not sequences.is_uniform:
        x = x.new_zeros(count * longest, *x.shape[1:]).index_copy_(0, sequences.padded_indices(), x)
    return x.unflatten(0, (count, longest)).transpose(1, 2)


def attention_weights(
    query: Float[Tensor, "batch heads query d_k"],
    key: Float[Tensor, "batch heads key d_k"],
    mask: AttentionMask,
    scale: float | None = None,
) -> Float[Tensor, "batch heads query key"]:
    """Return the attention weights: the softmax of equation 1.

    Masked scores are set to minus infinity before the softmax (section 3.2.3), so their weight is exactly
    zero. The fused kernel never materializes this matrix, so it is computed here.
    """
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * scale) @ key.transpose(-2, -1)
    if mask == NO_MASK:
        return scores.softmax(dim=-1)
    masked = ~mask.to_matrix(query.shape[2], key.shape[2], query.device)[:, None]
    weights = scores.masked_fill(masked, -math.inf).softmax(dim=-1)
    without_keys = masked.all(dim=-1, keepdim=True)  # where softmax gave NaN
    if torch.compiler.is_compiling() or without_keys.any():
        weights = weights.masked_fill(without_keys, 0.0)
    return weights


def cast_for_autocast(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return x in the autocast type, so that several products share one copy instead of keeping one each.

    On a GPU training is compiled, and the compiler shares the copy.
    """
    if x.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
        return x.to(torch.get_autocast_dtype("cpu"))
    return x


class KeyValues(NamedTuple):
    """Projected keys and values, held by the caller, so that caching is not a mode of the layer."""

    key: Float[Tensor, "batch heads key d_k"]
    value: Float[Tensor, "batch heads key d_v"]

    def append(self, new: "KeyValues") -> "KeyValues":
        """Return these keys and values followed by `new`; nothing is mutated."""
        return KeyValues(torch.cat([self.key, new.key], dim=2), torch.cat([self.value, new.value], dim=2))

    def select(self, rows: Int[Tensor, " row"]) -> "KeyValues":
        """Return these rows of the batch, in this order."""
        return KeyValues(self.key.index_select(0, rows), self.value.index_select(0, rows))


class MultiHeadAttention(nn.Module):
    """Concat(head_1, ..., head_h) W^O, where head_i = attention(Q W_i^Q, K W_i^K, V W_i^V): section 3.2.2.

    W_1^Q, ..., W_h^Q are side by side in `query`, and so for the others: one product for all heads.
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
        """Return the keys and values of x."""
        x = cast_for_autocast(x)
        return KeyValues(self._split_heads(self.key(x)), self._split_heads(self.value(x)))

    def forward(
        self, x: Float[Tensor, "batch query d_model"], keys_values: KeyValues, mask: AttentionMask
    ) -> Float[Tensor, "batch query d_model"]:
        """Attend from x to keys and values of x itself, of the target so far, or of the source."""
        dropout = self.dropout if self.training else 0.0
        heads = attention(
            self._split_heads(self.query(x)), keys_values.key, keys_values.value, mask, self.scale, dropout
        )
        return self.output(heads.transpose(1, 2).flatten(2))

    def weights(
        self, x: Float[Tensor, "batch query d_model"], keys_values: KeyValues, mask: AttentionMask
    ) -> Float[Tensor, "batch heads query key"]:
        """Return the attention weights of `forward`, before dropout."""
        return attention_weights(self._split_heads(self.query(x)), keys_values.key, mask, self.scale)

    def _split_heads(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch heads length d_k"]:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
