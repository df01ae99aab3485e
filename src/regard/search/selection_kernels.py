"""Selection on a GPU in few kernels: the same answers as the plain road, equals in the same order."""

# pyright: reportMissingImports=false, reportIndexIssue=false
from typing import Any

import torch
import triton
import triton.language as tl
from jaxtyping import Bool, Float, Int
from torch import Tensor

CHUNKS_PER_TILE = 8
"""Chunks of logits that are read together."""
MAX_TOPK_CHOICES = 8192
"""Scores of which `highest` finds the highest: more do not fit in one program."""


def stable_topk_cuda(
    scores: Float[Tensor, "sentence choices"], count: int
) -> tuple[Float[Tensor, "sentence count"], Int[Tensor, "sentence count"]]:
    """The highest scores in order, and where; equals in the order of their places, NaN never."""
    sentences, choices = scores.shape
    best = torch.empty(sentences, count, device=scores.device)
    where = torch.empty(sentences, count, dtype=torch.long, device=scores.device)
    room = triton.next_power_of_2(choices)
    _topk_kernel[(sentences,)](
        scores.contiguous(), best, where, choices, count, room, num_warps=4 if room > 256 else 1
    )
    return best, where


def log_normalizers_cuda(
    logits: Float[Tensor, "row vocab"], chunk: int
) -> tuple[Float[Tensor, " row"], Float[Tensor, "row chunks"]]:
    """The logarithm of each row's sum of exponentials, and the maximum of each run of `chunk` logits."""
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
    min_length: Int[Tensor, " sentence"],
    position: Int[Tensor, ""],
    eos: int,
    chunk: int,
) -> None:
    """One step of greedy search, written where it belongs: the likeliest token of each sentence still open.

    Among equals the first; no end mark before the minimum, and nothing else at the limit.
    """
    _greedy_step_kernel[(len(logits),)](
        logits, last_token, tokens, log_probability, is_open, max_length, min_length, position,
        logits.stride(0), logits.shape[1], tokens.shape[1], eos, chunk * CHUNKS_PER_TILE, num_warps=8,
    )  # fmt: skip


@triton.jit
def _greedy_step_kernel(
    logits, last, written, log, open_places, limits, minima, at_place,
    stride, vocab, width, EOS, TILE: tl.constexpr,
) -> Any:  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    if tl.load(open_places + row):
        length = tl.load(at_place) + 1
        early = length <= tl.load(minima + row)
        most = tl.full((), -1e30, tl.float32)
        total = tl.full((), 0.0, tl.float32)
        best = tl.full((), -float("inf"), tl.float32)
        token = tl.full((), 0, tl.int64)
        for first in range(0, vocab, TILE):
            place = first + tl.arange(0, TILE)
            here = tl.load(logits + row * stride + place, mask=place < vocab, other=-float("inf"))
            here = here.to(tl.float32)
            allowed = tl.where((place == EOS) & early, -float("inf"), here)
            allowed = tl.where(allowed == allowed, allowed, -float("inf"))
            top = tl.max(allowed, axis=0)
            if top > best:
                token = tl.min(tl.where(allowed == top, place, vocab), axis=0).to(tl.int64)
                best = top
            higher = tl.maximum(most, tl.max(here, axis=0))
            total = total * tl.exp(most - higher) + tl.sum(tl.exp(here - higher), axis=0)
            most = higher
        if length > tl.load(limits + row):
            token = (token * 0 + EOS).to(tl.int64)
            best = tl.load(logits + row * stride + EOS).to(tl.float32)
        tl.store(log + row, tl.load(log + row) + (best - (most + tl.log(total))))
        tl.store(written + row * width + length - 1, token)
        tl.store(last + row, token)
        tl.store(open_places + row, token != EOS)


@triton.jit
def _topk_kernel(scores, best, where, choices, count, ROOM: tl.constexpr) -> Any:
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, ROOM)
    left = tl.load(scores + row * choices + place, mask=place < choices, other=-float("inf"))
    left = tl.where(left == left, left, -float("inf"))
    rank = tl.where(place < choices, place, 2 * ROOM)
    for number in range(count):
        most = tl.max(left, axis=0)
        chosen = tl.min(tl.where(left == most, rank, 2 * ROOM), axis=0)
        tl.store(best + row * count + number, most)
        tl.store(where + row * count + number, chosen.to(tl.int64))
        taken = place == chosen
        left = tl.where(taken, -float("inf"), left)
        rank = tl.where(taken, 2 * ROOM, rank)


@triton.jit
def _log_normalizers_kernel(
    logits, norm, maxima, stride, vocab, chunks, CHUNK: tl.constexpr, TILES: tl.constexpr
) -> Any:
    row = tl.program_id(0).to(tl.int64)
    inside = tl.arange(0, CHUNK)
    most = tl.full((), -1e30, tl.float32)
    total = tl.full((), 0.0, tl.float32)
    for first in range(0, chunks, TILES):
        chunk = first + tl.arange(0, TILES)
        token = chunk[:, None] * CHUNK + inside[None, :]
        here = tl.load(logits + row * stride + token, mask=token < vocab, other=-float("inf")).to(tl.float32)
        top = tl.max(here, axis=1)
        tl.store(maxima + row * chunks + chunk, top, mask=chunk < chunks)
        higher = tl.maximum(most, tl.max(top, axis=0))
        total = total * tl.exp(most - higher) + tl.sum(tl.sum(tl.exp(here - higher), axis=1), axis=0)
        most = higher
    tl.store(norm + row, most + tl.log(total))
