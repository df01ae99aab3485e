"""Beam search: the likeliest hypotheses side by side, and the best that ended (section 6.1)."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.search.beam_state import UNFORCED, BeamSearchStep, BeamState, ConstraintState, collect_hypotheses
from regard.search.config import SearchConfig
from regard.search.constrained_beam import ConstrainedBeamSearchStep
from regard.search.constraint_state import TokenBans
from regard.search.hypothesis import Hypothesis
from regard.search.interface import ModelState, StepModel
from regard.search.topk import log_normalizer

COMPACTION_SHARE = 0.75
"""Sentences that are done leave the batch when no more than this share is left: to move the others costs."""

BeamObserver = Callable[[BeamState, Tensor, Tensor, BeamState, Tensor], None]
"""Told of each step: beams before, logits and their norm, beams after, and the rows they go on from."""


def beam_search(
    model: StepModel[ModelState],
    state: ModelState,
    bos: int,
    eos: int,
    constraints: ConstraintState,
    config: SearchConfig,
    bans: TokenBans | None = None,
    observer: BeamObserver | None = None,
) -> list[list[Hypothesis]]:
    """The best hypotheses of each sentence, the best first; whoever wants to see how may `watch`.

    In each step every open hypothesis is continued by every token, and the likeliest
    continuations of all are kept. One that ends keeps its place in the beam, so that a beam of
    one is greedy search. At the limit a hypothesis must end, and pays for it like any other.

    The best is the one with the highest log-probability / length penalty. A sentence is done
    once nothing open can still be one of its `n_best`. That loses nothing that running on
    would have found: a token never raises a log-probability, which is at most 0, so nothing that
    grows from an open hypothesis can score more than its log-probability now over the highest
    penalty there is, that of the limit. Where this is not more than the worst of the n best, it
    stays outside, because among equals the earlier is kept. Rounding takes nothing from this:
    of two sums or quotients, the one that is greater is never rounded below the other.
    """
    sentences = len(constraints.max_length)
    if not sentences:
        return []
    device, longest = constraints.max_length.device, int(constraints.max_length.max())
    if constraints.required is None:
        search = BeamSearchStep(config.beam, config.n_best, config.alpha, eos, longest + 1, device)
    else:
        search = ConstrainedBeamSearchStep(config, eos, longest + 1, constraints.required)
    beams = search.initial_state(sentences, bos)
    answers: list[list[Hypothesis]] = [[] for _ in range(sentences)]
    rows = torch.arange(sentences, device=device)
    state = model.expand(state, search.slots)
    for length in range(1, longest + 2):
        logits, state = model.step(state, beams.last_token.flatten())
        norm, now = log_normalizer(logits), torch.tensor(length, device=device)
        if bans is not None:
            free = constraints.forced_token(now, eos) == UNFORCED
            bans.mask_logits(logits.unflatten(0, beams.score.shape), beams.tokens[:, :, : length - 1], free)
        before = beams
        beams, parents = search.advance(before, constraints, logits, norm, now)
        if observer is not None:
            observer(before, logits, norm, beams, parents)
        state = model.reorder(state, parents)
        left = (going_on := search.can_improve(beams, constraints)).nonzero()[:, 0]
        if len(left) <= COMPACTION_SHARE * len(rows):
            _collect_answers(answers, rows, beams, ~going_on, eos)
            if not len(left):
                break
            rows, beams, constraints = rows[left], beams.select(left), constraints.select(left)
            state, bans = model.select(state, left), None if bans is None else bans.select(left)
    return answers


def _collect_answers(
    answers: list[list[Hypothesis]],
    rows: Int[Tensor, " sentence"],
    beams: BeamState,
    done: Bool[Tensor, " sentence"],
    eos: int,
) -> None:
    """Writes down what was found for the sentences that are done; `rows` are their numbers."""
    which = done.nonzero()[:, 0]
    for row, found in zip(rows[which].tolist(), collect_hypotheses(beams.select(which), eos), strict=True):
        answers[row] = found
