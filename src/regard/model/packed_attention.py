"""Attention within packed sequences: Triton kernels, forward and backward, for sentences of usual length.

Kernels for long documents use tiles of 128 rows, most of which a sentence of 27 tokens leaves empty. Here a
program computes one sentence and one head: a short sentence fits in one small tile, a longer one takes
several. No two programs write to the same address, so results are deterministic.
"""

# pyright: reportMissingImports=false, reportIndexIssue=false
from typing import Any

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

SHORT_TILE, LONG_TILE = 32, 64
"""Rows of a tile: one of SHORT_TILE rows if the sentence fits, else one or more of LONG_TILE."""
UNLIMITED_LENGTH = 2**31 - 1


def packed_attention(
    query: Float[Tensor, "query heads d_k"],
    key: Float[Tensor, "key heads d_k"],
    value: Float[Tensor, "key heads d_k"],
    query_starts: Int[Tensor, " sentences_and_one"],
    key_starts: Int[Tensor, " sentences_and_one"],
    causal: bool,
    scale: float,
) -> Float[Tensor, "query heads d_k"]:
    """Equation 1 within each sentence; zeros for a query whose sentence has no key."""
    return _attend(query, key, value, query_starts, key_starts, causal, scale)[0]


@torch.library.custom_op("regard::packed_attention", mutates_args=())
def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_starts: Tensor,
    key_starts: Tensor,
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor]:
    """Return the output, and the log of each query's sum of exponentials, which the backward pass needs."""
    query, key, value = _contiguous_heads(query), _contiguous_heads(key), _contiguous_heads(value)
    out = torch.empty(query.shape, dtype=query.dtype, device=query.device)
    log_sum = torch.empty(query.shape[:2], dtype=torch.float32, device=query.device)
    tensors = (query, key, value, out, log_sum, query_starts, key_starts)
    rest = (query.stride(0), key.stride(0), value.stride(0), query.shape[1], scale)
    grid = (len(query_starts) - 1, query.shape[1])
    _forward_kernel[grid](*tensors, *rest, 0, SHORT_TILE, causal, query.shape[2], SHORT_TILE, num_warps=2)
    _forward_kernel[grid](
        *tensors, *rest, SHORT_TILE, UNLIMITED_LENGTH, causal, query.shape[2], LONG_TILE, num_warps=4
    )
    return out, log_sum


@_attend.register_fake
def _(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_starts: Tensor,
    key_starts: Tensor,
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor]:
    return query.new_empty(query.shape), query.new_empty(query.shape[:2], dtype=torch.float32)


@torch.library.custom_op("regard::packed_attention_backward", mutates_args=())
def _attend_backward(
    d_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    log_sum: Tensor,
    query_starts: Tensor,
    key_starts: Tensor,
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor]:
    query, key, value, d_out = (
        _contiguous_heads(query),
        _contiguous_heads(key),
        _contiguous_heads(value),
        d_out.contiguous(),
    )
    d_query, d_key, d_value = (
        torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (query, key, value)
    )
    tensors = (query, key, value, out, log_sum, d_out, d_query, d_key, d_value, query_starts, key_starts)
    rest = (query.stride(0), key.stride(0), value.stride(0), query.shape[1], scale)
    grid = (len(query_starts) - 1, query.shape[1])
    width = query.shape[2]
    _backward_single_tile_kernel[grid](*tensors, *rest, 0, SHORT_TILE, causal, width, SHORT_TILE, num_warps=2)
    _backward_single_tile_kernel[grid](
        *tensors, *rest, SHORT_TILE, LONG_TILE, causal, width, LONG_TILE, num_warps=4
    )
    _backward_tiled_kernel[grid](
        *tensors, *rest, LONG_TILE, UNLIMITED_LENGTH, causal, width, LONG_TILE, num_warps=4
    )
    return d_query, d_key, d_value


@_attend_backward.register_fake
def _(
    d_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    log_sum: Tensor,
    query_starts: Tensor,
    key_starts: Tensor,
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor]:
    return query.new_empty(query.shape), key.new_empty(key.shape), value.new_empty(value.shape)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    query, key, value, query_starts, key_starts, ctx.causal, ctx.scale = inputs
    ctx.save_for_backward(query, key, value, *output, query_starts, key_starts)


