"""Beam state and one step of beam search, in tensors of fixed shapes and without host synchronization."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.constraint_state import UNFORCED, ConstraintState
from regard.search.hypothesis import Hypothesis, length_penalty
from regard.search.required_phrases import RequiredProgress
from regard.search.topk import VOCAB_CHUNK, stable_topk, topk_continuations


@dataclass(frozen=True)
class BeamState:
    """The open hypotheses of each sentence, the most probable first, and its best finished ones."""

    tokens: Int[Tensor, "sentence slot width"]
    """Padded with the end mark."""
    last_token: Int[Tensor, "sentence slot"]
    """The token the model reads next."""
    score: Float[Tensor, "sentence slot"]
    """Log-probability; minus infinity in an empty slot."""
    open_slots: Int[Tensor, " sentence"]
    """Slots not taken by a finished hypothesis."""
    finished: Int[Tensor, "sentence best width"]
    """Tokens of the best finished hypotheses, best first."""
    finished_log_probability: Float[Tensor, "sentence best"]
    """Minus infinity where there is none yet."""
    finished_score: Float[Tensor, "sentence best"]
    """The log-probability divided by the length penalty."""
    required_progress: RequiredProgress | None = None
    """Automaton states of the required phrases, if there are any."""

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
    """One step of beam search; `width` is the longest length limit plus one for the end mark."""

    def __init__(
        self, slots: int, n_best: int, alpha: float, eos: int, width: int, device: torch.device
    ) -> None:
        self.slots, self._n_best, self._eos, self._width = slots, n_best, eos, width
        self._penalty = torch.tensor([length_penalty(n, alpha) for n in range(width + 1)], device=device)
        self._column = torch.arange(width, device=device)
        self._slot = torch.arange(slots, device=device)

    def initial_state(self, sentences: int, bos: int) -> BeamState:
        """Return a beam with one empty hypothesis per sentence; the other slots are empty."""

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
        """Extend every open hypothesis by one token; return the pruned beam and each row's parent row.

        `norm` is the log-normalizer of `logits`, which are overwritten; `length` counts
        the tokens after this step, end mark included. `maxima` are the chunk maxima of the
        logits, if already known; they are overwritten, too.
        """
        score, parent, token = self._topk_continuations(state, constraints, logits, norm, length, maxima)
        score = score.masked_fill(self._slot >= state.open_slots[:, None], -math.inf)
        tokens = self.append_tokens(state, parent, token, length)
        ended = (token == self._eos) & (score > -math.inf)
        pruned = BeamState(
            tokens,
            token,
            score.masked_fill(ended, -math.inf),
            state.open_slots - ended.sum(dim=1),
            *self.merge_finished(state, tokens, score.masked_fill(~ended, -math.inf), length),
        )
        first_row = torch.arange(0, len(logits), self.slots, device=logits.device)
        return pruned, (first_row[:, None] + parent).flatten()

    def can_improve(self, state: BeamState, constraints: ConstraintState) -> Bool[Tensor, " sentence"]:
        """Return whether an open hypothesis could still become one of the n best at the highest penalty."""
        bound = state.score.amax(dim=1) / self._penalty.index_select(0, constraints.max_length + 1)
        return bound > state.finished_score[:, -1]

    def append_tokens(
        self,
        state: BeamState,
        parent: Int[Tensor, "sentence slot"],
        token: Int[Tensor, "sentence slot"],
        length: Int[Tensor, ""],
    ) -> Int[Tensor, "sentence slot width"]:
        """Return the parents' tokens with one more."""
        tokens = state.tokens.gather(1, parent[:, :, None].expand(-1, -1, self._width))
        return token[:, :, None].where(self._column == length - 1, tokens)

    def merge_finished(
        self,
        state: BeamState,
        tokens: Int[Tensor, "sentence slot width"],
        log_probability: Float[Tensor, "sentence slot"],
        length: Int[Tensor, ""],
    ) -> tuple[
        Int[Tensor, "sentence best width"], Float[Tensor, "sentence best"], Float[Tensor, "sentence best"]
    ]:
        """Return the best of the finished hypotheses and those that end now; ties keep the earlier.

        `log_probability` is minus infinity for those that do not end now.
        """
        score = log_probability / self._penalty.index_select(0, length[None])
        score, index = stable_topk(torch.cat([state.finished_score, score], dim=1), self._n_best)
        finished = torch.cat([state.finished, tokens], dim=1)
        finished = finished.gather(1, index[:, :, None].expand(-1, -1, self._width))
        log_probability = torch.cat([state.finished_log_probability, log_probability], dim=1)
        return finished, log_probability.gather(1, index), score

    def _topk_continuations(
        self,
        state: BeamState,
        constraints: ConstraintState,
        logits: Float[Tensor, "row vocab"],
        norm: Float[Tensor, " row"],
        length: Int[Tensor, ""],
        maxima: Float[Tensor, "row chunk"] | None,
    ) -> tuple[Float[Tensor, "sentence slot"], Int[Tensor, "sentence slot"], Int[Tensor, "sentence slot"]]:
        """Return the scores, parent slots and tokens of the most probable continuations, in order."""
        logits, norm = logits.unflatten(0, state.score.shape), norm.unflatten(0, state.score.shape)
        forced = constraints.forced_token(length, self._eos)
        forced_token = forced.clamp(min=0)[:, None].expand_as(state.score)
        forced_score = (logits.gather(2, forced_token[:, :, None])[:, :, 0].float() - norm) + state.score
        forced_score, forced_parent = stable_topk(forced_score, self.slots)
        too_short = (length <= constraints.min_length)[:, None]
        logits[:, :, self._eos] = logits[:, :, self._eos].masked_fill(too_short, -math.inf)
        if maxima is not None:
            maxima = maxima.unflatten(0, state.score.shape)
            chunk = self._eos // VOCAB_CHUNK
            maxima[:, :, chunk] = logits[:, :, chunk * VOCAB_CHUNK : (chunk + 1) * VOCAB_CHUNK].amax(dim=2)
        score, parent, token = topk_continuations(logits, norm, state.score, self.slots, maxima)
        unforced = (forced == UNFORCED)[:, None]
        return (
            score.where(unforced, forced_score),
            parent.where(unforced, forced_parent),
            token.where(unforced, forced_token),
        )


def collect_hypotheses(state: BeamState, eos: int) -> list[list[Hypothesis]]:
    """Return the finished hypotheses of each sentence; one empty hypothesis where there is none."""
    rows = zip(
        state.finished.tolist(),
        state.finished_log_probability.tolist(),
        state.finished_score.tolist(),
        strict=True,
    )
    return [
        [
            Hypothesis(tuple(tokens[: tokens.index(eos)]), log_probability, score)
            for tokens, log_probability, score in zip(*row, strict=True)
            if log_probability > -math.inf
        ]
        or [Hypothesis((), -math.inf, -math.inf)]
        for row in rows
    ]
