"""One step of a beam search that must write certain phrases: what ends contains them all."""

import math
from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.beam_state import UNFORCED, BeamSearchStep, BeamState, ConstraintState
from regard.search.config import SearchConfig
from regard.search.constraint_state import NO_TOKEN, RequiredPhrases
from regard.search.topk import topk_continuations

SLOTS_PER_REQUIRED_TOKEN = 2
"""Places that each required token adds to the beam."""


class ConstrainedBeamSearchStep:
    """Beam search with the places dealt out by how much is still missing.

    Left to themselves, the likeliest hypotheses would be those that have not begun a phrase yet.
    So hypotheses that lack the same number of tokens compete with each other only, and each such
    group gets its best in before any gets its second best (after Post and Vilar, 2018). Each is
    continued by its likeliest tokens and by those that carry a phrase on. It may end once nothing
    is missing, and takes nobody's place when it does.

    Nothing is kept that lacks more tokens than its limit leaves room for. One continuation always
    lacks one token less than the hypothesis it comes from, so what fits in the beginning is
    written in the end, unless it is banned.
    """

    def __init__(self, config: SearchConfig, eos: int, width: int, required: RequiredPhrases) -> None:
        self._phrases, self._beam, self._eos = required, config.beam, eos
        self._room = config.beam + SLOTS_PER_REQUIRED_TOKEN * required.total_tokens()
        self.slots = int(self._room.max())
        self._plain = BeamSearchStep(self.slots, config.n_best, config.alpha, eos, width, self._room.device)

    def initial_state(self, sentences: int, bos: int) -> BeamState:
        progress = self._phrases.initial_progress(self.slots)
        return replace(
            self._plain.initial_state(sentences, bos), open_slots=self._room, required_progress=progress
        )

    def can_improve(self, state: BeamState, constraints: ConstraintState) -> Bool[Tensor, " sentence"]:
        return self._plain.can_improve(state, constraints)

    def advance(
        self,
        state: BeamState,
        constraints: ConstraintState,
        logits: Float[Tensor, "row vocab"],
        norm: Float[Tensor, " row"],
        length: Int[Tensor, ""],
    ) -> tuple[BeamState, Int[Tensor, " row"]]:
        """As `BeamSearch.advance`."""
        phrases, progress = constraints.required, state.required_progress
        assert phrases is not None
        assert progress is not None
        forced = constraints.forced_token(length, self._eos)
        logits, norm = logits.unflatten(0, state.score.shape), norm.unflatten(0, state.score.shape)
        may_end = ((forced == UNFORCED) | (forced == self._eos)) & (length > constraints.min_length)
        may_end = may_end[:, None] & (phrases.missing_tokens(progress) == 0)
        ended = ((logits[:, :, self._eos].float() - norm) + state.score).masked_fill(~may_end, -math.inf)
        token, score = self._candidates(state, phrases.next_tokens(progress), forced, logits, norm)
        grown = phrases.advance(progress.repeat_interleave(token.shape[2], dim=1), token.flatten(1))
        lacking = phrases.missing_tokens(grown)
        score = score.flatten(1).masked_fill(lacking > (constraints.max_length - length)[:, None], -math.inf)
        which = allocate_beam_slots(score, lacking, self.slots)
        parent = which // token.shape[2]
        token, score = token.flatten(1).gather(1, which), score.gather(1, which)
        empty = torch.arange(self.slots, device=score.device) >= state.open_slots[:, None]
        sentence = torch.arange(len(score), device=score.device)[:, None]
        after = BeamState(
            self._plain.append_tokens(state, parent, token, length),
            token,
            score.masked_fill(empty, -math.inf),
            state.open_slots,
            *self._plain.merge_finished(state, state.tokens, ended, length),
            grown[sentence, which],
        )
        return after, (sentence * self.slots + parent).flatten()

    def _candidates(
        self,
        beams: BeamState,
        wanted: Int[Tensor, "sentence place wanted"],
        forced: Int[Tensor, " sentence"],
        logits: Float[Tensor, "sentence place vocab"],
        norm: Float[Tensor, "sentence place"],
    ) -> tuple[Int[Tensor, "sentence place choices"], Float[Tensor, "sentence place choices"]]:
        """Tokens to go on with from each place, and the scores of that; minus infinity for no choice at all.

        The one that is forced, or else the likeliest and those that a phrase wants, none twice.
        """
        logits[:, :, self._eos] = -math.inf
        rows, count = logits.flatten(0, 1)[:, None], min(self._beam, logits.shape[2])
        own = topk_continuations(rows, norm.view(-1, 1), beams.score.view(-1, 1), count)[2].view(
            *norm.shape, count
        )
        only = forced[:, None, None].expand(*norm.shape, 1)
        token = torch.cat([only, own, wanted], dim=2)
        known = (token[..., None] == token[:, :, None]).tril(-1).any(dim=3)
        free = (forced == UNFORCED)[:, None, None]
        choice = torch.cat([~free.expand_as(only), free.expand_as(token[:, :, 1:])], dim=2)
        choice = choice & ~known & (token != NO_TOKEN) & (token != self._eos)
        token = token.clamp(min=0)
        score = (logits.gather(2, token).float() - norm[:, :, None]) + beams.score[:, :, None]
        return token, score.masked_fill(~choice, -math.inf)


def allocate_beam_slots(
    score: Float[Tensor, "sentence choices"], missing: Int[Tensor, "sentence choices"], count: int
) -> Int[Tensor, "sentence count"]:
    """Which choices get the places: the best of each group, then the second best of each, and so on.

    A group is those that lack equally much; the one that lacks least comes first.
    """
    order = score.sort(dim=1, descending=True, stable=True).indices
    order = order.gather(1, missing.gather(1, order).sort(dim=1, stable=True).indices)
    group = missing.gather(1, order)
    at = torch.arange(group.shape[1], device=group.device).expand_as(group)
    begins = torch.cat([torch.ones_like(group[:, :1], dtype=torch.bool), group.diff(dim=1) != 0], dim=1)
    rank = at - at.where(begins, 0).cummax(dim=1).values
    turn = (rank * (group.amax() + 1) + group).masked_fill(score.gather(1, order) == -math.inf, 1 << 40)
    return order.gather(1, turn.sort(dim=1, stable=True).indices[:, :count])