def _backward(ctx: Any, d_out: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    grads = _attend_backward(d_out, *ctx.saved_tensors, ctx.causal, ctx.scale)
    return *grads, None, None, None, None


_attend.register_autograd(_backward, setup_context=_setup_context)


def _contiguous_heads(x: Tensor) -> Tensor:
    """Return x with the heads of a token contiguous; rows may have any stride."""
    return x if x.stride()[1:] == (x.shape[2], 1) else x.contiguous()


@triton.jit
def _load(base, first, rows, count, stride, head, WIDTH: tl.constexpr):
    """Load rows of one head of a sentence; zeros beyond its end."""
    places = (first + rows)[:, None] * stride + head * WIDTH + tl.arange(0, WIDTH)[None, :]
    return tl.load(base + places, mask=(rows < count)[:, None], other=0.0)


@triton.jit
def _store(base, x, first, rows, count, stride, head, WIDTH: tl.constexpr):
    places = (first + rows)[:, None] * stride + head * WIDTH + tl.arange(0, WIDTH)[None, :]
    tl.store(base + places, x.to(base.dtype.element_ty), mask=(rows < count)[:, None])


@triton.jit
def _visible_pairs(queries, keys, query_count, key_count, CAUSAL: tl.constexpr):
    seen = (queries < query_count)[:, None] & (keys < key_count)[None, :]
    if CAUSAL:
        seen = seen & (keys[None, :] <= queries[:, None])
    return seen


@triton.jit
def _forward_kernel(
    query, key, value, out, log_sum, query_starts, key_starts,
    query_row, key_row, value_row, heads, scale, above, upto,
    CAUSAL: tl.constexpr, WIDTH: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Compute one head of one sentence whose longer side has more than `above` tokens and at most `upto`."""
    sentence, head = tl.program_id(0), tl.program_id(1)
    q0, k0 = tl.load(query_starts + sentence), tl.load(key_starts + sentence)
    q_count = tl.load(query_starts + sentence + 1) - q0
    k_count = tl.load(key_starts + sentence + 1) - k0
    longer = tl.maximum(q_count, k_count)
    if (longer <= above) | (longer > upto):
        return
    tile = tl.arange(0, TILE)
    for q_from in range(0, q_count, TILE):
        rows = q_from + tile
        q = _load(query, q0, rows, q_count, query_row, head, WIDTH)
        highest = tl.full((TILE,), float("-inf"), tl.float32)
        total = tl.zeros((TILE,), tl.float32)
        weighted = tl.zeros((TILE, WIDTH), tl.float32)
        k_end = k_count
        if CAUSAL:
            k_end = tl.minimum(k_count, q_from + TILE)
        for k_from in range(0, k_end, TILE):
            columns = k_from + tile
            k = _load(key, k0, columns, k_count, key_row, head, WIDTH)
            v = _load(value, k0, columns, k_count, value_row, head, WIDTH)
            scores = tl.dot(q, tl.trans(k)) * scale
            scores = tl.where(_visible_pairs(rows, columns, q_count, k_count, CAUSAL), scores, float("-inf"))
            new_highest = tl.maximum(highest, tl.max(scores, 1))
            base = tl.where(new_highest == float("-inf"), 0.0, new_highest)
            p = tl.exp(scores - base[:, None])
            decay = tl.exp(highest - base)
            total = total * decay + tl.sum(p, 1)
            weighted = weighted * decay[:, None] + tl.dot(p.to(v.dtype), v)
            highest = new_highest
        total = tl.where(total == 0.0, 1.0, total)
        highest = tl.where(highest == float("-inf"), 0.0, highest)
        _store(out, weighted / total[:, None], q0, rows, q_count, heads * WIDTH, head, WIDTH)
        tl.store(log_sum + (q0 + rows) * heads + head, highest + tl.log(total), mask=rows < q_count)


@triton.jit
def _weights_and_scores_gradient(
    q, k, v, d_o, o, log_sum, rows, columns, q_count, k_count, scale, CAUSAL: tl.constexpr
):
    """Return the recomputed attention weights and the gradient of the scores."""
    p = tl.exp(tl.dot(q, tl.trans(k)) * scale - log_sum[:, None])
    p = tl.where(_visible_pairs(rows, columns, q_count, k_count, CAUSAL), p, 0.0)
    share = tl.sum(d_o.to(tl.float32) * o.to(tl.float32), 1)
    d_scores = p * (tl.dot(d_o, tl.trans(v)) - share[:, None]) * scale
    return p.to(q.dtype), d_scores.to(q.dtype)


@triton.jit
def _backward_single_tile_kernel(
    query, key, value, out, log_sum, d_out, d_query, d_key, d_value, query_starts, key_starts,
    query_row, key_row, value_row, heads, scale, above, upto,
    CAUSAL: tl.constexpr, WIDTH: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Compute all gradients of a sentence that fits in one tile."""
    sentence, head = tl.program_id(0), tl.program_id(1)
    q0, k0 = tl.load(query_starts + sentence), tl.load(key_starts + sentence)
    q_count = tl.load(query_starts + sentence + 1) - q0
    k_count = tl.load(key_starts + sentence + 1) - k0
    longer = tl.maximum(q_count, k_count)
    if (longer <= above) | (longer > upto):
        return
    tile, row = tl.arange(0, TILE), heads * WIDTH
    q = _load(query, q0, tile, q_count, query_row, head, WIDTH)
    k = _load(key, k0, tile, k_count, key_row, head, WIDTH)
    v = _load(value, k0, tile, k_count, value_row, head, WIDTH)
    o = _load(out, q0, tile, q_count, row, head, WIDTH)
    d_o = _load(d_out, q0, tile, q_count, row, head, WIDTH)
    sums = tl.load(log_sum + (q0 + tile) * heads + head, mask=tile < q_count, other=0.0)
    p, d_scores = _weights_and_scores_gradient(
        q, k, v, d_o, o, sums, tile, tile, q_count, k_count, scale, CAUSAL
    )
    _store(d_value, tl.dot(tl.trans(p), d_o), k0, tile, k_count, row, head, WIDTH)
    _store(d_query, tl.dot(d_scores, k), q0, tile, q_count, row, head, WIDTH)
    _store(d_key, tl.dot(tl.trans(d_scores), q), k0, tile, k_count, row, head, WIDTH)


@triton.jit
def _backward_tiled_kernel(
    query, key, value, out, log_sum, d_out, d_query, d_key, d_value, query_starts, key_starts,
    query_row, key_row, value_row, heads, scale, above, upto,
    CAUSAL: tl.constexpr, WIDTH: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Compute the gradients of a longer sentence: one pass for keys and values, one for queries."""
    sentence, head = tl.program_id(0), tl.program_id(1)
    q0, k0 = tl.load(query_starts + sentence), tl.load(key_starts + sentence)
    q_count = tl.load(query_starts + sentence + 1) - q0
    k_count = tl.load(key_starts + sentence + 1) - k0
    longer = tl.maximum(q_count, k_count)
    if (longer <= above) | (longer > upto):
        return
    tile, row = tl.arange(0, TILE), heads * WIDTH
    for k_from in range(0, k_count, TILE):
        columns = k_from + tile
        k = _load(key, k0, columns, k_count, key_row, head, WIDTH)
        v = _load(value, k0, columns, k_count, value_row, head, WIDTH)
        d_k = tl.zeros((TILE, WIDTH), tl.float32)
        d_v = tl.zeros((TILE, WIDTH), tl.float32)
        q_first = 0
        if CAUSAL:
            q_first = k_from
        for q_from in range(q_first, q_count, TILE):
            rows = q_from + tile
            q = _load(query, q0, rows, q_count, query_row, head, WIDTH)
            o = _load(out, q0, rows, q_count, row, head, WIDTH)
            d_o = _load(d_out, q0, rows, q_count, row, head, WIDTH)
            sums = tl.load(log_sum + (q0 + rows) * heads + head, mask=rows < q_count, other=0.0)
            p, d_scores = _weights_and_scores_gradient(
                q, k, v, d_o, o, sums, rows, columns, q_count, k_count, scale, CAUSAL
            )
            d_v += tl.dot(tl.trans(p), d_o)
            d_k += tl.dot(tl.trans(d_scores), q)
        _store(d_key, d_k, k0, columns, k_count, row, head, WIDTH)
        _store(d_value, d_v, k0, columns, k_count, row, head, WIDTH)
    for q_from in range(0, q_count, TILE):
        rows = q_from + tile
        q = _load(query, q0, rows, q_count, query_row, head, WIDTH)
        o = _load(out, q0, rows, q_count, row, head, WIDTH)
        d_o = _load(d_out, q0, rows, q_count, row, head, WIDTH)
        sums = tl.load(log_sum + (q0 + rows) * heads + head, mask=rows < q_count, other=0.0)
        d_q = tl.zeros((TILE, WIDTH), tl.float32)
        k_end = k_count
        if CAUSAL:
            k_end = tl.minimum(k_count, q_from + TILE)
        for k_from in range(0, k_end, TILE):
            columns = k_from + tile
            k = _load(key, k0, columns, k_count, key_row, head, WIDTH)
            v = _load(value, k0, columns, k_count, value_row, head, WIDTH)
            p, d_scores = _weights_and_scores_gradient(
                q, k, v, d_o, o, sums, rows, columns, q_count, k_count, scale, CAUSAL
            )
            d_q += tl.dot(d_scores, k)
        _store(d_query, d_q, q0, rows, q_count, row, head, WIDTH)
