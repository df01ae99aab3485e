"""One step of a beam search that must write certain phrases: what ends contains them all."""

import math
from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.beam_state import FREE, Beams, BeamSearch, Bounds
from regard.search.config import SearchConfig
from regard.search.constraint_state import NO_TOKEN, Required
from regard.search.topk import likeliest

PLACES_A_TOKEN = 2
"""Places that each required token adds to the beam."""


class ConstrainedSearch:
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

    def __init__(self, config: SearchConfig, eos: int, width: int, phrases: Required) -> None:
        self._phrases, self._beam, self._eos = phrases, config.beam, eos
        self._room = config.beam + PLACES_A_TOKEN * phrases.total()
        self.places = int(self._room.max())
        self._plain = BeamSearch(self.places, config.n_best, config.alpha, eos, width, self._room.device)

    def start(self, sentences: int, bos: int) -> Beams:
        progress = self._phrases.start(self.places)
        return replace(self._plain.start(sentences, bos), room=self._room, progress=progress)

    def can_win(self, beams: Beams, bounds: Bounds) -> Bool[Tensor, " sentence"]:
        return self._plain.can_win(beams, bounds)

    def advance(
        self,
        beams: Beams,
        bounds: Bounds,
        logits: Float[Tensor, "row vocab"],
        norm: Float[Tensor, " row"],
        length: Int[Tensor, ""],
    ) -> tuple[Beams, Int[Tensor, " row"]]:
        """As `BeamSearch.advance`."""
        phrases, progress = bounds.required, beams.progress
        assert phrases is not None
        assert progress is not None
        forced = bounds.forced(length, self._eos)
        logits, norm = logits.unflatten(0, beams.score.shape), norm.unflatten(0, beams.score.shape)
        may_end = ((forced == FREE) | (forced == self._eos)) & (length > bounds.minimum)
        may_end = may_end[:, None] & (phrases.needed(progress) == 0)
        ended = ((logits[:, :, self._eos].float() - norm) + beams.score).masked_fill(~may_end, -math.inf)
        token, score = self._candidates(beams, phrases.wanted(progress), forced, logits, norm)
        grown = phrases.then(progress.repeat_interleave(token.shape[2], dim=1), token.flatten(1))
        lacking = phrases.needed(grown)
        score = score.flatten(1).masked_fill(lacking > (bounds.limit - length)[:, None], -math.inf)
        which = dealt_out(score, lacking, self.places)
        parent = which // token.shape[2]
        token, score = token.flatten(1).gather(1, which), score.gather(1, which)
        empty = torch.arange(self.places, device=score.device) >= beams.room[:, None]
        sentence = torch.arange(len(score), device=score.device)[:, None]
        after = Beams(
            self._plain.written(beams, parent, token, length),
            token,
            score.masked_fill(empty, -math.inf),
            beams.room,
            *self._plain.best(beams, beams.written, ended, length),
            grown[sentence, which],
        )
        return after, (sentence * self.places + parent).flatten()

    def _candidates(
        self,
        beams: Beams,
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
        own = likeliest(rows, norm.view(-1, 1), beams.score.view(-1, 1), count)[2].view(*norm.shape, count)
        only = forced[:, None, None].expand(*norm.shape, 1)
        token = torch.cat([only, own, wanted], dim=2)
        known = (token[..., None] == token[:, :, None]).tril(-1).any(dim=3)
        free = (forced == FREE)[:, None, None]
        choice = torch.cat([~free.expand_as(only), free.expand_as(token[:, :, 1:])], dim=2)
        choice = choice & ~known & (token != NO_TOKEN) & (token != self._eos)
        token = token.clamp(min=0)
        score = (logits.gather(2, token).float() - norm[:, :, None]) + beams.score[:, :, None]
        return token, score.masked_fill(~choice, -math.inf)


def dealt_out(
    score: Float[Tensor, "sentence choices"], lacking: Int[Tensor, "sentence choices"], count: int
) -> Int[Tensor, "sentence count"]:
    """Which choices get the places: the best of each group, then the second best of each, and so on.

    A group is those that lack equally much; the one that lacks least comes first.
    """
    order = score.sort(dim=1, descending=True, stable=True).indices
    order = order.gather(1, lacking.gather(1, order).sort(dim=1, stable=True).indices)
    group = lacking.gather(1, order)
    at = torch.arange(group.shape[1], device=group.device).expand_as(group)
    begins = torch.cat([torch.ones_like(group[:, :1], dtype=torch.bool), group.diff(dim=1) != 0], dim=1)
    rank = at - at.where(begins, 0).cummax(dim=1).values
    turn = (rank * (group.amax() + 1) + group).masked_fill(score.gather(1, order) == -math.inf, 1 << 40)
    return order.gather(1, turn.sort(dim=1, stable=True).indices[:, :count])
