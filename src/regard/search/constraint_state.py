"""What must not be written: forbidden phrases, runs of tokens that repeat, and tokens never wanted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from regard.search.constraints import KINDS, SEPARATE, Edges, Tokens

ANY = -1
NOTHING = -2


@dataclass(frozen=True)
class Bans:
    """Rules that take tokens away; the likelihood of those left stays what the model gave them."""

    heads: Int[Tensor, "sentence phrases head"]
    """Each forbidden phrase but for its last token, with `ANY` before it where it is short."""
    tails: Int[Tensor, "sentence phrases"]
    """Its last token; `NOTHING` where there is no such phrase."""
    no_repeat: int | None
    """The length of runs that must not occur twice."""
    never: tuple[slice, ...] = ()
    """Tokens that are not for this search."""

    @staticmethod
    def of(
        forbidden: Sequence[Sequence[Tokens]],
        no_repeat: int | None = None,
        never: tuple[slice, ...] = (),
        device: torch.device | None = None,
    ) -> "Bans":
        most = max(map(len, forbidden), default=0)
        longest = max((len(phrase) for phrases in forbidden for phrase in phrases), default=1)
        heads = torch.full((len(forbidden), most, longest - 1), ANY)
        tails = torch.full((len(forbidden), most), NOTHING)
        for i, phrases in enumerate(forbidden):
            for j, (*head, tail) in enumerate(phrases):
                heads[i, j, longest - 1 - len(head) :] = torch.tensor(head, dtype=torch.long)
                tails[i, j] = tail
        return Bans(heads.to(device), tails.to(device), no_repeat, never)

    def apply(
        self,
        logits: Float[Tensor, "sentence place vocab"],
        written: Int[Tensor, "sentence place length"],
        free: Bool[Tensor, " sentence"],
    ) -> None:
        """Leaves no chance to what must not come next, except where there is no choice (`free` is False)."""
        for some in self.never:
            logits[:, :, some].masked_fill_(free[:, None, None], -math.inf)
        if self.tails.shape[1]:
            ends = self._forbidden(written) & free[:, None, None]
            _take_away(logits, self.tails[:, None].expand_as(ends), ends)
        if self.no_repeat is not None and written.shape[2] >= self.no_repeat:
            runs = written.unfold(2, self.no_repeat, 1)
            begun = written[:, :, None, written.shape[2] - self.no_repeat + 1 :]
            again = (runs[..., :-1] == begun).all(dim=3) & free[:, None, None]
            _take_away(logits, runs[..., -1], again)

    def select(self, sentences: Int[Tensor, " chosen"]) -> "Bans":
        return Bans(self.heads[sentences], self.tails[sentences], self.no_repeat, self.never)

    def _forbidden(
        self, written: Int[Tensor, "sentence place length"]
    ) -> Bool[Tensor, "sentence place phrases"]:
        """Which phrases want only their last token."""
        head = self.heads.shape[2]
        last = written[:, :, max(written.shape[2] - head, 0) :]
        last = functional.pad(last, (head - last.shape[2], 0), value=NOTHING)[:, :, None]
        heads = self.heads[:, None]
        return ((heads == last) | (heads == ANY)).all(dim=3) & (self.tails != NOTHING)[:, None]


def _take_away(
    logits: Float[Tensor, "sentence place vocab"],
    tokens: Int[Tensor, "sentence place rules"],
    where: Bool[Tensor, "sentence place rules"],
) -> None:
    """Adds minus infinity or nothing, so that rules about the same token do not undo each other."""
    less = torch.zeros(where.shape, dtype=logits.dtype, device=logits.device)
    logits.scatter_add_(2, tokens.clamp(min=0), less.masked_fill(where, -math.inf))


NO_TOKEN = -1
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
            torch.full((*shape, longest), NO_TOKEN),
            torch.full(shape, NEVER),
            torch.zeros(shape[:2], dtype=torch.long),
            torch.full((len(required), letters), NO_TOKEN),
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
        return token.masked_fill(self._done(progress)[..., None], NO_TOKEN).flatten(2)

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
        [_after(tokens, so_far, NO_TOKEN, _carried_on(tokens, kind, edges)) for kind in range(KINDS)]
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
