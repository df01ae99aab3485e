"""Required phrases: how much of them a hypothesis has written, and how much it still must."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.search.wish import KINDS, SEPARATE, Edges, Tokens

NOTHING = -1
NEVER = 1 << 20
"""The length of an alternative that is not there: it never gets done."""

Progress = Int[Tensor, "sentence place phrase alternative"]
"""How many tokens of each alternative a hypothesis ends with; one more than all once it is there to stay."""


@dataclass(frozen=True)
class Required:
    """The phrases of every sentence, each with its alternatives, and what each token does to them.

    A phrase is followed like a text is searched for a word: what has been written of it falls back
    to its longest beginning that still fits when another token comes. Every alternative of every
    phrase is followed at once, so phrases may overlap and one token may serve several. What is in
    the middle of a longer word is not there: a token that carries the word on takes it away again.
    """

    tokens: Int[Tensor, "sentence phrase alternative longest"]
    """`NOTHING` after the last."""
    length: Int[Tensor, "sentence phrase alternative"]
    cost: Int[Tensor, "sentence phrase"]
    """Tokens of the shortest alternative; 0 where there is no phrase."""
    letters: Int[Tensor, "sentence letters"]
    """The distinct tokens of all phrases, then `NOTHING`."""
    begins: Int[Tensor, " vocab"] | None
    """What kind of character each token begins with; None: no token carries on the word of another."""
    after: Int[Tensor, "sentence phrase alternative states letters_and_kinds"]
    """From so much of an alternative, by that token, or by another of that kind, to so much."""

    @staticmethod
    def of(
        required: Sequence[Sequence[Sequence[Tokens]]],
        edges: Edges | None = None,
        device: torch.device | None = None,
    ) -> "Required":
        phrases = max(map(len, required))
        alternatives = max(len(phrase) for one in required for phrase in one)
        longest = max(len(tokens) for one in required for phrase in one for tokens in phrase)
        alphabets = [sorted({token for phrase in one for a in phrase for token in a}) for one in required]
        letters = max(map(len, alphabets))
        shape = (len(required), phrases, alternatives)
        found = Required(
            torch.full((*shape, longest), NOTHING),
            torch.full(shape, NEVER),
            torch.zeros(shape[:2], dtype=torch.long),
            torch.full((len(required), letters), NOTHING),
            None if edges is None else torch.tensor(edges.begins),
            torch.zeros((*shape, longest + 2, letters + KINDS), dtype=torch.long),
        )
        for i, (one, alphabet) in enumerate(zip(required, alphabets, strict=True)):
            found.letters[i, : len(alphabet)] = torch.tensor(alphabet)
            for j, phrase in enumerate(one):
                found.cost[i, j] = min(map(len, phrase))
                for k, tokens in enumerate(phrase):
                    found.tokens[i, j, k, : len(tokens)] = torch.tensor(tokens)
                    found.length[i, j, k] = len(tokens)
                    table = found.after[i, j, k]
                    table[: len(tokens) + 2, : len(alphabet)] = torch.tensor(
                        _by_token(tokens, alphabet, edges)
                    )
                    table[: len(tokens) + 2, letters:] = torch.tensor(_by_kind(tokens, edges))
        return found.to(device)

    def to(self, device: torch.device | None) -> "Required":
        begins = None if self.begins is None else self.begins.to(device)
        tokens, length, cost, letters, after = (x.to(device) for x in self._by_sentence())
        return Required(tokens, length, cost, letters, begins, after)

    def select(self, sentences: Int[Tensor, " chosen"]) -> "Required":
        tokens, length, cost, letters, after = (x[sentences] for x in self._by_sentence())
        return Required(tokens, length, cost, letters, self.begins, after)

    def start(self, places: int) -> Progress:
        """Nothing written yet."""
        return torch.zeros_like(self.length)[:, None].repeat(1, places, 1, 1)

    def total(self) -> Int[Tensor, " sentence"]:
        """Tokens that always suffice to write everything."""
        return self.cost.sum(dim=1)

    def wanted(self, progress: Progress) -> Int[Tensor, "sentence place choices"]:
        """The token that carries each alternative on; `NOTHING` where its phrase is done or absent."""
        at = progress.clamp(max=self.tokens.shape[3] - 1)
        tokens = self.tokens[:, None].expand(-1, progress.shape[1], -1, -1, -1)
        token = tokens.gather(4, at[..., None])[..., 0]
        return token.masked_fill(self._done(progress)[..., None], NOTHING).flatten(2)

    def then(self, progress: Progress, token: Int[Tensor, "sentence place"]) -> Progress:
        """Where the phrases stand once that token is written in each place."""
        is_letter = token[:, :, None] == self.letters[:, None]
        kind = 0 if self.begins is None else self.begins[token]
        letter = is_letter.byte().argmax(dim=2).where(is_letter.any(dim=2), self.letters.shape[1] + kind)
        sentence = torch.arange(len(token), device=token.device)[:, None, None, None]
        phrase = torch.arange(progress.shape[2], device=token.device)[:, None]
        alternative = torch.arange(progress.shape[3], device=token.device)
        return self.after[sentence, phrase, alternative, progress, letter[:, :, None, None]]

    def needed(self, progress: Progress) -> Int[Tensor, "sentence place"]:
        """Tokens that suffice to write what is missing: 0 when nothing is.

        The alternative that has come furthest is gone on with, and the others are written after it,
        whole: some of what they have already may be lost on the way.
        """
        left = (self.length[:, None] - progress).clamp(min=0)
        missing = self.cost[:, None].where(~self._done(progress), 0)
        saved = (missing - left.amin(dim=3)).clamp(min=0).amax(dim=2)
        return missing.sum(dim=2) - saved

    def _done(self, progress: Progress) -> Bool[Tensor, "sentence place phrase"]:
        done = (progress >= self.length[:, None]).any(dim=3)
        return done | (self.cost == 0)[:, None]

    def _by_sentence(self) -> tuple[Tensor, ...]:
        return self.tokens, self.length, self.cost, self.letters, self.after


def _by_token(tokens: Tokens, alphabet: Sequence[int], edges: Edges | None) -> list[list[int]]:
    """From each state of an alternative, the one that each of those tokens leads to."""
    kinds = [0 if edges is None else edges.begins[token] for token in alphabet]
    return [
        [
            _after(tokens, so_far, token, _carried_on(tokens, kind, edges))
            for token, kind in zip(alphabet, kinds, strict=True)
        ]
        for so_far in range(len(tokens) + 2)
    ]


def _by_kind(tokens: Tokens, edges: Edges | None) -> list[list[int]]:
    """The same for any other token, by its kind."""
    return [
        [_after(tokens, so_far, NOTHING, _carried_on(tokens, kind, edges)) for kind in range(KINDS)]
        for so_far in range(len(tokens) + 2)
    ]


def _carried_on(tokens: Tokens, kind: int, edges: Edges | None) -> bool:
    """Whether a token of that kind makes a longer word of the last."""
    return edges is not None and kind != SEPARATE and edges.ends[tokens[-1]] == kind


def _after(tokens: Tokens, so_far: int, token: int, carried_on: bool) -> int:
    """How long a beginning of `tokens` those written of it and one more end with."""
    if so_far > len(tokens) or (so_far == len(tokens) and not carried_on):
        return len(tokens) + 1
    written = (*tokens[:so_far], token)
    longest = min(len(written), len(tokens))
    return max(n for n in range(longest + 1) if written[len(written) - n :] == tokens[:n])
