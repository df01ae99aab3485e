"""Constraints as tensors: length limits, forced prefixes, banned tokens, automata of required phrases."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from regard.search.constraints import CHARACTER_KINDS, SEPARATE, TokenIds, WordBoundaries

UNFORCED = -1
"""In place of a forced token: any token may come next."""
ANY_TOKEN = -1
"""In a banned phrase's context: matches every token."""
NO_PHRASE = -2
"""In place of a banned phrase's last token: no such phrase."""
NO_TOKEN = -1
"""Padding of required phrases."""
ABSENT_LENGTH = 1 << 20
"""Length of an alternative that does not exist, which is never completed."""

RequiredProgress = Int[Tensor, "sentence slot phrase alternative"]
"""How many tokens of each alternative a hypothesis ends with; its length plus one once it occurs for good."""


@dataclass(frozen=True)
class TokenBans:
    """Tokens that must not come next; the probabilities of the others are not renormalized."""

    contexts: Int[Tensor, "sentence phrases context"]
    """Each forbidden phrase without its last token, left-padded with `ANY_TOKEN`."""
    last_tokens: Int[Tensor, "sentence phrases"]
    """Its last token; `NO_PHRASE` where a sentence has fewer phrases."""
    no_repeat_ngram: int | None
    """The length of token sequences that must not occur twice."""
    suppressed: tuple[slice, ...] = ()
    """Token ids that are never allowed."""

    @staticmethod
    def from_phrases(
        forbidden: Sequence[Sequence[TokenIds]],
        no_repeat_ngram: int | None = None,
        suppressed: tuple[slice, ...] = (),
        device: torch.device | None = None,
    ) -> "TokenBans":
        most = max(map(len, forbidden), default=0)
        longest = max((len(phrase) for phrases in forbidden for phrase in phrases), default=1)
        contexts = torch.full((len(forbidden), most, longest - 1), ANY_TOKEN)
        last_tokens = torch.full((len(forbidden), most), NO_PHRASE)
        for i, phrases in enumerate(forbidden):
            for j, (*context, last) in enumerate(phrases):
                contexts[i, j, longest - 1 - len(context) :] = torch.tensor(context, dtype=torch.long)
                last_tokens[i, j] = last
        return TokenBans(contexts.to(device), last_tokens.to(device), no_repeat_ngram, suppressed)

    def mask_logits(
        self,
        logits: Float[Tensor, "sentence slot vocab"],
        tokens: Int[Tensor, "sentence slot length"],
        unforced: Bool[Tensor, " sentence"],
    ) -> None:
        """Set the logits of banned tokens to minus infinity, unless the sentence's next token is forced."""
        for ids in self.suppressed:
            logits[:, :, ids].masked_fill_(unforced[:, None, None], -math.inf)
        if self.last_tokens.shape[1]:
            matches = self._matching_contexts(tokens) & unforced[:, None, None]
            _mask_tokens(logits, self.last_tokens[:, None].expand_as(matches), matches)
        if self.no_repeat_ngram is not None and tokens.shape[2] >= self.no_repeat_ngram:
            ngrams = tokens.unfold(2, self.no_repeat_ngram, 1)
            suffix = tokens[:, :, None, tokens.shape[2] - self.no_repeat_ngram + 1 :]
            repeats = (ngrams[..., :-1] == suffix).all(dim=3) & unforced[:, None, None]
            _mask_tokens(logits, ngrams[..., -1], repeats)

    def select(self, sentences: Int[Tensor, " chosen"]) -> "TokenBans":
        return TokenBans(
            self.contexts[sentences], self.last_tokens[sentences], self.no_repeat_ngram, self.suppressed
        )

    def _matching_contexts(
        self, tokens: Int[Tensor, "sentence slot length"]
    ) -> Bool[Tensor, "sentence slot phrases"]:
        """Return which phrases lack only their last token."""
        width = self.contexts.shape[2]
        suffix = tokens[:, :, max(tokens.shape[2] - width, 0) :]
        suffix = functional.pad(suffix, (width - suffix.shape[2], 0), value=NO_PHRASE)[:, :, None]
        contexts = self.contexts[:, None]
        matches = ((contexts == suffix) | (contexts == ANY_TOKEN)).all(dim=3)
        return matches & (self.last_tokens != NO_PHRASE)[:, None]


def _mask_tokens(
    logits: Float[Tensor, "sentence slot vocab"],
    tokens: Int[Tensor, "sentence slot rules"],
    banned: Bool[Tensor, "sentence slot rules"],
) -> None:
    """Add minus infinity or zero, so that several rules about one token do not overwrite each other."""
    bias = torch.zeros(banned.shape, dtype=logits.dtype, device=logits.device)
    logits.scatter_add_(2, tokens.clamp(min=0), bias.masked_fill(banned, -math.inf))


