"""Selection on a GPU in few kernels: the same answers as the plain road, equals in the same order."""

# pyright: reportMissingImports=false, reportIndexIssue=false
from typing import Any

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

TILES = 8
"""Chunks of logits that are read together."""
MOST_CHOICES = 8192
"""Scores of which `highest` finds the highest: more do not fit in one program."""


def highest(
    scores: Float[Tensor, "sentence choices"], count: int
) -> tuple[Float[Tensor, "sentence count"], Int[Tensor, "sentence count"]]:
    """The highest scores in order, and where; equals in the order of their places, NaN never."""
    sentences, choices = scores.shape
    best = torch.empty(sentences, count, device=scores.device)
    where = torch.empty(sentences, count, dtype=torch.long, device=scores.device)
    room = triton.next_power_of_2(choices)
    _highest[(sentences,)](
        scores.contiguous(), best, where, choices, count, room, num_warps=4 if room > 256 else 1
    )
    return best, where


def norms(
    logits: Float[Tensor, "row vocab"], chunk: int
) -> tuple[Float[Tensor, " row"], Float[Tensor, "row chunks"]]:
    """The logarithm of each row's sum of exponentials, and the maximum of each run of `chunk` logits."""
    rows, vocab = logits.shape
    norm = torch.empty(rows, device=logits.device)
    maxima = torch.empty(rows, -(-vocab // chunk), device=logits.device)
    _norms[(rows,)](logits, norm, maxima, logits.stride(0), vocab, maxima.shape[1], chunk, TILES, num_warps=8)
    return norm, maxima


@triton.jit
def _highest(scores, best, where, choices, count, ROOM: tl.constexpr) -> Any:
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
def _norms(logits, norm, maxima, stride, vocab, chunks, CHUNK: tl.constexpr, TILES: tl.constexpr) -> Any:
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
