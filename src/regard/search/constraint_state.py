"""What must not be written: forbidden phrases, runs of tokens that repeat, and tokens never wanted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from regard.search.constraints import CHARACTER_KINDS, SEPARATE, TokenIds, WordBoundaries

ANY_TOKEN = -1
NO_PHRASE = -2


@dataclass(frozen=True)
class TokenBans:
    """Rules that take tokens away; the likelihood of those left stays what the model gave them."""

    contexts: Int[Tensor, "sentence phrases head"]
    """Each forbidden phrase but for its last token, with `ANY` before it where it is short."""
    last_tokens: Int[Tensor, "sentence phrases"]
    """Its last token; `NOTHING` where there is no such phrase."""
    no_repeat_ngram: int | None
    """The length of runs that must not occur twice."""
    suppressed: tuple[slice, ...] = ()
    """Tokens that are not for this search."""

    @staticmethod
    def from_phrases(
        forbidden: Sequence[Sequence[TokenIds]],
        no_repeat_ngram: int | None = None,
        suppressed: tuple[slice, ...] = (),
        device: torch.device | None = None,
    ) -> "TokenBans":
        most = max(map(len, forbidden), default=0)
        longest = max((len(phrase) for phrases in forbidden for phrase in phrases), default=1)
        heads = torch.full((len(forbidden), most, longest - 1), ANY_TOKEN)
        tails = torch.full((len(forbidden), most), NO_PHRASE)
        for i, phrases in enumerate(forbidden):
            for j, (*head, tail) in enumerate(phrases):
                heads[i, j, longest - 1 - len(head) :] = torch.tensor(head, dtype=torch.long)
                tails[i, j] = tail
        return TokenBans(heads.to(device), tails.to(device), no_repeat_ngram, suppressed)

    def mask_logits(
        self,
        logits: Float[Tensor, "sentence place vocab"],
        tokens: Int[Tensor, "sentence place length"],
        unforced: Bool[Tensor, " sentence"],
    ) -> None:
        """Leaves no chance to what must not come next, except where there is no choice (`free` is False)."""
        for some in self.suppressed:
            logits[:, :, some].masked_fill_(unforced[:, None, None], -math.inf)
        if self.last_tokens.shape[1]:
            ends = self._matching_contexts(tokens) & unforced[:, None, None]
            _mask_tokens(logits, self.last_tokens[:, None].expand_as(ends), ends)
        if self.no_repeat_ngram is not None and tokens.shape[2] >= self.no_repeat_ngram:
            runs = tokens.unfold(2, self.no_repeat_ngram, 1)
            begun = tokens[:, :, None, tokens.shape[2] - self.no_repeat_ngram + 1 :]
            again = (runs[..., :-1] == begun).all(dim=3) & unforced[:, None, None]
            _mask_tokens(logits, runs[..., -1], again)

    def select(self, sentences: Int[Tensor, " chosen"]) -> "TokenBans":
        return TokenBans(
            self.contexts[sentences], self.last_tokens[sentences], self.no_repeat_ngram, self.suppressed
        )

    def _matching_contexts(
        self, written: Int[Tensor, "sentence place length"]
    ) -> Bool[Tensor, "sentence place phrases"]:
        """Which phrases want only their last token."""
        head = self.contexts.shape[2]
        last = written[:, :, max(written.shape[2] - head, 0) :]
        last = functional.pad(last, (head - last.shape[2], 0), value=NO_PHRASE)[:, :, None]
        heads = self.contexts[:, None]
        return ((heads == last) | (heads == ANY_TOKEN)).all(dim=3) & (self.last_tokens != NO_PHRASE)[:, None]


def _mask_tokens(
    logits: Float[Tensor, "sentence place vocab"],
    tokens: Int[Tensor, "sentence place rules"],
    where: Bool[Tensor, "sentence place rules"],
) -> None:
    """Adds minus infinity or nothing, so that rules about the same token do not undo each other."""
    less = torch.zeros(where.shape, dtype=logits.dtype, device=logits.device)
    logits.scatter_add_(2, tokens.clamp(min=0), less.masked_fill(where, -math.inf))


NO_TOKEN = -1
ABSENT_LENGTH = 1 << 20
"""The length of an alternative that is not there: it never gets done."""

RequiredProgress = Int[Tensor, "sentence place phrase alternative"]
"""How many tokens of each alternative a hypothesis ends with; one more than all once it is there to stay."""


@dataclass(frozen=True)
class RequiredPhrases:
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
    alphabet: Int[Tensor, "sentence letters"]
    """The distinct tokens of all phrases, then `NOTHING`."""
    first_character_kind: Int[Tensor, " vocab"] | None
    """What kind of character each token begins with; None: no token carries on the word of another."""
    transitions: Int[Tensor, "sentence phrase alternative states letters_and_kinds"]
    """From so much of an alternative, by that token, or by another of that kind, to so much."""

    @staticmethod
    def from_phrases(
        required: Sequence[Sequence[Sequence[TokenIds]]],
        word_boundaries: WordBoundaries | None = None,
        device: torch.device | None = None,
    ) -> "RequiredPhrases":
        phrases = max(map(len, required))
        alternatives = max(len(phrase) for one in required for phrase in one)
        longest = max(len(tokens) for one in required for phrase in one for tokens in phrase)
        alphabets = [sorted({token for phrase in one for a in phrase for token in a}) for one in required]
        letters = max(map(len, alphabets))
        shape = (len(required), phrases, alternatives)
        found = RequiredPhrases(
            torch.full((*shape, longest), NO_TOKEN),
            torch.full(shape, ABSENT_LENGTH),
            torch.zeros(shape[:2], dtype=torch.long),
            torch.full((len(required), letters), NO_TOKEN),
            None if word_boundaries is None else torch.tensor(word_boundaries.begins),
            torch.zeros((*shape, longest + 2, letters + CHARACTER_KINDS), dtype=torch.long),
        )
        for i, (one, alphabet) in enumerate(zip(required, alphabets, strict=True)):
            found.alphabet[i, : len(alphabet)] = torch.tensor(alphabet)
            for j, phrase in enumerate(one):
                found.cost[i, j] = min(map(len, phrase))
                for k, tokens in enumerate(phrase):
                    found.tokens[i, j, k, : len(tokens)] = torch.tensor(tokens)
                    found.length[i, j, k] = len(tokens)
                    table = found.transitions[i, j, k]
                    table[: len(tokens) + 2, : len(alphabet)] = torch.tensor(
                        _transitions_by_token(tokens, alphabet, word_boundaries)
                    )
                    table[: len(tokens) + 2, letters:] = torch.tensor(
                        _transitions_by_kind(tokens, word_boundaries)
                    )
        return found.to(device)

    def to(self, device: torch.device | None) -> "RequiredPhrases":
        begins = None if self.first_character_kind is None else self.first_character_kind.to(device)
        tokens, length, cost, letters, after = (x.to(device) for x in self._per_sentence_tensors())
        return RequiredPhrases(tokens, length, cost, letters, begins, after)

    def select(self, sentences: Int[Tensor, " chosen"]) -> "RequiredPhrases":
        tokens, length, cost, letters, after = (x[sentences] for x in self._per_sentence_tensors())
        return RequiredPhrases(tokens, length, cost, letters, self.first_character_kind, after)

    def initial_progress(self, slots: int) -> RequiredProgress:
        """Nothing written yet."""
        return torch.zeros_like(self.length)[:, None].repeat(1, slots, 1, 1)

    def total_tokens(self) -> Int[Tensor, " sentence"]:
        """Tokens that always suffice to write everything."""
        return self.cost.sum(dim=1)

    def next_tokens(self, progress: RequiredProgress) -> Int[Tensor, "sentence place choices"]:
        """The token that carries each alternative on; `NOTHING` where its phrase is done or absent."""
        at = progress.clamp(max=self.tokens.shape[3] - 1)
        tokens = self.tokens[:, None].expand(-1, progress.shape[1], -1, -1, -1)
        token = tokens.gather(4, at[..., None])[..., 0]
        return token.masked_fill(self._is_complete(progress)[..., None], NO_TOKEN).flatten(2)

    def advance(self, progress: RequiredProgress, token: Int[Tensor, "sentence place"]) -> RequiredProgress:
        """Where the phrases stand once that token is written in each place."""
        is_letter = token[:, :, None] == self.alphabet[:, None]
        kind = 0 if self.first_character_kind is None else self.first_character_kind[token]
        letter = is_letter.byte().argmax(dim=2).where(is_letter.any(dim=2), self.alphabet.shape[1] + kind)
        sentence = torch.arange(len(token), device=token.device)[:, None, None, None]
        phrase = torch.arange(progress.shape[2], device=token.device)[:, None]
        alternative = torch.arange(progress.shape[3], device=token.device)
        return self.transitions[sentence, phrase, alternative, progress, letter[:, :, None, None]]

    def missing_tokens(self, progress: RequiredProgress) -> Int[Tensor, "sentence place"]:
        """Tokens that suffice to write what is missing: 0 when nothing is.

        The alternative that has come furthest is gone on with, and the others are written after it,
        whole: some of what they have already may be lost on the way.
        """
        left = (self.length[:, None] - progress).clamp(min=0)
        missing = self.cost[:, None].where(~self._is_complete(progress), 0)
        saved = (missing - left.amin(dim=3)).clamp(min=0).amax(dim=2)
        return missing.sum(dim=2) - saved

    def _is_complete(self, progress: RequiredProgress) -> Bool[Tensor, "sentence place phrase"]:
        done = (progress >= self.length[:, None]).any(dim=3)
        return done | (self.cost == 0)[:, None]

    def _per_sentence_tensors(self) -> tuple[Tensor, ...]:
        return self.tokens, self.length, self.cost, self.alphabet, self.transitions


def _transitions_by_token(
    tokens: TokenIds, alphabet: Sequence[int], edges: WordBoundaries | None
) -> list[list[int]]:
    """From each state of an alternative, the one that each of those tokens leads to."""
    kinds = [0 if edges is None else edges.begins[token] for token in alphabet]
    return [
        [
            _next_state(tokens, so_far, token, _continues_word(tokens, kind, edges))
            for token, kind in zip(alphabet, kinds, strict=True)
        ]
        for so_far in range(len(tokens) + 2)
    ]


def _transitions_by_kind(tokens: TokenIds, edges: WordBoundaries | None) -> list[list[int]]:
    """The same for any other token, by its kind."""
    return [
        [
            _next_state(tokens, so_far, NO_TOKEN, _continues_word(tokens, kind, edges))
            for kind in range(CHARACTER_KINDS)
        ]
        for so_far in range(len(tokens) + 2)
    ]


def _continues_word(tokens: TokenIds, kind: int, edges: WordBoundaries | None) -> bool:
    """Whether a token of that kind makes a longer word of the last."""
    return edges is not None and kind != SEPARATE and edges.ends[tokens[-1]] == kind


def _next_state(tokens: TokenIds, so_far: int, token: int, carried_on: bool) -> int:
    """How long a beginning of `tokens` those written of it and one more end with."""
    if so_far > len(tokens) or (so_far == len(tokens) and not carried_on):
        return len(tokens) + 1
    written = (*tokens[:so_far], token)
    longest = min(len(written), len(tokens))
    return max(n for n in range(longest + 1) if written[len(written) - n :] == tokens[:n])
