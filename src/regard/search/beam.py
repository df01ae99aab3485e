"""Beam search: the likeliest hypotheses side by side, and the best that ended (section 6.1)."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.config import SearchConfig
from regard.search.step import State, Step


def beam(
    model: Step[State],
    state: State,
    bos: int,
    eos: int,
    limits: Int[Tensor, " sentence"],
    config: SearchConfig,
) -> list[list[int]]:
    """The best hypothesis of each sentence, without marks; none has more tokens than its limit.

    In each step every open hypothesis is continued by every token, and the likeliest
    continuations of all are kept. One that ends keeps its place in the beam, so that a beam of
    one is greedy search. At the limit a hypothesis must end, and pays for it like any other.

    The best is the one with the highest log-probability / length penalty. A sentence leaves the
    batch once nothing open can still beat the best that ended: what running on would have found.
    """
    if not len(limits):
        return []
    shortest, longest = int(limits.min()), int(limits.max())
    penalty = torch.tensor(
        [length_penalty(n, config.alpha) for n in range(longest + 2)], device=limits.device
    )
    found = _Found.nothing(len(limits), longest + 1, eos, limits.device)
    rows = torch.arange(len(limits), device=limits.device)
    open_ = _Open.start(len(limits), config.beam, bos, limits.device)
    state = model.expand(state, config.beam)
    for length in range(1, longest + 2):  # tokens written after this step, the end mark among them
        logits, state = model.step(state, open_.written[:, :, -1].flatten())
        scores = logits.float().log_softmax(dim=-1).unflatten(0, open_.score.shape) + open_.score[:, :, None]
        if length > shortest:
            _must_end(scores, length > limits[rows], eos)
        chosen, parents = _continued(open_, scores)
        ended = (chosen.written[:, :, -1] == eos) & (chosen.score > -math.inf)
        found.keep(rows, chosen, ended, penalty[length])
        open_, state = chosen.without(ended), model.reorder(state, parents)
        reachable = open_.score.amax(dim=1) / penalty[limits[rows] + 1]  # by tokens that cost nothing more
        left = (found.score[rows] < reachable).nonzero()[:, 0]
        if not len(left):
            break
        if len(left) < len(rows):
            rows, open_, state = rows[left], open_.select(left), model.select(state, left)
    return [row[: row.index(eos)] for row in found.written.tolist()]


def length_penalty(tokens: int, alpha: float) -> float:
    """What the log-probability of so many tokens, the end mark among them, is divided by.

    Section 6.1 takes it from Wu et al. (2016), equation 14.
    """
    return ((5 + tokens) / 6) ** alpha


@dataclass(frozen=True)
class _Open:
    """The hypotheses that may still grow, in places, the likeliest first."""

    written: Int[Tensor, "sentence place length"]
    """Tokens, the begin mark before them."""
    score: Float[Tensor, "sentence place"]
    """Log-probability; minus infinity where the place is empty."""
    room: Int[Tensor, " sentence"]
    """Places that no ended hypothesis has taken."""

    @staticmethod
    def start(sentences: int, places: int, bos: int, device: torch.device) -> "_Open":
        """One hypothesis with nothing in it; the other places wait."""
        score = torch.full((sentences, places), -math.inf, device=device)
        score[:, 0] = 0.0
        return _Open(
            torch.full((sentences, places, 1), bos, device=device),
            score,
            torch.full((sentences,), places, device=device),
        )

    def without(self, ended: Bool[Tensor, "sentence place"]) -> "_Open":
        score = self.score.masked_fill(ended, -math.inf)
        return _Open(self.written, score, self.room - ended.sum(dim=1))

    def select(self, sentences: Int[Tensor, " chosen"]) -> "_Open":
        return _Open(self.written[sentences], self.score[sentences], self.room[sentences])


@dataclass(frozen=True)
class _Found:
    """The best ended hypothesis of every sentence so far; stays on the device until all are found."""

    written: Int[Tensor, "sentence longest"]
    """Tokens, and the end mark in all the rest."""
    score: Float[Tensor, " sentence"]

    @staticmethod
    def nothing(sentences: int, longest: int, eos: int, device: torch.device) -> "_Found":
        written = torch.full((sentences, longest), eos, device=device)
        return _Found(written, torch.full((sentences,), -math.inf, device=device))

    def keep(
        self,
        rows: Int[Tensor, " sentence"],
        chosen: _Open,
        ended: Bool[Tensor, "sentence place"],
        penalty: Float[Tensor, ""],
    ) -> None:
        """Takes down what has just ended, where it beats what ended before; the first among equals stays.

        What ends later is longer, so it covers all that was written there.
        """
        score, place = (chosen.score.masked_fill(~ended, -math.inf) / penalty).max(dim=1)
        better = score > self.score[rows]
        tokens = chosen.written[torch.arange(len(rows), device=rows.device), place, 1:]
        before = self.written[rows, : tokens.shape[1]]
        self.written[rows, : tokens.shape[1]] = tokens.where(better[:, None], before)
        self.score[rows] = score.where(better, self.score[rows])


def _must_end(
    scores: Float[Tensor, "sentence place vocab"], now: Bool[Tensor, " sentence"], eos: int
) -> None:
    """Leaves nothing but the end mark to sentences at their limit."""
    end = scores[:, :, eos].clone()
    scores.masked_fill_(now[:, None, None], -math.inf)
    scores[:, :, eos] = end


def _continued(
    open_: _Open, scores: Float[Tensor, "sentence place vocab"]
) -> tuple[_Open, Int[Tensor, " row"]]:
    """The likeliest continuations, as many as there is room for, and the row that each went on from."""
    sentences, places, vocab = scores.shape
    score, choice = _highest(scores.flatten(1), places)
    place = torch.arange(places, device=scores.device)
    score = score.masked_fill(place >= open_.room[:, None], -math.inf)
    sentence = torch.arange(sentences, device=scores.device)[:, None]
    parent, token = choice // vocab, choice % vocab
    written = torch.cat([open_.written[sentence, parent], token[:, :, None]], dim=2)
    return _Open(written, score, open_.room), (sentence * places + parent).flatten()


def _highest(
    scores: Float[Tensor, "sentence choices"], count: int
) -> tuple[Float[Tensor, "sentence place"], Int[Tensor, "sentence place"]]:
    """The highest scores in order, and where; overwrites `scores`.

    Equal scores come in the order of their places, which `topk` does not promise: the same
    sentence must have the same answer everywhere.
    """
    found = []
    for _ in range(count):
        found.append(scores.max(dim=1))
        scores.scatter_(1, found[-1].indices[:, None], -math.inf)
    return torch.stack([f.values for f in found], dim=1), torch.stack([f.indices for f in found], dim=1)
