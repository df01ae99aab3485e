"""One step of beam search, in tensors of fixed shapes and without a look from the host."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.constraint_state import Progress, Required
from regard.search.constraints import Edges, Tokens
from regard.search.hypothesis import Hypothesis, length_penalty
from regard.search.topk import CHUNK, highest, likeliest

FREE = -1


@dataclass(frozen=True)
class Bounds:
    """How long each translation may be, how it must begin, and what it must contain."""

    limit: Int[Tensor, " sentence"]
    """Tokens at most."""
    minimum: Int[Tensor, " sentence"]
    """Tokens at least; no more than the limit."""
    prefix: Int[Tensor, "sentence prefix"]
    """The tokens it begins with, then `FREE`, which is in the last column always."""
    required: Required | None = None
    """The phrases that it must contain."""

    @staticmethod
    def of(
        limits: Sequence[int],
        minimum: int = 0,
        prefixes: Sequence[Sequence[int]] | None = None,
        required: Sequence[Sequence[Sequence[Tokens]]] | None = None,
        edges: Edges | None = None,
        device: torch.device | None = None,
    ) -> "Bounds":
        prefixes = [()] * len(limits) if prefixes is None else prefixes
        width = 1 + max(map(len, prefixes), default=0)
        rows = [[*prefix, *[FREE] * (width - len(prefix))] for prefix in prefixes]
        limit = torch.tensor(limits, dtype=torch.long, device=device)
        prefix = torch.tensor(rows, dtype=torch.long, device=device).reshape(len(limits), width)
        phrases = None if required is None else Required.of(required, edges, device)
        return Bounds(limit, limit.clamp(max=minimum), prefix, phrases)

    def forced(self, length: Int[Tensor, ""], eos: int) -> Int[Tensor, " sentence"]:
        """The one token that may stand at that place, counted from 1: else `FREE`."""
        at = (length - 1).clamp(max=self.prefix.shape[1] - 1).expand(len(self.limit), 1)
        return self.prefix.gather(1, at)[:, 0].masked_fill(length > self.limit, eos)

    def free(self) -> range:
        """Lengths at which no sentence must have a certain token, and all may end: known before they come."""
        if not len(self.limit):
            return range(0)
        first = max(self.prefix.shape[1], int(self.minimum.max()) + 1)
        return range(first, int(self.limit.min()) + 1)

    def select(self, sentences: Int[Tensor, " chosen"]) -> "Bounds":
        required = None if self.required is None else self.required.select(sentences)
        return Bounds(self.limit[sentences], self.minimum[sentences], self.prefix[sentences], required)


@dataclass(frozen=True)
class Beams:
    """The hypotheses that may still grow, the likeliest first, and the best that have ended."""

    written: Int[Tensor, "sentence place width"]
    """Tokens, and the end mark in all the rest."""
    last: Int[Tensor, "sentence place"]
    """The token that the model reads next."""
    score: Float[Tensor, "sentence place"]
    """Log-probability; minus infinity where the place is empty."""
    room: Int[Tensor, " sentence"]
    """Places that no ended hypothesis has taken."""
    found: Int[Tensor, "sentence best width"]
    """The best that have ended, as they are written."""
    found_log: Float[Tensor, "sentence best"]
    """Log-probability; minus infinity where nothing is found yet."""
    found_score: Float[Tensor, "sentence best"]
    """The same over the length penalty, the highest first."""
    progress: Progress | None = None
    """How far the required phrases are written, where there are any."""

    def select(self, sentences: Int[Tensor, " chosen"]) -> "Beams":
        return Beams(
            self.written[sentences],
            self.last[sentences],
            self.score[sentences],
            self.room[sentences],
            self.found[sentences],
            self.found_log[sentences],
            self.found_score[sentences],
            None if self.progress is None else self.progress[sentences],
        )


class BeamSearch:
    """What stays the same from step to step; `width` is the longest limit and one for the end mark."""

    def __init__(
        self, places: int, n_best: int, alpha: float, eos: int, width: int, device: torch.device
    ) -> None:
        self.places, self._n_best, self._eos, self._width = places, n_best, eos, width
        self._penalty = torch.tensor([length_penalty(n, alpha) for n in range(width + 1)], device=device)
        self._column = torch.arange(width, device=device)
        self._place = torch.arange(places, device=device)

    def start(self, sentences: int, bos: int) -> Beams:
        """One hypothesis with nothing in it for each sentence; the other places wait."""

        def full(value: int | float, *shape: int) -> Tensor:
            return torch.full((sentences, *shape), value, device=self._column.device)

        score = full(-math.inf, self.places)
        score[:, 0] = 0.0
        return Beams(
            full(self._eos, self.places, self._width),
            full(bos, self.places),
            score,
            full(self.places),
            full(self._eos, self._n_best, self._width),
            full(-math.inf, self._n_best),
            full(-math.inf, self._n_best),
        )

    def advance(
        self,
        beams: Beams,
        bounds: Bounds,
        logits: Float[Tensor, "row vocab"],
        norm: Float[Tensor, " row"],
        length: Int[Tensor, ""],
        maxima: Float[Tensor, "row chunk"] | None = None,
    ) -> tuple[Beams, Int[Tensor, " row"]]:
        """One token more for every open hypothesis, and the row that each goes on from.

        `norm` is what makes log-probabilities of the logits, which are overwritten; `length` counts
        the tokens after this step, the end mark among them. `maxima` are those of the chunks of the
        logits, where somebody has them already; they are overwritten too.
        """
        score, place, token = self._continued(beams, bounds, logits, norm, length, maxima)
        score = score.masked_fill(self._place >= beams.room[:, None], -math.inf)
        written = self.written(beams, place, token, length)
        ended = (token == self._eos) & (score > -math.inf)
        grown = Beams(
            written,
            token,
            score.masked_fill(ended, -math.inf),
            beams.room - ended.sum(dim=1),
            *self.best(beams, written, score.masked_fill(~ended, -math.inf), length),
        )
        first = torch.arange(0, len(logits), self.places, device=logits.device)
        return grown, (first[:, None] + place).flatten()

    def can_win(self, beams: Beams, bounds: Bounds) -> Bool[Tensor, " sentence"]:
        """Whether anything open could still become one of the best, by tokens that cost nothing more."""
        reachable = beams.score.amax(dim=1) / self._penalty.index_select(0, bounds.limit + 1)
        return reachable > beams.found_score[:, -1]

    def written(
        self,
        beams: Beams,
        parent: Int[Tensor, "sentence place"],
        token: Int[Tensor, "sentence place"],
        length: Int[Tensor, ""],
    ) -> Int[Tensor, "sentence place width"]:
        """What the parents have written, and one token more."""
        written = beams.written.gather(1, parent[:, :, None].expand(-1, -1, self._width))
        return token[:, :, None].where(self._column == length - 1, written)

    def best(
        self,
        beams: Beams,
        written: Int[Tensor, "sentence place width"],
        ended: Float[Tensor, "sentence place"],
        length: Int[Tensor, ""],
    ) -> tuple[
        Int[Tensor, "sentence best width"], Float[Tensor, "sentence best"], Float[Tensor, "sentence best"]
    ]:
        """The best of what had ended and what has just ended; the earlier among equals."""
        score = torch.cat([beams.found_score, ended / self._penalty.index_select(0, length[None])], dim=1)
        score, which = highest(score, self._n_best)
        found = torch.cat([beams.found, written], dim=1)
        log = torch.cat([beams.found_log, ended], dim=1).gather(1, which)
        return found.gather(1, which[:, :, None].expand(-1, -1, self._width)), log, score

    def _continued(
        self,
        beams: Beams,
        bounds: Bounds,
        logits: Float[Tensor, "row vocab"],
        norm: Float[Tensor, " row"],
        length: Int[Tensor, ""],
        maxima: Float[Tensor, "row chunk"] | None,
    ) -> tuple[Float[Tensor, "sentence place"], Int[Tensor, "sentence place"], Int[Tensor, "sentence place"]]:
        """The likeliest continuations in order: their scores, the places they go on from, their tokens."""
        logits, norm = logits.unflatten(0, beams.score.shape), norm.unflatten(0, beams.score.shape)
        forced = bounds.forced(length, self._eos)
        only = forced.clamp(min=0)[:, None].expand_as(beams.score)
        only_score = (logits.gather(2, only[:, :, None])[:, :, 0].float() - norm) + beams.score
        only_score, only_place = highest(only_score, self.places)
        early = (length <= bounds.minimum)[:, None]
        logits[:, :, self._eos] = logits[:, :, self._eos].masked_fill(early, -math.inf)
        if maxima is not None:
            maxima = maxima.unflatten(0, beams.score.shape)
            chunk = self._eos // CHUNK
            maxima[:, :, chunk] = logits[:, :, chunk * CHUNK : (chunk + 1) * CHUNK].amax(dim=2)
        score, place, token = likeliest(logits, norm, beams.score, self.places, maxima)
        free = (forced == FREE)[:, None]
        return score.where(free, only_score), place.where(free, only_place), token.where(free, only)


def hypotheses(beams: Beams, eos: int) -> list[list[Hypothesis]]:
    """What was found, as plain values; one empty hypothesis where nothing was."""
    rows = zip(beams.found.tolist(), beams.found_log.tolist(), beams.found_score.tolist(), strict=True)
    return [
        [
            Hypothesis(tuple(tokens[: tokens.index(eos)]), log, score)
            for tokens, log, score in zip(*row, strict=True)
            if log > -math.inf
        ]
        or [Hypothesis((), -math.inf, -math.inf)]
        for row in rows
    ]
