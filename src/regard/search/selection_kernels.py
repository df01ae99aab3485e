"""Triton kernels of top-k, log-normalizers and greedy search, with the results and tie order of topk.py."""

# pyright: reportMissingImports=false, reportIndexIssue=false
from typing import Any

import torch
import triton
import triton.language as tl
from jaxtyping import Bool, Float, Int
from torch import Tensor

CHUNKS_PER_TILE = 8
"""Chunks of logits read at once."""
MAX_TOPK_CHOICES = 8192
"""Scores per row that `stable_topk_cuda` can rank: more do not fit in one program."""


def stable_topk_cuda(
    scores: Float[Tensor, "sentence choices"], count: int
) -> tuple[Float[Tensor, "sentence count"], Int[Tensor, "sentence count"]]:
    """Return the top-k of each row and their indexes; ties in index order, NaN never."""
    sentences, choices = scores.shape
    best = torch.empty(sentences, count, device=scores.device)
    indexes = torch.empty(sentences, count, dtype=torch.long, device=scores.device)
    size = triton.next_power_of_2(choices)
    _topk_kernel[(sentences,)](
        scores.contiguous(), best, indexes, choices, count, size, num_warps=4 if size > 256 else 1
    )
    return best, indexes


def log_normalizers_cuda(
    logits: Float[Tensor, "row vocab"], chunk: int
) -> tuple[Float[Tensor, " row"], Float[Tensor, "row chunks"]]:
    """Return the log of each row's sum of exponentials, and the maximum of each chunk of `chunk` logits."""
    rows, vocab = logits.shape
    norm = torch.empty(rows, device=logits.device)
    maxima = torch.empty(rows, -(-vocab // chunk), device=logits.device)
    _log_normalizers_kernel[(rows,)](
        logits, norm, maxima, logits.stride(0), vocab, maxima.shape[1], chunk, CHUNKS_PER_TILE, num_warps=8
    )
    return norm, maxima


def greedy_step_cuda(
    logits: Float[Tensor, "sentence vocab"],
    last_token: Int[Tensor, " sentence"],
    tokens: Int[Tensor, "sentence width"],
    log_probability: Float[Tensor, " sentence"],
    is_open: Bool[Tensor, " sentence"],
    max_length: Int[Tensor, " sentence"],
    position: Int[Tensor, ""],
    eos: int,
    chunk: int,
) -> None:
    """Append the most probable token to every open sentence, in place; the first among ties.

    At the length limit the token is the end mark.
    """
    _greedy_step_kernel[(len(logits),)](
        logits, last_token, tokens, log_probability, is_open, max_length, position,
        logits.stride(0), logits.shape[1], tokens.shape[1], eos, chunk * CHUNKS_PER_TILE, num_warps=8,
    )  # fmt: skip


@triton.jit
def _greedy_step_kernel(
    logits, last_token, tokens, log_probability, is_open, max_length, position,
    stride, vocab, width, EOS, TILE: tl.constexpr,
) -> Any:  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    if tl.load(is_open + row):
        length = tl.load(position) + 1
        highest = tl.full((), -1e30, tl.float32)
        total = tl.full((), 0.0, tl.float32)
        best = tl.full((), -float("inf"), tl.float32)
        token = tl.full((), 0, tl.int64)
        for first in range(0, vocab, TILE):
            ids = first + tl.arange(0, TILE)
            tile = tl.load(logits + row * stride + ids, mask=ids < vocab, other=-float("inf"))
            tile = tile.to(tl.float32)
            valid = tl.where(tile == tile, tile, -float("inf"))
            top = tl.max(valid, axis=0)
            if top > best:
                token = tl.min(tl.where(valid == top, ids, vocab), axis=0).to(tl.int64)
                best = top
            new_highest = tl.maximum(highest, tl.max(tile, axis=0))
            total = total * tl.exp(highest - new_highest) + tl.sum(tl.exp(tile - new_highest), axis=0)
            highest = new_highest
        if length > tl.load(max_length + row):
            token = (token * 0 + EOS).to(tl.int64)
            best = tl.load(logits + row * stride + EOS).to(tl.float32)
        score = best - (highest + tl.log(total))
        tl.store(log_probability + row, tl.load(log_probability + row) + score)
        tl.store(tokens + row * width + length - 1, token)
        tl.store(last_token + row, token)
        tl.store(is_open + row, token != EOS)


@triton.jit
def _topk_kernel(scores, best, indexes, choices, count, SIZE: tl.constexpr) -> Any:
    row = tl.program_id(0).to(tl.int64)
    index = tl.arange(0, SIZE)
    left = tl.load(scores + row * choices + index, mask=index < choices, other=-float("inf"))
    left = tl.where(left == left, left, -float("inf"))
    rank = tl.where(index < choices, index, 2 * SIZE)
    for number in range(count):
        highest = tl.max(left, axis=0)
        chosen = tl.min(tl.where(left == highest, rank, 2 * SIZE), axis=0)
        tl.store(best + row * count + number, highest)
        tl.store(indexes + row * count + number, chosen.to(tl.int64))
        is_chosen = index == chosen
        left = tl.where(is_chosen, -float("inf"), left)
        rank = tl.where(is_chosen, 2 * SIZE, rank)


@triton.jit
def _log_normalizers_kernel(
    logits, norm, maxima, stride, vocab, chunks, CHUNK: tl.constexpr, TILES: tl.constexpr
) -> Any:
    row = tl.program_id(0).to(tl.int64)
    offset = tl.arange(0, CHUNK)
    highest = tl.full((), -1e30, tl.float32)
    total = tl.full((), 0.0, tl.float32)
    for first in range(0, chunks, TILES):
        chunk = first + tl.arange(0, TILES)
        ids = chunk[:, None] * CHUNK + offset[None, :]
        tile = tl.load(logits + row * stride + ids, mask=ids < vocab, other=-float("inf")).to(tl.float32)
        top = tl.max(tile, axis=1)
        tl.store(maxima + row * chunks + chunk, top, mask=chunk < chunks)
        new_highest = tl.maximum(highest, tl.max(top, axis=0))
        total = total * tl.exp(highest - new_highest)
        total += tl.sum(tl.sum(tl.exp(tile - new_highest), axis=1), axis=0)
        highest = new_highest
    tl.store(norm + row, highest + tl.log(total))