@dataclass(frozen=True)
class RequiredPhrases:
    """One automaton (Knuth-Morris-Pratt) per alternative of each sentence's required phrases.

    The state of an automaton is the number of tokens of the alternative that a hypothesis ends with; after a
    mismatch it falls back to the longest prefix that still matches. All alternatives of all phrases
    advance at once, so phrases may overlap and one token may count for several. A phrase inside a longer
    word does not count: a token that continues its last word resets the automaton.
    """

    tokens: Int[Tensor, "sentence phrase alternative longest"]
    """Padded with `NO_TOKEN`."""
    length: Int[Tensor, "sentence phrase alternative"]
    cost: Int[Tensor, "sentence phrase"]
    """Tokens of the shortest alternative; 0 where there is no phrase."""
    alphabet: Int[Tensor, "sentence letters"]
    """The distinct tokens of all phrases, padded with `NO_TOKEN`."""
    first_character_kind: Int[Tensor, " vocab"] | None
    """The kind of character each token begins with; None: no token continues the word before it."""
    transitions: Int[Tensor, "sentence phrase alternative states letters_and_kinds"]
    """The next state by token of the alphabet, and by kind of any other token."""

    @staticmethod
    def from_phrases(
        required: Sequence[Sequence[Sequence[TokenIds]]],
        word_boundaries: WordBoundaries | None = None,
        device: torch.device | None = None,
    ) -> "RequiredPhrases":
        phrases = max(map(len, required))
        alternatives = max(len(phrase) for sentence in required for phrase in sentence)
        longest = max(len(tokens) for sentence in required for phrase in sentence for tokens in phrase)
        alphabets = [
            sorted({token for phrase in sentence for tokens in phrase for token in tokens})
            for sentence in required
        ]
        letters = max(map(len, alphabets))
        shape = (len(required), phrases, alternatives)
        automata = RequiredPhrases(
            torch.full((*shape, longest), NO_TOKEN),
            torch.full(shape, ABSENT_LENGTH),
            torch.zeros(shape[:2], dtype=torch.long),
            torch.full((len(required), letters), NO_TOKEN),
            None if word_boundaries is None else torch.tensor(word_boundaries.begins),
            torch.zeros((*shape, longest + 2, letters + CHARACTER_KINDS), dtype=torch.long),
        )
        for i, (sentence, alphabet) in enumerate(zip(required, alphabets, strict=True)):
            automata.alphabet[i, : len(alphabet)] = torch.tensor(alphabet)
            for j, phrase in enumerate(sentence):
                automata.cost[i, j] = min(map(len, phrase))
                for k, tokens in enumerate(phrase):
                    automata.tokens[i, j, k, : len(tokens)] = torch.tensor(tokens)
                    automata.length[i, j, k] = len(tokens)
                    table = automata.transitions[i, j, k, : len(tokens) + 2]
                    table[:, : len(alphabet)] = torch.tensor(
                        _transitions_by_token(tokens, alphabet, word_boundaries)
                    )
                    table[:, letters:] = torch.tensor(_transitions_by_kind(tokens, word_boundaries))
        return automata.to(device)

    def to(self, device: torch.device | None) -> "RequiredPhrases":
        kinds = None if self.first_character_kind is None else self.first_character_kind.to(device)
        tokens, length, cost, alphabet, transitions = (x.to(device) for x in self._per_sentence_tensors())
        return RequiredPhrases(tokens, length, cost, alphabet, kinds, transitions)

    def select(self, sentences: Int[Tensor, " chosen"]) -> "RequiredPhrases":
        tokens, length, cost, alphabet, transitions = (x[sentences] for x in self._per_sentence_tensors())
        return RequiredPhrases(tokens, length, cost, alphabet, self.first_character_kind, transitions)

    def initial_progress(self, slots: int) -> RequiredProgress:
        return torch.zeros_like(self.length)[:, None].repeat(1, slots, 1, 1)

    def total_tokens(self) -> Int[Tensor, " sentence"]:
        """Return a number of tokens that always suffices for all phrases."""
        return self.cost.sum(dim=1)

    def next_tokens(self, progress: RequiredProgress) -> Int[Tensor, "sentence slot choices"]:
        """Return the token that extends each alternative; `NO_TOKEN` if its phrase is complete or absent."""
        state = progress.clamp(max=self.tokens.shape[3] - 1)
        tokens = self.tokens[:, None].expand(-1, progress.shape[1], -1, -1, -1)
        token = tokens.gather(4, state[..., None])[..., 0]
        return token.masked_fill(self._is_complete(progress)[..., None], NO_TOKEN).flatten(2)

    def advance(self, progress: RequiredProgress, token: Int[Tensor, "sentence slot"]) -> RequiredProgress:
        """Return the progress after this token in each slot."""
        in_alphabet = token[:, :, None] == self.alphabet[:, None]
        kind = 0 if self.first_character_kind is None else self.first_character_kind[token]
        other = self.alphabet.shape[1] + kind
        letter = in_alphabet.byte().argmax(dim=2).where(in_alphabet.any(dim=2), other)
        sentence = torch.arange(len(token), device=token.device)[:, None, None, None]
        phrase = torch.arange(progress.shape[2], device=token.device)[:, None]
        alternative = torch.arange(progress.shape[3], device=token.device)
        return self.transitions[sentence, phrase, alternative, progress, letter[:, :, None, None]]

    def missing_tokens(self, progress: RequiredProgress) -> Int[Tensor, "sentence slot"]:
        """Return a number of tokens that suffices for the incomplete phrases; 0 if all are complete.

        It assumes that the alternative nearest to completion is completed first and that the other phrases
        start over, since completing one may destroy the progress of another.
        """
        left = (self.length[:, None] - progress).clamp(min=0)
        missing = self.cost[:, None].where(~self._is_complete(progress), 0)
        saved = (missing - left.amin(dim=3)).clamp(min=0).amax(dim=2)
        return missing.sum(dim=2) - saved

    def _is_complete(self, progress: RequiredProgress) -> Bool[Tensor, "sentence slot phrase"]:
        complete = (progress >= self.length[:, None]).any(dim=3)
        return complete | (self.cost == 0)[:, None]

    def _per_sentence_tensors(self) -> tuple[Tensor, ...]:
        return self.tokens, self.length, self.cost, self.alphabet, self.transitions


