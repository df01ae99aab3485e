"""Greedy search, and the left-to-right loop it shares with sampling."""

import math
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.config import SearchConfig
from regard.search.constraint_state import UNFORCED, ConstraintState
from regard.search.hypothesis import Hypothesis, length_penalty
from regard.search.interface import COMPACTION_SHARE, ModelState, StepModel
from regard.search.topk import log_normalizer, stable_argmax

TokenSelector = Callable[[Tensor, Tensor, int], Tensor]
"""Selects the next token of each row from the logits, the rows' sentence indexes, and the length."""


def greedy_search(
    model: StepModel[ModelState],
    state: ModelState,
    bos: int,
    eos: int,
    constraints: ConstraintState,
    config: SearchConfig,
) -> list[list[Hypothesis]]:
    """Return one hypothesis per sentence, made of the most probable token at each step."""

    def select_token(logits: Tensor, *_: object) -> Tensor:
        return stable_argmax(logits)

    return search_left_to_right(model, state, bos, eos, constraints, config.alpha, select_token)


def search_left_to_right(
    model: StepModel[ModelState],
    state: ModelState,
    bos: int,
    eos: int,
    constraints: ConstraintState,
    alpha: float,
    select_token: TokenSelector,
    samples: int = 1,
) -> list[list[Hypothesis]]:
    """Return `samples` hypotheses per sentence, each extended by the selected token until it ends.

    Finished sentences leave the batch, so that short ones do not wait for long ones.
    """
    sentences, device = len(constraints.max_length), constraints.max_length.device
    results: list[list[Hypothesis]] = [[] for _ in range(sentences)]
    rows = torch.arange(sentences, device=device)
    token = torch.full((sentences, samples), bos, device=device)
    tokens = torch.zeros(sentences, samples, 0, dtype=torch.long, device=device)
    log_probability = torch.zeros(sentences, samples, device=device)
    if samples > 1:
        state = model.expand(state, samples)
    unconstrained = constraints.unconstrained_lengths()
    while len(rows):
        ended = token == eos
        logits, state = model.step(state, token.flatten())
        norm, length = log_normalizer(logits), tokens.shape[2] + 1
        if constraints.bans is None and length in unconstrained:
            token = select_token(logits, rows, length).view_as(token)
        else:
            forced = constraints.forced_token(torch.tensor(length, device=device), eos)[:, None]
            unforced = forced == UNFORCED
            _mask_disallowed(logits.unflatten(0, token.shape), tokens, unforced, constraints, eos)
            token = select_token(logits, rows, length).view_as(token).where(unforced, forced)
        token = token.masked_fill(ended, eos)
        increment = logits.gather(1, token.view(-1, 1))[:, 0].float() - norm
        log_probability = log_probability + increment.view_as(log_probability).masked_fill(ended, 0.0)
        tokens = torch.cat([tokens, token[:, :, None]], dim=2)
        unfinished = (token != eos).any(dim=1)
        left = unfinished.nonzero()[:, 0]
        if len(left) <= COMPACTION_SHARE * len(rows):
            done = (~unfinished).nonzero()[:, 0]
            finished = zip(tokens[done].tolist(), log_probability[done].tolist(), strict=True)
            for row, sentence in zip(rows[done].tolist(), finished, strict=True):
                results[row] = _ranked_hypotheses(*sentence, eos, alpha)
            rows, tokens, token, log_probability = (
                rows[left],
                tokens[left],
                token[left],
                log_probability[left],
            )
            state, constraints = model.select(state, left), constraints.select(left)
            unconstrained = constraints.unconstrained_lengths()
    return results


def _mask_disallowed(
    logits: Float[Tensor, "sentence sample vocab"],
    tokens: Int[Tensor, "sentence sample length"],
    unforced: Bool[Tensor, "sentence 1"],
    constraints: ConstraintState,
    eos: int,
) -> None:
    """Set the logits of tokens that must not come next to minus infinity."""
    too_short = (constraints.min_length > tokens.shape[2])[:, None]
    logits[:, :, eos] = logits[:, :, eos].masked_fill(too_short, -math.inf)
    if constraints.bans is not None:
        constraints.bans.mask_logits(logits, tokens, unforced[:, 0])


def _ranked_hypotheses(
    rows: list[list[int]], log_probabilities: list[float], eos: int, alpha: float
) -> list[Hypothesis]:
    pairs = zip(rows, log_probabilities, strict=True)
    hypotheses = [make_hypothesis(tokens, log_probability, eos, alpha) for tokens, log_probability in pairs]
    return sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)


def make_hypothesis(tokens: list[int], log_probability: float, eos: int, alpha: float) -> Hypothesis:
    """Return the tokens before the end mark with their score, rounded to fp32 as in beam search."""
    content = tuple(tokens[: tokens.index(eos)])
    penalty = np.float32(length_penalty(len(content) + 1, alpha))
    return Hypothesis(content, log_probability, float(np.float32(log_probability) / penalty))
