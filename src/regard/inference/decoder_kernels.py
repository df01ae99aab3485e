"""Triton kernels of one decoder layer step: self-attention, cross-attention, residual with layer norm.

A program computes one row and one head. It reads only the keys that row may attend to: the source without
its padding, and of the target the slots that the row's ancestors wrote.
"""

# pyright: reportMissingImports=false, reportIndexIssue=false
from typing import Any

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

KEY_TILE = 32
"""Keys read at once."""


def self_attention_step(
    query_key_value: Float[Tensor, "row heads_width_3"],
    kv_cache: Float[Tensor, "2 sentence heads slot width"],
    ancestors: Int[Tensor, "sentence beam time"],
    position: Int[Tensor, ""],
    scale: float,
) -> Float[Tensor, "row heads_width"]:
    """Write each row's keys and values at `position`; return its attention over its ancestors' slots."""
    heads, slots, width = kv_cache.shape[2:]
    out = query_key_value.new_empty(len(query_key_value), heads * width)
    beam, times = ancestors.shape[1:]
    _self_attention_kernel[(len(query_key_value), heads)](
        query_key_value, kv_cache, ancestors, position, out, kv_cache.stride(0), slots, times, scale, beam,
        heads, width, triton.next_power_of_2(width), KEY_TILE, num_warps=1,
    )  # fmt: skip
    return out


def cross_attention_step(
    query: Float[Tensor, "row heads_width"],
    source_kv: Float[Tensor, "2 sentence heads source width"],
    lengths: Int[Tensor, " sentence"],
    scale: float,
) -> Float[Tensor, "row heads_width"]:
    """Return each row's attention over the first `lengths` tokens of its source."""
    sentences, heads, tokens, width = source_kv.shape[1:]
    out = torch.empty_like(query)
    _cross_attention_kernel[(len(query), heads)](
        query, source_kv, lengths, out, source_kv.stride(0), tokens, scale, len(query) // sentences, heads,
        width, triton.next_power_of_2(width), KEY_TILE, num_warps=1,
    )  # fmt: skip
    return out


def add_layer_norm(
    x: Float[Tensor, "row width"],
    y: Float[Tensor, "row width"],
    weight: Float[Tensor, " width"],
    bias: Float[Tensor, " width"],
    epsilon: float,
) -> Float[Tensor, "row width"]:
    """Return the layer norm of x + y."""
    out = torch.empty_like(x)
    width = x.shape[1]
    _add_layer_norm_kernel[(len(x),)](
        x, y, weight, bias, out, width, epsilon, triton.next_power_of_2(width), num_warps=4
    )
    return out


@triton.jit
def _self_attention_kernel(
    query_key_value, kv_cache, ancestors, position, out, values_offset, slots, times, scale,
    BEAM: tl.constexpr, HEADS: tl.constexpr, WIDTH: tl.constexpr, SIZE: tl.constexpr, TILE: tl.constexpr,
) -> Any:  # fmt: skip
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    sentence, slot = row // BEAM, row % BEAM
    step = tl.load(position)
    d = tl.arange(0, SIZE)
    in_head = d < WIDTH
    own_query = query_key_value + row * 3 * HEADS * WIDTH + head * WIDTH + d
    query = tl.load(own_query, mask=in_head, other=0.0)
    key = tl.load(own_query + HEADS * WIDTH, mask=in_head, other=0.0)
    value = tl.load(own_query + 2 * HEADS * WIDTH, mask=in_head, other=0.0)
    keys = kv_cache + (sentence * HEADS + head) * slots * WIDTH
    tl.store(keys + (step * BEAM + slot) * WIDTH + d, key, mask=in_head)
    tl.store(keys + values_offset + (step * BEAM + slot) * WIDTH + d, value, mask=in_head)
    query = query.to(tl.float32) * scale
    highest = tl.sum(query * key.to(tl.float32), axis=0)  # its own key
    total = highest * 0.0 + 1.0
    weighted = value.to(tl.float32)
    for first in range(0, step, TILE):
        time = first + tl.arange(0, TILE)
        visible = time < step
        ancestor = tl.load(ancestors + row * times + time, mask=visible, other=0)
        offsets = (time * BEAM + ancestor)[:, None] * WIDTH + d[None, :]
        is_valid = visible[:, None] & in_head[None, :]
        key_tile = tl.load(keys + offsets, mask=is_valid, other=0.0).to(tl.float32)
        value_tile = tl.load(keys + values_offset + offsets, mask=is_valid, other=0.0).to(tl.float32)
        highest, total, weighted = _online_softmax_update(
            query, key_tile, value_tile, visible, highest, total, weighted
        )
    tl.store(out + row * HEADS * WIDTH + head * WIDTH + d, weighted / total, mask=in_head)


@triton.jit
def _cross_attention_kernel(
    query_rows, source_kv, lengths, out, values_offset, tokens, scale,
    BEAM, HEADS: tl.constexpr, WIDTH: tl.constexpr, SIZE: tl.constexpr, TILE: tl.constexpr,
) -> Any:  # fmt: skip
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    sentence = row // BEAM
    length = tl.load(lengths + sentence)
    d = tl.arange(0, SIZE)
    in_head = d < WIDTH
    offset = row * HEADS * WIDTH + head * WIDTH + d
    query = tl.load(query_rows + offset, mask=in_head, other=0.0).to(tl.float32) * scale
    keys = source_kv + (sentence * HEADS + head) * tokens * WIDTH
    highest = tl.sum(query, axis=0) * 0.0 - 1e30
    total = highest * 0.0
    weighted = query * 0.0
    for first in range(0, length, TILE):
        token = first + tl.arange(0, TILE)
        visible = token < length
        offsets = token[:, None] * WIDTH + d[None, :]
        is_valid = visible[:, None] & in_head[None, :]
        key_tile = tl.load(keys + offsets, mask=is_valid, other=0.0).to(tl.float32)
        value_tile = tl.load(keys + values_offset + offsets, mask=is_valid, other=0.0).to(tl.float32)
        highest, total, weighted = _online_softmax_update(
            query, key_tile, value_tile, visible, highest, total, weighted
        )
    tl.store(out + offset, weighted / total, mask=in_head)


@triton.jit
def _online_softmax_update(query, key_tile, value_tile, visible, highest, total, weighted) -> Any:
    """Return the running maximum, normalizer and weighted sum of values after one more tile."""
    scores = tl.where(visible, tl.sum(query[None, :] * key_tile, axis=1), -1e30)
    new_highest = tl.maximum(highest, tl.max(scores, axis=0))
    weights = tl.where(visible, tl.exp(scores - new_highest), 0.0)
    decay = tl.exp(highest - new_highest)
    total = total * decay + tl.sum(weights, axis=0)
    return new_highest, total, weighted * decay + tl.sum(weights[:, None] * value_tile, axis=0)


@triton.jit
def _add_layer_norm_kernel(x, y, weight, bias, out, width, epsilon, SIZE: tl.constexpr) -> Any:
    row = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, SIZE)
    in_row = d < width
    total = tl.load(x + row * width + d, mask=in_row, other=0.0).to(tl.float32)
    total += tl.load(y + row * width + d, mask=in_row, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / width
    centered = tl.where(in_row, total - mean, 0.0)
    inverse_deviation = 1 / tl.sqrt(tl.sum(centered * centered, axis=0) / width + epsilon)
    scale = tl.load(weight + d, mask=in_row, other=0.0).to(tl.float32)
    shift = tl.load(bias + d, mask=in_row, other=0.0).to(tl.float32)
    tl.store(out + row * width + d, centered * inverse_deviation * scale + shift, mask=in_row)
