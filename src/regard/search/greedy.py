"""Greedy search: keep the token with the highest score, and go on from there."""

import math
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.beam import STILL_FULL
from regard.search.beam_state import FREE, Bounds
from regard.search.config import SearchConfig
from regard.search.constraint_state import Bans
from regard.search.hypothesis import Hypothesis, length_penalty
from regard.search.interface import State, Step
from regard.search.topk import first_highest, log_norm

Choose = Callable[[Tensor, Tensor, int], Tensor]
"""From the logits of rows, the numbers of their sentences, and the length: the next token of each row."""


def greedy(
    model: Step[State],
    state: State,
    bos: int,
    eos: int,
    bounds: Bounds,
    config: SearchConfig,
    bans: Bans | None = None,
) -> list[list[Hypothesis]]:
    """The one hypothesis of each sentence."""

    def choose(logits: Tensor, *_: object) -> Tensor:
        return first_highest(logits)

    return write(model, state, bos, eos, bounds, config.alpha, bans, choose)


def write(
    model: Step[State],
    state: State,
    bos: int,
    eos: int,
    bounds: Bounds,
    alpha: float,
    bans: Bans | None,
    choose: Choose,
    copies: int = 1,
) -> list[list[Hypothesis]]:
    """So many hypotheses of each sentence that never look back: until the end mark, due at the limit.

    Finished sentences leave the batch, so that the long ones do not make the short ones wait.
    """
    sentences, device = len(bounds.limit), bounds.limit.device
    found: list[list[Hypothesis]] = [[] for _ in range(sentences)]
    rows = torch.arange(sentences, device=device)
    token = torch.full((sentences, copies), bos, device=device)
    written = torch.zeros(sentences, copies, 0, dtype=torch.long, device=device)
    log = torch.zeros(sentences, copies, device=device)
    if copies > 1:
        state = model.expand(state, copies)
    free = bounds.free()
    while len(rows):
        ended = token == eos
        logits, state = model.step(state, token.flatten())
        norm, length = log_norm(logits), written.shape[2] + 1
        if bans is None and length in free:
            token = choose(logits, rows, length).view_as(token)
        else:
            forced = bounds.forced(torch.tensor(length, device=device), eos)[:, None]
            _take_away(logits.unflatten(0, token.shape), written, forced == FREE, bounds, bans, eos)
            token = choose(logits, rows, length).view_as(token).where(forced == FREE, forced)
        token = token.masked_fill(ended, eos)
        more = logits.gather(1, token.view(-1, 1))[:, 0].float() - norm
        log = log + more.view_as(log).masked_fill(ended, 0.0)
        written = torch.cat([written, token[:, :, None]], dim=2)
        open_ = (token != eos).any(dim=1)
        left = open_.nonzero()[:, 0]
        if len(left) <= STILL_FULL * len(rows):
            done = (~open_).nonzero()[:, 0]
            answers = zip(written[done].tolist(), log[done].tolist(), strict=True)
            for row, answer in zip(rows[done].tolist(), answers, strict=True):
                found[row] = _best_first(*answer, eos, alpha)
            rows, written, token, log = rows[left], written[left], token[left], log[left]
            state, bounds = model.select(state, left), bounds.select(left)
            free = bounds.free()
            bans = None if bans is None else bans.select(left)
    return found


def _take_away(
    logits: Float[Tensor, "sentence copy vocab"],
    written: Int[Tensor, "sentence copy length"],
    free: Bool[Tensor, "sentence 1"],
    bounds: Bounds,
    bans: Bans | None,
    eos: int,
) -> None:
    """Leaves no chance to what must not come next."""
    early = (bounds.minimum > written.shape[2])[:, None]
    logits[:, :, eos] = logits[:, :, eos].masked_fill(early, -math.inf)
    if bans is not None:
        bans.apply(logits, written, free[:, 0])


def _best_first(rows: list[list[int]], logs: list[float], eos: int, alpha: float) -> list[Hypothesis]:
    found = [hypothesis(row, log, eos, alpha) for row, log in zip(rows, logs, strict=True)]
    return sorted(found, key=lambda hypothesis: -hypothesis.score)


def hypothesis(row: list[int], log: float, eos: int, alpha: float) -> Hypothesis:
    """What was written up to the end mark, and its score, rounded as in the beam."""
    tokens = tuple(row[: row.index(eos)])
    return Hypothesis(
        tokens, log, float(np.float32(log) / np.float32(length_penalty(len(tokens) + 1, alpha)))
    )
