"""One step of a decoder layer on a GPU, where every kernel saved is a few microseconds of a whole step.

Each program takes one row and one head. It reads what that row may see and nothing else: of the source as
much as the sentence has, of the past what the row's own ancestors wrote.
"""

# pyright: reportMissingImports=false, reportIndexIssue=false
from typing import Any

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

KEY_TILE = 32
"""Keys that are looked at together."""


def self_attention_step(
    query_key_value: Float[Tensor, "row heads_width_3"],
    kv_cache: Float[Tensor, "2 sentence heads slot width"],
    ancestors: Int[Tensor, "sentence beam time"],
    position: Int[Tensor, ""],
    scale: float,
) -> Float[Tensor, "row heads_width"]:
    """Writes each row's keys and values to its slot at time `at`; what its heads find in its own past."""
    heads, slots, width = kv_cache.shape[2:]
    out = query_key_value.new_empty(len(query_key_value), heads * width)
    beam, times = ancestors.shape[1:]
    _self_attention_kernel[(len(query_key_value), heads)](
        query_key_value, kv_cache, ancestors, position, out, kv_cache.stride(0), slots, times, scale, beam, heads, width,
        triton.next_power_of_2(width), KEY_TILE, num_warps=1,
    )  # fmt: skip
    return out


def cross_attention_step(
    query: Float[Tensor, "row heads_width"],
    source_kv: Float[Tensor, "2 sentence heads source width"],
    lengths: Int[Tensor, " sentence"],
    scale: float,
) -> Float[Tensor, "row heads_width"]:
    """What the heads of each row find in the first tokens of its sentence, as many as it has."""
    sentences, heads, tokens, width = source_kv.shape[1:]
    out = torch.empty_like(query)
    _cross_attention_kernel[(len(query), heads)](
        query, source_kv, lengths, out, source_kv.stride(0), tokens, scale, len(query) // sentences, heads, width,
        triton.next_power_of_2(width), KEY_TILE, num_warps=1,
    )  # fmt: skip
    return out


def add_layer_norm(
    x: Float[Tensor, "row width"],
    y: Float[Tensor, "row width"],
    weight: Float[Tensor, " width"],
    bias: Float[Tensor, " width"],
    epsilon: float,
) -> Float[Tensor, "row width"]:
    """The layer norm of x + y."""
    out = torch.empty_like(x)
    width = x.shape[1]
    _add_layer_norm_kernel[(len(x),)](
        x, y, weight, bias, out, width, epsilon, triton.next_power_of_2(width), num_warps=4
    )
    return out


@triton.jit
def _self_attention_kernel(
    asked, past, ancestors, at_place, out, values, slots, times, scale,
    BEAM: tl.constexpr, HEADS: tl.constexpr, WIDTH: tl.constexpr, ROOM: tl.constexpr, TILE: tl.constexpr,
) -> Any:  # fmt: skip
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    sentence, place = row // BEAM, row % BEAM
    at = tl.load(at_place)
    d = tl.arange(0, ROOM)
    inside = d < WIDTH
    own = asked + row * 3 * HEADS * WIDTH + head * WIDTH + d
    query = tl.load(own, mask=inside, other=0.0)
    key = tl.load(own + HEADS * WIDTH, mask=inside, other=0.0)
    value = tl.load(own + 2 * HEADS * WIDTH, mask=inside, other=0.0)
    keys = past + (sentence * HEADS + head) * slots * WIDTH
    tl.store(keys + (at * BEAM + place) * WIDTH + d, key, mask=inside)
    tl.store(keys + values + (at * BEAM + place) * WIDTH + d, value, mask=inside)
    query = query.to(tl.float32) * scale
    most = tl.sum(query * key.to(tl.float32), axis=0)  # it sees itself
    total = most * 0.0 + 1.0
    found = value.to(tl.float32)
    for first in range(0, at, TILE):
        time = first + tl.arange(0, TILE)
        seen = time < at
        writer = tl.load(ancestors + row * times + time, mask=seen, other=0)
        where = (time * BEAM + writer)[:, None] * WIDTH + d[None, :]
        both = seen[:, None] & inside[None, :]
        key_tile = tl.load(keys + where, mask=both, other=0.0).to(tl.float32)
        value_tile = tl.load(keys + values + where, mask=both, other=0.0).to(tl.float32)
        most, total, found = _online_softmax_update(query, key_tile, value_tile, seen, most, total, found)
    tl.store(out + row * HEADS * WIDTH + head * WIDTH + d, found / total, mask=inside)


@triton.jit
def _cross_attention_kernel(
    query_rows, source, lengths, out, values, tokens, scale,
    BEAM, HEADS: tl.constexpr, WIDTH: tl.constexpr, ROOM: tl.constexpr, TILE: tl.constexpr,
) -> Any:  # fmt: skip
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    sentence = row // BEAM
    length = tl.load(lengths + sentence)
    d = tl.arange(0, ROOM)
    inside = d < WIDTH
    place = row * HEADS * WIDTH + head * WIDTH + d
    query = tl.load(query_rows + place, mask=inside, other=0.0).to(tl.float32) * scale
    keys = source + (sentence * HEADS + head) * tokens * WIDTH
    most = tl.sum(query, axis=0) * 0.0 - 1e30
    total = most * 0.0
    found = query * 0.0
    for first in range(0, length, TILE):
        token = first + tl.arange(0, TILE)
        seen = token < length
        where = token[:, None] * WIDTH + d[None, :]
        both = seen[:, None] & inside[None, :]
        key_tile = tl.load(keys + where, mask=both, other=0.0).to(tl.float32)
        value_tile = tl.load(keys + values + where, mask=both, other=0.0).to(tl.float32)
        most, total, found = _online_softmax_update(query, key_tile, value_tile, seen, most, total, found)
    tl.store(out + place, found / total, mask=inside)


@triton.jit
def _online_softmax_update(query, key_tile, value_tile, seen, most, total, found) -> Any:
    """The running softmax with one tile more in it."""
    scores = tl.where(seen, tl.sum(query[None, :] * key_tile, axis=1), -1e30)
    higher = tl.maximum(most, tl.max(scores, axis=0))
    weights = tl.where(seen, tl.exp(scores - higher), 0.0)
    before = tl.exp(most - higher)
    total = total * before + tl.sum(weights, axis=0)
    return higher, total, found * before + tl.sum(weights[:, None] * value_tile, axis=0)


@triton.jit
def _add_layer_norm_kernel(x, y, weight, bias, out, width, epsilon, ROOM: tl.constexpr) -> Any:
    row = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, ROOM)
    inside = d < width
    total = tl.load(x + row * width + d, mask=inside, other=0.0).to(tl.float32)
    total += tl.load(y + row * width + d, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / width
    apart = tl.where(inside, total - mean, 0.0)
    shrink = 1 / tl.sqrt(tl.sum(apart * apart, axis=0) / width + epsilon)
    scale = tl.load(weight + d, mask=inside, other=0.0).to(tl.float32)
    shift = tl.load(bias + d, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * width + d, apart * shrink * scale + shift, mask=inside)
