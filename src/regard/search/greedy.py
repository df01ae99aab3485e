"""Greedy search: keep the token with the highest score, and go on from there."""

import math
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.beam import COMPACTION_SHARE
from regard.search.beam_state import UNFORCED, ConstraintState
from regard.search.config import SearchConfig
from regard.search.constraint_state import TokenBans
from regard.search.hypothesis import Hypothesis, length_penalty
from regard.search.interface import ModelState, StepModel
from regard.search.topk import log_normalizer, stable_argmax

TokenSelector = Callable[[Tensor, Tensor, int], Tensor]
"""From the logits of rows, the numbers of their sentences, and the length: the next token of each row."""


def greedy_search(
    model: StepModel[ModelState],
    state: ModelState,
    bos: int,
    eos: int,
    constraints: ConstraintState,
    config: SearchConfig,
    bans: TokenBans | None = None,
) -> list[list[Hypothesis]]:
    """The one hypothesis of each sentence."""

    def choose(logits: Tensor, *_: object) -> Tensor:
        return stable_argmax(logits)

    return search_left_to_right(model, state, bos, eos, constraints, config.alpha, bans, choose)


def search_left_to_right(
    model: StepModel[ModelState],
    state: ModelState,
    bos: int,
    eos: int,
    constraints: ConstraintState,
    alpha: float,
    bans: TokenBans | None,
    select_token: TokenSelector,
    samples: int = 1,
) -> list[list[Hypothesis]]:
    """So many hypotheses of each sentence that never look back: until the end mark, due at the limit.

    Finished sentences leave the batch, so that the long ones do not make the short ones wait.
    """
    sentences, device = len(constraints.max_length), constraints.max_length.device
    found: list[list[Hypothesis]] = [[] for _ in range(sentences)]
    rows = torch.arange(sentences, device=device)
    token = torch.full((sentences, samples), bos, device=device)
    written = torch.zeros(sentences, samples, 0, dtype=torch.long, device=device)
    log = torch.zeros(sentences, samples, device=device)
    if samples > 1:
        state = model.expand(state, samples)
    free = constraints.unconstrained_lengths()
    while len(rows):
        ended = token == eos
        logits, state = model.step(state, token.flatten())
        norm, length = log_normalizer(logits), written.shape[2] + 1
        if bans is None and length in free:
            token = select_token(logits, rows, length).view_as(token)
        else:
            forced = constraints.forced_token(torch.tensor(length, device=device), eos)[:, None]
            _mask_disallowed(
                logits.unflatten(0, token.shape), written, forced == UNFORCED, constraints, bans, eos
            )
            token = select_token(logits, rows, length).view_as(token).where(forced == UNFORCED, forced)
        token = token.masked_fill(ended, eos)
        more = logits.gather(1, token.view(-1, 1))[:, 0].float() - norm
        log = log + more.view_as(log).masked_fill(ended, 0.0)
        written = torch.cat([written, token[:, :, None]], dim=2)
        open_ = (token != eos).any(dim=1)
        left = open_.nonzero()[:, 0]
        if len(left) <= COMPACTION_SHARE * len(rows):
            done = (~open_).nonzero()[:, 0]
            answers = zip(written[done].tolist(), log[done].tolist(), strict=True)
            for row, answer in zip(rows[done].tolist(), answers, strict=True):
                found[row] = _ranked_hypotheses(*answer, eos, alpha)
            rows, written, token, log = rows[left], written[left], token[left], log[left]
            state, constraints = model.select(state, left), constraints.select(left)
            free = constraints.unconstrained_lengths()
            bans = None if bans is None else bans.select(left)
    return found


def _mask_disallowed(
    logits: Float[Tensor, "sentence copy vocab"],
    written: Int[Tensor, "sentence copy length"],
    free: Bool[Tensor, "sentence 1"],
    bounds: ConstraintState,
    bans: TokenBans | None,
    eos: int,
) -> None:
    """Leaves no chance to what must not come next."""
    early = (bounds.min_length > written.shape[2])[:, None]
    logits[:, :, eos] = logits[:, :, eos].masked_fill(early, -math.inf)
    if bans is not None:
        bans.mask_logits(logits, written, free[:, 0])


def _ranked_hypotheses(rows: list[list[int]], logs: list[float], eos: int, alpha: float) -> list[Hypothesis]:
    found = [make_hypothesis(row, log, eos, alpha) for row, log in zip(rows, logs, strict=True)]
    return sorted(found, key=lambda hypothesis: -hypothesis.score)


def make_hypothesis(tokens: list[int], log_probability: float, eos: int, alpha: float) -> Hypothesis:
    """What was written up to the end mark, and its score, rounded as in the beam."""
    content = tuple(tokens[: tokens.index(eos)])
    return Hypothesis(
        content,
        log_probability,
        float(np.float32(log_probability) / np.float32(length_penalty(len(content) + 1, alpha))),
    )
