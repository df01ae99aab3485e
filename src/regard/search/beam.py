"""Beam search: the likeliest hypotheses side by side, and the best that ended (section 6.1)."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.search.beam_state import FREE, Beams, BeamSearch, Bounds, hypotheses
from regard.search.config import SearchConfig
from regard.search.constrained_beam import ConstrainedSearch
from regard.search.constraint_state import Bans
from regard.search.hypothesis import Hypothesis
from regard.search.interface import State, Step
from regard.search.topk import log_norm

STILL_FULL = 0.75
"""Sentences that are done leave the batch when no more than this share is left: to move the others costs."""

Watch = Callable[[Beams, Tensor, Tensor, Beams, Tensor], None]
"""Told of each step: beams before, logits and their norm, beams after, and the rows they go on from."""


def beam(
    model: Step[State],
    state: State,
    bos: int,
    eos: int,
    bounds: Bounds,
    config: SearchConfig,
    bans: Bans | None = None,
    watch: Watch | None = None,
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
    sentences = len(bounds.limit)
    if not sentences:
        return []
    device, longest = bounds.limit.device, int(bounds.limit.max())
    if bounds.required is None:
        search = BeamSearch(config.beam, config.n_best, config.alpha, eos, longest + 1, device)
    else:
        search = ConstrainedSearch(config, eos, longest + 1, bounds.required)
    beams = search.start(sentences, bos)
    answers: list[list[Hypothesis]] = [[] for _ in range(sentences)]
    rows = torch.arange(sentences, device=device)
    state = model.expand(state, search.places)
    for length in range(1, longest + 2):
        logits, state = model.step(state, beams.last.flatten())
        norm, now = log_norm(logits), torch.tensor(length, device=device)
        if bans is not None:
            free = bounds.forced(now, eos) == FREE
            bans.apply(logits.unflatten(0, beams.score.shape), beams.written[:, :, : length - 1], free)
        before = beams
        beams, parents = search.advance(before, bounds, logits, norm, now)
        if watch is not None:
            watch(before, logits, norm, beams, parents)
        state = model.reorder(state, parents)
        left = (going_on := search.can_win(beams, bounds)).nonzero()[:, 0]
        if len(left) <= STILL_FULL * len(rows):
            _take(answers, rows, beams, ~going_on, eos)
            if not len(left):
                break
            rows, beams, bounds = rows[left], beams.select(left), bounds.select(left)
            state, bans = model.select(state, left), None if bans is None else bans.select(left)
    return answers


def _take(
    answers: list[list[Hypothesis]],
    rows: Int[Tensor, " sentence"],
    beams: Beams,
    done: Bool[Tensor, " sentence"],
    eos: int,
) -> None:
    """Writes down what was found for the sentences that are done; `rows` are their numbers."""
    which = done.nonzero()[:, 0]
    for row, found in zip(rows[which].tolist(), hypotheses(beams.select(which), eos), strict=True):
        answers[row] = found
