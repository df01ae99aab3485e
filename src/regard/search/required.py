"""Required phrases: how much of them a hypothesis has written, and how much it still must."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.search.wish import Tokens

NOTHING = -1
NEVER = 1 << 20
"""The length of an alternative that is not there: it never gets done."""

Progress = Int[Tensor, "sentence place phrase alternative"]
"""How many tokens of each alternative the hypothesis ends with; all of them once it has occurred."""


@dataclass(frozen=True)
class Required:
    """The phrases of every sentence, each with its alternatives, and what each token does to them.

    A phrase is followed like a text is searched for a word: what has been written of it falls back
    to its longest beginning that still fits when another token comes. Every alternative of every
    phrase is followed at once, so phrases may overlap and one token may serve several.
    """

    tokens: Int[Tensor, "sentence phrase alternative longest"]
    """`NOTHING` after the last."""
    length: Int[Tensor, "sentence phrase alternative"]
    cost: Int[Tensor, "sentence phrase"]
    """Tokens of the shortest alternative; 0 where there is no phrase."""
    letters: Int[Tensor, "sentence letters"]
    """The distinct tokens of all phrases, then `NOTHING`."""
    after: Int[Tensor, "sentence phrase alternative longest_and_one letters"]
    """From so much of an alternative, by that token, to so much."""

    @staticmethod
    def of(required: Sequence[Sequence[Sequence[Tokens]]], device: torch.device | None = None) -> "Required":
        phrases = max(map(len, required))
        alternatives = max(len(phrase) for one in required for phrase in one)
        longest = max(len(tokens) for one in required for phrase in one for tokens in phrase)
        alphabets = [sorted({token for phrase in one for a in phrase for token in a}) for one in required]
        letters = 1 + max(map(len, alphabets))
        shape = (len(required), phrases, alternatives)
        found = Required(
            torch.full((*shape, longest), NOTHING),
            torch.full(shape, NEVER),
            torch.zeros(shape[:2], dtype=torch.long),
            torch.full((len(required), letters), NOTHING),
            torch.zeros((*shape, longest + 1, letters), dtype=torch.long),
        )
        for i, (one, alphabet) in enumerate(zip(required, alphabets, strict=True)):
            found.letters[i, : len(alphabet)] = torch.tensor(alphabet)
            for j, phrase in enumerate(one):
                found.cost[i, j] = min(map(len, phrase))
                for k, tokens in enumerate(phrase):
                    found.tokens[i, j, k, : len(tokens)] = torch.tensor(tokens)
                    found.length[i, j, k] = len(tokens)
                    for so_far in range(len(tokens) + 1):
                        reached = [_after(tokens, so_far, letter) for letter in alphabet]
                        found.after[i, j, k, so_far, : len(alphabet)] = torch.tensor(reached)
                    found.after[i, j, k, len(tokens)] = len(tokens)  # what has occurred has occurred
        return found.to(device)

    def to(self, device: torch.device | None) -> "Required":
        return Required(*(x.to(device) for x in self._fields()))

    def select(self, sentences: Int[Tensor, " chosen"]) -> "Required":
        return Required(*(x[sentences] for x in self._fields()))

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
        is_letter[:, :, -1] = True  # any other token
        letter = is_letter.byte().argmax(dim=2)
        sentence = torch.arange(len(token), device=token.device)[:, None, None, None]
        phrase = torch.arange(progress.shape[2], device=token.device)[:, None]
        alternative = torch.arange(progress.shape[3], device=token.device)
        return self.after[sentence, phrase, alternative, progress, letter[:, :, None, None]]

    def needed(self, progress: Progress) -> Int[Tensor, "sentence place"]:
        """Tokens that suffice to write what is missing: 0 when nothing is.

        The alternative that has come furthest is gone on with, and the others are written after it,
        whole: some of what they have already may be lost on the way.
        """
        left = self.length[:, None] - progress
        missing = self.cost[:, None].where(~self._done(progress), 0)
        saved = (missing - left.amin(dim=3)).clamp(min=0).amax(dim=2)
        return missing.sum(dim=2) - saved

    def _done(self, progress: Progress) -> Bool[Tensor, "sentence place phrase"]:
        done = (progress == self.length[:, None]).any(dim=3)
        return done | (self.cost == 0)[:, None]

    def _fields(self) -> tuple[Tensor, ...]:
        return self.tokens, self.length, self.cost, self.letters, self.after


def _after(tokens: Tokens, so_far: int, letter: int) -> int:
    """How long a beginning of `tokens` those written of it and one more end with."""
    written = (*tokens[:so_far], letter)
    longest = min(len(written), len(tokens))
    return max(n for n in range(longest + 1) if written[len(written) - n :] == tokens[:n])
