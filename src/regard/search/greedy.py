"""Greedy search: keep the token with the highest score, and go on from there."""

import torch
from jaxtyping import Int
from torch import Tensor

from regard.search.step import State, Step


def greedy(
    model: Step[State], state: State, bos: int, eos: int, limits: Int[Tensor, " row"]
) -> list[list[int]]:
    """The tokens of each row, without marks: until its `eos`, or its limit.

    A finished row leaves the batch, so that the long sentence does not make the short ones wait.
    """
    found: list[list[int]] = [[] for _ in range(len(limits))]
    rows = torch.arange(len(limits), device=limits.device)
    token = torch.full_like(limits, bos)
    length = 0
    while len(rows):
        logits, state = model.step(state, token)
        token = logits.argmax(dim=-1)
        length += 1
        open_ = (token != eos) & (length <= limits[rows])
        if not open_.all():
            left = open_.nonzero()[:, 0]
            rows, token, state = rows[left], token[left], model.select(state, left)
        for row, id in zip(rows.tolist(), token.tolist(), strict=True):
            found[row].append(id)
    return found