def _transitions_by_token(
    tokens: TokenIds, alphabet: Sequence[int], word_boundaries: WordBoundaries | None
) -> list[list[int]]:
    """Return, for each state, the next state by token of the alphabet."""
    kinds = [0 if word_boundaries is None else word_boundaries.begins[token] for token in alphabet]
    return [
        [
            _next_state(tokens, state, token, _continues_word(tokens, kind, word_boundaries))
            for token, kind in zip(alphabet, kinds, strict=True)
        ]
        for state in range(len(tokens) + 2)
    ]


def _transitions_by_kind(tokens: TokenIds, word_boundaries: WordBoundaries | None) -> list[list[int]]:
    """Return, for each state, the next state by character kind of a token outside the alphabet."""
    return [
        [
            _next_state(tokens, state, NO_TOKEN, _continues_word(tokens, kind, word_boundaries))
            for kind in range(CHARACTER_KINDS)
        ]
        for state in range(len(tokens) + 2)
    ]


def _continues_word(tokens: TokenIds, kind: int, word_boundaries: WordBoundaries | None) -> bool:
    """Return whether a token that begins with this kind makes the last word of `tokens` longer."""
    return word_boundaries is not None and kind != SEPARATE and word_boundaries.ends[tokens[-1]] == kind


def _next_state(tokens: TokenIds, state: int, token: int, continues_word: bool) -> int:
    """Return the length of the longest prefix of `tokens` that the matched tokens and `token` end with."""
    if state > len(tokens) or (state == len(tokens) and not continues_word):
        return len(tokens) + 1
    text = (*tokens[:state], token)
    longest = min(len(text), len(tokens))
    return max(n for n in range(longest + 1) if text[len(text) - n :] == tokens[:n])


@dataclass(frozen=True)
class ConstraintState:
    """All that a batch's search must obey: lengths, prefixes, required phrases and banned tokens."""

    max_length: Int[Tensor, " sentence"]
    """Maximum number of tokens."""
    min_length: Int[Tensor, " sentence"]
    """Minimum number of tokens; at most `max_length`."""
    prefix: Int[Tensor, "sentence prefix"]
    """The tokens each translation begins with, padded with `UNFORCED`, which the last column always is."""
    required: RequiredPhrases | None = None
    bans: TokenBans | None = None

    @staticmethod
    def from_lists(
        max_lengths: Sequence[int],
        min_length: int = 0,
        prefixes: Sequence[Sequence[int]] | None = None,
        required: RequiredPhrases | None = None,
        bans: TokenBans | None = None,
        device: torch.device | None = None,
    ) -> "ConstraintState":
        prefixes = [()] * len(max_lengths) if prefixes is None else prefixes
        width = 1 + max(map(len, prefixes), default=0)
        rows = [[*prefix, *[UNFORCED] * (width - len(prefix))] for prefix in prefixes]
        max_length = torch.tensor(max_lengths, dtype=torch.long, device=device)
        prefix = torch.tensor(rows, dtype=torch.long, device=device).reshape(len(max_lengths), width)
        return ConstraintState(max_length, max_length.clamp(max=min_length), prefix, required, bans)

    def forced_token(self, length: Int[Tensor, ""], eos: int) -> Int[Tensor, " sentence"]:
        """Return the only token allowed at this position, counted from 1, or `UNFORCED`."""
        column = (length - 1).clamp(max=self.prefix.shape[1] - 1).expand(len(self.max_length), 1)
        return self.prefix.gather(1, column)[:, 0].masked_fill(length > self.max_length, eos)

    def unconstrained_lengths(self) -> range:
        """Return the lengths at which no sentence has a forced token and every sentence may end."""
        if not len(self.max_length):
            return range(0)
        first = max(self.prefix.shape[1], int(self.min_length.max()) + 1)
        return range(first, int(self.max_length.min()) + 1)

    def select(self, sentences: Int[Tensor, " chosen"]) -> "ConstraintState":
        return ConstraintState(
            self.max_length[sentences],
            self.min_length[sentences],
            self.prefix[sentences],
            None if self.required is None else self.required.select(sentences),
            None if self.bans is None else self.bans.select(sentences),
        )
