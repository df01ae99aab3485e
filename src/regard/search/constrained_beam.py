"""One step of beam search with required phrases, and the allocation of its beam slots."""

import math
from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.beam_state import BeamSearchStep, BeamState
from regard.search.config import SearchConfig
from regard.search.constraint_state import UNFORCED, ConstraintState
from regard.search.required_phrases import NO_TOKEN, RequiredPhrases
from regard.search.topk import topk_continuations

SLOTS_PER_REQUIRED_TOKEN = 2
"""Beam slots added for each required token."""


class ConstrainedBeamSearchStep:
    """One step of a beam search in which every finished hypothesis contains all required phrases.

    An unconstrained beam would prefer hypotheses that have not started a phrase. So hypotheses that
    miss the same number of tokens form a group and compete only with each other, and slots are
    allocated round-robin over the groups (after Post and Vilar, 2018). Each hypothesis is
    extended by its most probable tokens and by those that extend a phrase. It may end once no token
    is missing; a finished hypothesis takes no slot.

    A hypothesis that misses more tokens than its length limit leaves room for is dropped. One extension of
    each hypothesis misses one token less, so phrases that fit at the start are complete at the end, unless
    they are banned.
    """

    def __init__(self, config: SearchConfig, eos: int, width: int, required: RequiredPhrases) -> None:
        self._required, self._beam, self._eos = required, config.beam, eos
        self._open_slots = config.beam + SLOTS_PER_REQUIRED_TOKEN * required.total_tokens()
        self.slots = int(self._open_slots.max())
        device = self._open_slots.device
        self._plain = BeamSearchStep(self.slots, config.n_best, config.alpha, eos, width, device)

    def initial_state(self, sentences: int, bos: int) -> BeamState:
        return replace(
            self._plain.initial_state(sentences, bos),
            open_slots=self._open_slots,
            required_progress=self._required.initial_progress(self.slots),
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
        """Extend every open hypothesis by one token, as `BeamSearchStep.advance` does."""
        required, progress = constraints.required, state.required_progress
        assert required is not None
        assert progress is not None
        forced = constraints.forced_token(length, self._eos)
        logits, norm = logits.unflatten(0, state.score.shape), norm.unflatten(0, state.score.shape)
        may_end = ((forced == UNFORCED) | (forced == self._eos)) & (length > constraints.min_length)
        may_end = may_end[:, None] & (required.missing_tokens(progress) == 0)
        ended = ((logits[:, :, self._eos].float() - norm) + state.score).masked_fill(~may_end, -math.inf)
        token, score = self._candidates(state, required.next_tokens(progress), forced, logits, norm)
        progress = required.advance(progress.repeat_interleave(token.shape[2], dim=1), token.flatten(1))
        missing = required.missing_tokens(progress)
        remaining_length = (constraints.max_length - length)[:, None]
        is_lost = (missing > remaining_length) & (forced == UNFORCED)[:, None]  # a prefix may have phrases
        score = score.flatten(1).masked_fill(is_lost, -math.inf)
        index = allocate_beam_slots(score, missing, self.slots)
        parent = index // token.shape[2]
        token, score = token.flatten(1).gather(1, index), score.gather(1, index)
        is_empty = torch.arange(self.slots, device=score.device) >= state.open_slots[:, None]
        sentence = torch.arange(len(score), device=score.device)[:, None]
        pruned = BeamState(
            self._plain.append_tokens(state, parent, token, length),
            token,
            score.masked_fill(is_empty, -math.inf),
            state.open_slots,
            *self._plain.merge_finished(state, state.tokens, ended, length),
            progress[sentence, index],
        )
        return pruned, (sentence * self.slots + parent).flatten()

    def _candidates(
        self,
        state: BeamState,
        required: Int[Tensor, "sentence slot required"],
        forced: Int[Tensor, " sentence"],
        logits: Float[Tensor, "sentence slot vocab"],
        norm: Float[Tensor, "sentence slot"],
    ) -> tuple[Int[Tensor, "sentence slot choices"], Float[Tensor, "sentence slot choices"]]:
        """Return candidate tokens for each slot and their scores; minus infinity for those ruled out.

        The forced token if there is one, else the most probable tokens and those in `required`, none twice.
        """
        logits[:, :, self._eos] = -math.inf
        rows, count = logits.flatten(0, 1)[:, None], min(self._beam, logits.shape[2])
        _, _, most_probable = topk_continuations(rows, norm.view(-1, 1), state.score.view(-1, 1), count)
        forced_token = forced[:, None, None].expand(*norm.shape, 1)
        token = torch.cat([forced_token, most_probable.view(*norm.shape, count), required], dim=2)
        is_duplicate = (token[..., None] == token[:, :, None]).tril(-1).any(dim=3)
        unforced = (forced == UNFORCED)[:, None, None]
        allowed = torch.cat([~unforced.expand_as(forced_token), unforced.expand_as(token[:, :, 1:])], dim=2)
        allowed = allowed & ~is_duplicate & (token != NO_TOKEN) & (token != self._eos)
        token = token.clamp(min=0)
        score = (logits.gather(2, token).float() - norm[:, :, None]) + state.score[:, :, None]
        return token, score.masked_fill(~allowed, -math.inf)


def allocate_beam_slots(
    score: Float[Tensor, "sentence choices"], missing: Int[Tensor, "sentence choices"], count: int
) -> Int[Tensor, "sentence count"]:
    """Return the choices that get a slot: the best of each group, then the second best of each, and so on.

    A group is the choices that miss the same number of tokens; the group that misses least comes first.
    """
    order = score.sort(dim=1, descending=True, stable=True).indices
    order = order.gather(1, missing.gather(1, order).sort(dim=1, stable=True).indices)
    group = missing.gather(1, order)
    index = torch.arange(group.shape[1], device=group.device).expand_as(group)
    is_first = torch.cat([torch.ones_like(group[:, :1], dtype=torch.bool), group.diff(dim=1) != 0], dim=1)
    rank = index - index.where(is_first, 0).cummax(dim=1).values
    slot_order = (rank * (group.amax() + 1) + group).masked_fill(score.gather(1, order) == -math.inf, 1 << 40)
    return order.gather(1, slot_order.sort(dim=1, stable=True).indices[:, :count])
