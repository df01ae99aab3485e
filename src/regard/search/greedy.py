"""Greedy search: keep the token with the highest score, and go on from there."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.search.beams import FREE, Bounds
from regard.search.config import SearchConfig
from regard.search.highest import likeliest, log_norm
from regard.search.hypothesis import Hypothesis, length_penalty
from regard.search.step import State, Step


def greedy(
    model: Step[State], state: State, bos: int, eos: int, bounds: Bounds, config: SearchConfig
) -> list[list[Hypothesis]]:
    """The one hypothesis of each row: until its end mark, which it must write at its limit.

    A finished row leaves the batch, so that the long sentence does not make the short ones wait.
    """
    found: list[list[Hypothesis]] = [[] for _ in range(len(bounds.limit))]
    device = bounds.limit.device
    rows = torch.arange(len(found), device=device)
    written = torch.full((len(found), 1), bos, device=device)
    log = torch.zeros(len(found), device=device)
    length = 0
    while len(rows):
        logits, state = model.step(state, written[:, -1])
        length += 1
        norm = log_norm(logits)
        token = _chosen(logits, bounds, eos, torch.tensor(length, device=device))
        log = log + (logits.gather(1, token[:, None])[:, 0].float() - norm)
        ended = (token == eos).nonzero()[:, 0]
        written = torch.cat([written, token[:, None]], dim=1)
        if len(ended):
            score = log[ended] / length_penalty(length, config.alpha)
            answers = zip(written[ended, 1:-1].tolist(), log[ended].tolist(), score.tolist(), strict=True)
            for row, (tokens, *values) in zip(rows[ended].tolist(), answers, strict=True):
                found[row] = [Hypothesis(tuple(tokens), *values)]
            left = (token != eos).nonzero()[:, 0]
            rows, written, log = rows[left], written[left], log[left]
            state, bounds = model.select(state, left), bounds.select(left)
    return found


def _chosen(
    logits: Float[Tensor, "row vocab"], bounds: Bounds, eos: int, length: Int[Tensor, ""]
) -> Int[Tensor, " row"]:
    """The token with the highest score, unless there is no choice; overwrites the logits."""
    early = length <= bounds.minimum
    logits[:, eos] = logits[:, eos].masked_fill(early, -torch.inf)
    forced = bounds.forced(length, eos)
    none = torch.zeros(len(logits), 1, device=logits.device)
    best = likeliest(logits[:, None], none, none, 1)[2][:, 0]  # as argmax, and faster
    return best.where(forced == FREE, forced)
