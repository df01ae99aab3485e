"""One step of beam search, in tensors of fixed shapes and without a look from the host."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.constraint_state import RequiredPhrases, RequiredProgress
from regard.search.constraints import TokenIds, WordBoundaries
from regard.search.hypothesis import Hypothesis, length_penalty
from regard.search.topk import VOCAB_CHUNK, stable_topk, topk_continuations

UNFORCED = -1


@dataclass(frozen=True)
class ConstraintState:
    """How long each translation may be, how it must begin, and what it must contain."""

    max_length: Int[Tensor, " sentence"]
    """Tokens at most."""
    min_length: Int[Tensor, " sentence"]
    """Tokens at least; no more than the limit."""
    prefix: Int[Tensor, "sentence prefix"]
    """The tokens it begins with, then `FREE`, which is in the last column always."""
    required: RequiredPhrases | None = None
    """The phrases that it must contain."""

    @staticmethod
    def from_lists(
        max_lengths: Sequence[int],
        min_length: int = 0,
        prefixes: Sequence[Sequence[int]] | None = None,
        required: Sequence[Sequence[Sequence[TokenIds]]] | None = None,
        word_boundaries: WordBoundaries | None = None,
        device: torch.device | None = None,
    ) -> "ConstraintState":
        prefixes = [()] * len(max_lengths) if prefixes is None else prefixes
        width = 1 + max(map(len, prefixes), default=0)
        rows = [[*prefix, *[UNFORCED] * (width - len(prefix))] for prefix in prefixes]
        limit = torch.tensor(max_lengths, dtype=torch.long, device=device)
        prefix = torch.tensor(rows, dtype=torch.long, device=device).reshape(len(max_lengths), width)
        phrases = (
            None if required is None else RequiredPhrases.from_phrases(required, word_boundaries, device)
        )
        return ConstraintState(limit, limit.clamp(max=min_length), prefix, phrases)

    def forced_token(self, length: Int[Tensor, ""], eos: int) -> Int[Tensor, " sentence"]:
        """The one token that may stand at that place, counted from 1: else `FREE`."""
        at = (length - 1).clamp(max=self.prefix.shape[1] - 1).expand(len(self.max_length), 1)
        return self.prefix.gather(1, at)[:, 0].masked_fill(length > self.max_length, eos)

    def unconstrained_lengths(self) -> range:
        """Lengths at which no sentence must have a certain token, and all may end: known before they come."""
        if not len(self.max_length):
            return range(0)
        first = max(self.prefix.shape[1], int(self.min_length.max()) + 1)
        return range(first, int(self.max_length.min()) + 1)

    def select(self, sentences: Int[Tensor, " chosen"]) -> "ConstraintState":
        required = None if self.required is None else self.required.select(sentences)
        return ConstraintState(
            self.max_length[sentences], self.min_length[sentences], self.prefix[sentences], required
        )


@dataclass(frozen=True)
class BeamState:
    """The hypotheses that may still grow, the likeliest first, and the best that have ended."""

    tokens: Int[Tensor, "sentence place width"]
    """Tokens, and the end mark in all the rest."""
    last_token: Int[Tensor, "sentence place"]
    """The token that the model reads next."""
    score: Float[Tensor, "sentence place"]
    """Log-probability; minus infinity where the place is empty."""
    open_slots: Int[Tensor, " sentence"]
    """Places that no ended hypothesis has taken."""
    finished: Int[Tensor, "sentence best width"]
    """The best that have ended, as they are written."""
    finished_log_probability: Float[Tensor, "sentence best"]
    """Log-probability; minus infinity where nothing is found yet."""
    finished_score: Float[Tensor, "sentence best"]
    """The same over the length penalty, the highest first."""
    required_progress: RequiredProgress | None = None
    """How far the required phrases are written, where there are any."""

    def select(self, sentences: Int[Tensor, " chosen"]) -> "BeamState":
        return BeamState(
            self.tokens[sentences],
            self.last_token[sentences],
            self.score[sentences],
            self.open_slots[sentences],
            self.finished[sentences],
            self.finished_log_probability[sentences],
            self.finished_score[sentences],
            None if self.required_progress is None else self.required_progress[sentences],
        )


class BeamSearchStep:
    """What stays the same from step to step; `width` is the longest limit and one for the end mark."""

    def __init__(
        self, slots: int, n_best: int, alpha: float, eos: int, width: int, device: torch.device
    ) -> None:
        self.slots, self._n_best, self._eos, self._width = slots, n_best, eos, width
        self._penalty = torch.tensor([length_penalty(n, alpha) for n in range(width + 1)], device=device)
        self._column = torch.arange(width, device=device)
        self._place = torch.arange(slots, device=device)

    def initial_state(self, sentences: int, bos: int) -> BeamState:
        """One hypothesis with nothing in it for each sentence; the other places wait."""

        def full(value: int | float, *shape: int) -> Tensor:
            return torch.full((sentences, *shape), value, device=self._column.device)

        score = full(-math.inf, self.slots)
        score[:, 0] = 0.0
        return BeamState(
            full(self._eos, self.slots, self._width),
            full(bos, self.slots),
            score,
            full(self.slots),
            full(self._eos, self._n_best, self._width),
            full(-math.inf, self._n_best),
            full(-math.inf, self._n_best),
        )

    def advance(
        self,
        state: BeamState,
        constraints: ConstraintState,
        logits: Float[Tensor, "row vocab"],
        norm: Float[Tensor, " row"],
        length: Int[Tensor, ""],
        maxima: Float[Tensor, "row chunk"] | None = None,
    ) -> tuple[BeamState, Int[Tensor, " row"]]:
        """One token more for every open hypothesis, and the row that each goes on from.

        `norm` is what makes log-probabilities of the logits, which are overwritten; `length` counts
        the tokens after this step, the end mark among them. `maxima` are those of the chunks of the
        logits, where somebody has them already; they are overwritten too.
        """
        score, place, token = self._topk_continuations(state, constraints, logits, norm, length, maxima)
        score = score.masked_fill(self._place >= state.open_slots[:, None], -math.inf)
        written = self.append_tokens(state, place, token, length)
        ended = (token == self._eos) & (score > -math.inf)
        grown = BeamState(
            written,
            token,
            score.masked_fill(ended, -math.inf),
            state.open_slots - ended.sum(dim=1),
            *self.merge_finished(state, written, score.masked_fill(~ended, -math.inf), length),
        )
        first = torch.arange(0, len(logits), self.slots, device=logits.device)
        return grown, (first[:, None] + place).flatten()

    def can_improve(self, state: BeamState, constraints: ConstraintState) -> Bool[Tensor, " sentence"]:
        """Whether anything open could still become one of the best, by tokens that cost nothing more."""
        reachable = state.score.amax(dim=1) / self._penalty.index_select(0, constraints.max_length + 1)
        return reachable > state.finished_score[:, -1]

    def append_tokens(
        self,
        beams: BeamState,
        parent: Int[Tensor, "sentence place"],
        token: Int[Tensor, "sentence place"],
        length: Int[Tensor, ""],
    ) -> Int[Tensor, "sentence place width"]:
        """What the parents have written, and one token more."""
        written = beams.tokens.gather(1, parent[:, :, None].expand(-1, -1, self._width))
        return token[:, :, None].where(self._column == length - 1, written)

    def merge_finished(
        self,
        beams: BeamState,
        written: Int[Tensor, "sentence place width"],
        ended: Float[Tensor, "sentence place"],
        length: Int[Tensor, ""],
    ) -> tuple[
        Int[Tensor, "sentence best width"], Float[Tensor, "sentence best"], Float[Tensor, "sentence best"]
    ]:
        """The best of what had ended and what has just ended; the earlier among equals."""
        score = torch.cat([beams.finished_score, ended / self._penalty.index_select(0, length[None])], dim=1)
        score, which = stable_topk(score, self._n_best)
        found = torch.cat([beams.finished, written], dim=1)
        log = torch.cat([beams.finished_log_probability, ended], dim=1).gather(1, which)
        return found.gather(1, which[:, :, None].expand(-1, -1, self._width)), log, score

    def _topk_continuations(
        self,
        beams: BeamState,
        bounds: ConstraintState,
        logits: Float[Tensor, "row vocab"],
        norm: Float[Tensor, " row"],
        length: Int[Tensor, ""],
        maxima: Float[Tensor, "row chunk"] | None,
    ) -> tuple[Float[Tensor, "sentence place"], Int[Tensor, "sentence place"], Int[Tensor, "sentence place"]]:
        """The likeliest continuations in order: their scores, the places they go on from, their tokens."""
        logits, norm = logits.unflatten(0, beams.score.shape), norm.unflatten(0, beams.score.shape)
        forced = bounds.forced_token(length, self._eos)
        only = forced.clamp(min=0)[:, None].expand_as(beams.score)
        only_score = (logits.gather(2, only[:, :, None])[:, :, 0].float() - norm) + beams.score
        only_score, only_place = stable_topk(only_score, self.slots)
        early = (length <= bounds.min_length)[:, None]
        logits[:, :, self._eos] = logits[:, :, self._eos].masked_fill(early, -math.inf)
        if maxima is not None:
            maxima = maxima.unflatten(0, beams.score.shape)
            chunk = self._eos // VOCAB_CHUNK
            maxima[:, :, chunk] = logits[:, :, chunk * VOCAB_CHUNK : (chunk + 1) * VOCAB_CHUNK].amax(dim=2)
        score, place, token = topk_continuations(logits, norm, beams.score, self.slots, maxima)
        free = (forced == UNFORCED)[:, None]
        return score.where(free, only_score), place.where(free, only_place), token.where(free, only)


def collect_hypotheses(state: BeamState, eos: int) -> list[list[Hypothesis]]:
    """What was found, as plain values; one empty hypothesis where nothing was."""
    rows = zip(
        state.finished.tolist(),
        state.finished_log_probability.tolist(),
        state.finished_score.tolist(),
        strict=True,
    )
    return [
        [
            Hypothesis(tuple(tokens[: tokens.index(eos)]), log, score)
            for tokens, log, score in zip(*row, strict=True)
            if log > -math.inf
        ]
        or [Hypothesis((), -math.inf, -math.inf)]
        for row in rows
    ]
