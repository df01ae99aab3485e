"""Beam search: extend the best hypotheses step by step until none can win (section 6.1)."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.search.beam_state import BeamSearchStep, BeamState, collect_hypotheses
from regard.search.config import SearchConfig
from regard.search.constrained_beam import ConstrainedBeamSearchStep
from regard.search.constraint_state import UNFORCED, ConstraintState
from regard.search.hypothesis import Hypothesis
from regard.search.interface import COMPACTION_SHARE, ModelState, StepModel
from regard.search.topk import log_normalizer

BeamObserver = Callable[[BeamState, Tensor, Tensor, BeamState, Tensor], None]
"""Called after each step with the beam before, logits, their normalizers, the beam after, and parent rows."""


def beam_search(
    model: StepModel[ModelState],
    state: ModelState,
    bos: int,
    eos: int,
    constraints: ConstraintState,
    config: SearchConfig,
    observer: BeamObserver | None = None,
) -> list[list[Hypothesis]]:
    """Return the `n_best` hypotheses of each sentence, best first.

    Each step extends every open hypothesis by every token and keeps the most probable extensions. A finished
    hypothesis keeps its beam slot, so that a beam of one is greedy search. At the length limit a hypothesis
    must end, and the end mark counts in its log-probability.

    Hypotheses are ranked by log-probability / length penalty. A sentence is done when no open hypothesis
    can still be one of its `n_best`. Stopping then is exact: a token never raises a log-probability, which
    is at most 0, so no extension of a hypothesis scores more than its log-probability divided by the highest
    penalty, that of the length limit. If this bound is not above the worst of the n best, the extension
    cannot enter them, because ties keep the earlier hypothesis. Rounding is monotonic, so this holds in
    floating point, too.
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
    results: list[list[Hypothesis]] = [[] for _ in range(sentences)]
    rows = torch.arange(sentences, device=device)
    state = model.expand(state, search.slots)
    for step in range(1, longest + 2):
        logits, state = model.step(state, beams.last_token.flatten())
        norm, length = log_normalizer(logits), torch.tensor(step, device=device)
        if constraints.bans is not None:
            unforced = constraints.forced_token(length, eos) == UNFORCED
            by_slot = logits.unflatten(0, beams.score.shape)
            constraints.bans.mask_logits(by_slot, beams.tokens[:, :, : step - 1], unforced)
        before = beams
        beams, parents = search.advance(before, constraints, logits, norm, length)
        if observer is not None:
            observer(before, logits, norm, beams, parents)
        state = model.reorder(state, parents)
        unfinished = search.can_improve(beams, constraints)
        left = unfinished.nonzero()[:, 0]
        if len(left) <= COMPACTION_SHARE * len(rows):
            _store_results(results, rows, beams, ~unfinished, eos)
            if not len(left):
                break
            rows, beams, constraints = rows[left], beams.select(left), constraints.select(left)
            state = model.select(state, left)
    return results


def _store_results(
    results: list[list[Hypothesis]],
    rows: Int[Tensor, " sentence"],
    beams: BeamState,
    done: Bool[Tensor, " sentence"],
    eos: int,
) -> None:
    """Store the hypotheses of the sentences that are done; `rows` are the sentences' indexes in `results`."""
    indexes = done.nonzero()[:, 0]
    finished = collect_hypotheses(beams.select(indexes), eos)
    for row, hypotheses in zip(rows[indexes].tolist(), finished, strict=True):
        results[row] = hypotheses
