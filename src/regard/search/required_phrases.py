"""Required phrases as automata: the progress of each hypothesis, and the tokens that it still misses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.search.constraints import CHARACTER_KINDS, SEPARATE, TokenIds, WordBoundaries
from regard.search.required_length import (
    MAX_ORDERED_PHRASES,
    UNREACHABLE,
    Phrases,
    continues_word,
    find_repeated_phrase,
    make_completion_table,
)

NO_TOKEN = -1
"""Padding of required phrases."""
ABSENT_LENGTH = 1 << 20
"""Length of an alternative that does not exist, which is never completed."""

RequiredProgress = Int[Tensor, "sentence slot phrase alternative"]
"""How many tokens of each alternative a hypothesis ends with; its length plus one once it occurs for good."""


@dataclass(frozen=True)
class MissingTokens:
    """How many tokens complete the phrases of each sentence: its `CompletionTable`, as tensors."""

    completed: Int[Tensor, "sentence sets phrase alternative"]
    remaining: Int[Tensor, "sentence sets phrase alternative"]
    next_kind: Int[Tensor, "sentence phrase alternative longest"]
    """The kind of character each token begins with; `SEPARATE` without word boundaries."""
    last_kind: Int[Tensor, "sentence phrase alternative"]
    """The kind of the last character of each alternative."""

    @staticmethod
    def from_phrases(
        required: Sequence[Phrases], shape: tuple[int, int, int], word_boundaries: WordBoundaries | None
    ) -> "MissingTokens | None":
        """Return None if a sentence has too many phrases; `shape` is phrases, alternatives, longest."""
        phrases, alternatives, longest = shape
        if phrases > MAX_ORDERED_PHRASES:
            return None
        sentences = len(required)
        missing = MissingTokens(
            torch.zeros((sentences, 1 << phrases, phrases, alternatives), dtype=torch.long),
            torch.full((sentences, 1 << phrases, phrases, alternatives), UNREACHABLE),
            torch.full((sentences, phrases, alternatives, longest), SEPARATE),
            torch.full((sentences, phrases, alternatives), SEPARATE),
        )
        for i, sentence in enumerate(required):
            if sentence:
                table = make_completion_table(sentence, word_boundaries)
                _, own_phrases, own_alternatives = table.completed.shape
                own_sets = torch.arange(1 << phrases) & (len(table.remaining) - 1)  # absent ones are complete
                for tensor, array in (
                    (missing.completed, table.completed),
                    (missing.remaining, table.remaining),
                ):
                    tensor[i, :, :own_phrases, :own_alternatives] = torch.from_numpy(array)[own_sets]
            if word_boundaries is not None:
                missing._add_kinds(i, sentence, word_boundaries)
        return missing

    def _add_kinds(self, sentence: int, phrases: Phrases, word_boundaries: WordBoundaries) -> None:
        for j, phrase in enumerate(phrases):
            for k, tokens in enumerate(phrase):
                kinds = [word_boundaries.begins[token] for token in tokens]
                self.next_kind[sentence, j, k, : len(tokens)] = torch.tensor(kinds)
                self.last_kind[sentence, j, k] = word_boundaries.ends[tokens[-1]]

    def apply(self, change: Callable[[Tensor], Tensor]) -> "MissingTokens":
        return MissingTokens(
            change(self.completed), change(self.remaining), change(self.next_kind), change(self.last_kind)
        )

    def count(
        self, progress: RequiredProgress, length: Int[Tensor, "sentence phrase alternative"]
    ) -> Int[Tensor, "sentence slot"]:
        """Return the fewest tokens after which all phrases are complete.

        Either an alternative begun is completed next, or the one just completed is followed by another, as
        in the table. A token that continues the last word of a phrase just completed would undo it.
        """
        length, is_absent = length[:, None], (length == ABSENT_LENGTH)[:, None]
        complete = (progress >= length).any(dim=3) | is_absent.all(dim=3)
        bit = 1 << torch.arange(complete.shape[2], device=progress.device)
        done = (complete * bit).sum(dim=2)
        ends_here = progress == length
        undoable = ends_here & ~(progress > length).any(dim=3, keepdim=True)
        undone_kind = self.last_kind[:, None].where(undoable, SEPARATE).flatten(2).amax(dim=2)
        kinds = self.next_kind[:, None].expand(-1, progress.shape[1], -1, -1, -1)
        state = progress.clamp(max=kinds.shape[4] - 1)[..., None]
        kind = kinds.gather(4, state)[..., 0]
        undoes = (kind != SEPARATE) & (kind == undone_kind[:, :, None, None])
        done = done[:, :, None, None].expand_as(progress)
        begun = length - progress + self.remaining.gather(1, self.completed.gather(1, done))
        begun = begun.masked_fill(complete[..., None] | undoes | is_absent, UNREACHABLE)
        followed = self.remaining.gather(1, done).masked_fill(~ends_here, UNREACHABLE)
        fewest = torch.minimum(begun, followed).flatten(2).amin(dim=2)
        return fewest.masked_fill(complete.all(dim=2), 0)


@dataclass(frozen=True)
class RequiredPhrases:
    """One automaton (Knuth-Morris-Pratt) per alternative of each sentence's required phrases.

    The state of an automaton is the number of tokens of the alternative that a hypothesis ends with; after a
    mismatch it falls back to the longest prefix that still matches. All alternatives of all phrases
    advance at once, so phrases may overlap and one token may count for several. A phrase that is required
    twice is two phrases, the second of which begins after the first. A phrase inside a longer word does not
    count: a token that continues its last word resets the automaton.
    """

    tokens: Int[Tensor, "sentence phrase alternative longest"]
    """Padded with `NO_TOKEN`."""
    length: Int[Tensor, "sentence phrase alternative"]
    repeated: Int[Tensor, "sentence phrase"]
    """The index of the equal phrase that must be complete first; the phrase's own if there is none."""
    alphabet: Int[Tensor, "sentence letters"]
    """The distinct tokens of all phrases, padded with `NO_TOKEN`."""
    transitions: Int[Tensor, "sentence phrase alternative states letters_and_kinds"]
    """The next state by token of the alphabet, and by kind of any other token."""
    first_character_kind: Int[Tensor, " vocab"] | None
    """The kind of character each token begins with; None: no token continues the word before it."""
    missing: MissingTokens | None
    """None: the lengths of the missing phrases are added up."""

    @staticmethod
    def from_phrases(
        required: Sequence[Sequence[Sequence[TokenIds]]],
        word_boundaries: WordBoundaries | None = None,
        device: torch.device | None = None,
    ) -> "RequiredPhrases":
        sentences: list[Phrases] = [tuple(map(tuple, sentence)) for sentence in required]
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
            torch.arange(phrases).repeat(len(required), 1),
            torch.full((len(required), letters), NO_TOKEN),
            torch.zeros((*shape, longest + 2, letters + CHARACTER_KINDS), dtype=torch.long),
            None if word_boundaries is None else torch.tensor(word_boundaries.begins),
            MissingTokens.from_phrases(sentences, (phrases, alternatives, longest), word_boundaries),
        )
        for i, (sentence, alphabet) in enumerate(zip(sentences, alphabets, strict=True)):
            automata.alphabet[i, : len(alphabet)] = torch.tensor(alphabet)
            for j, phrase in enumerate(sentence):
                if (repeated := find_repeated_phrase(sentence, j)) is not None:
                    automata.repeated[i, j] = repeated
                for k, tokens in enumerate(phrase):
                    automata.tokens[i, j, k, : len(tokens)] = torch.tensor(tokens)
                    automata.length[i, j, k] = len(tokens)
                    table = automata.transitions[i, j, k, : len(tokens) + 2]
                    table[:, : len(alphabet)] = torch.tensor(
                        _transitions_by_token(tokens, alphabet, word_boundaries)
                    )
                    table[:, letters:] = torch.tensor(_transitions_by_kind(tokens, word_boundaries))
        kinds = automata.first_character_kind
        moved = automata._apply(lambda tensor: tensor.to(device))
        return replace(moved, first_character_kind=None if kinds is None else kinds.to(device))

    def select(self, sentences: Int[Tensor, " chosen"]) -> "RequiredPhrases":
        return self._apply(lambda tensor: tensor[sentences])

    def initial_progress(self, slots: int) -> RequiredProgress:
        return torch.zeros_like(self.length)[:, None].repeat(1, slots, 1, 1)

    def total_tokens(self) -> Int[Tensor, " sentence"]:
        """Return the number of tokens that suffices for all phrases."""
        return self.missing_tokens(self.initial_progress(1))[:, 0]

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
        after = self.transitions[sentence, phrase, alternative, progress, letter[:, :, None, None]]
        may_begin = self._is_complete(progress) & self._is_complete(after)
        may_begin = may_begin.gather(2, self.repeated[:, None].expand_as(may_begin))
        is_first = self.repeated == torch.arange(progress.shape[2], device=token.device)
        return after.where((may_begin | is_first[:, None])[..., None], 0)

    def missing_tokens(self, progress: RequiredProgress) -> Int[Tensor, "sentence slot"]:
        """Return the fewest tokens that complete the incomplete phrases; 0 if all are complete.

        Of more phrases than `MAX_ORDERED_PHRASES`, a number that suffices: the alternative nearest to
        completion is completed first, and the other phrases start over, without sharing tokens.
        """
        if self.missing is not None:
            return self.missing.count(progress, self.length)
        left = (self.length[:, None] - progress).clamp(min=0)
        shortest = self.length.amin(dim=2)[:, None]
        missing = shortest.where(~self._is_complete(progress), 0)
        saved = (missing - left.amin(dim=3)).clamp(min=0).amax(dim=2)
        return missing.sum(dim=2) - saved

    def _is_complete(self, progress: RequiredProgress) -> Bool[Tensor, "sentence slot phrase"]:
        complete = (progress >= self.length[:, None]).any(dim=3)
        return complete | (self.length == ABSENT_LENGTH).all(dim=2)[:, None]

    def _apply(self, change: Callable[[Tensor], Tensor]) -> "RequiredPhrases":
        """Return the automata with every tensor changed that has a row for each sentence."""
        return RequiredPhrases(
            change(self.tokens),
            change(self.length),
            change(self.repeated),
            change(self.alphabet),
            change(self.transitions),
            self.first_character_kind,
            None if self.missing is None else self.missing.apply(change),
        )


def _transitions_by_token(
    tokens: TokenIds, alphabet: Sequence[int], word_boundaries: WordBoundaries | None
) -> list[list[int]]:
    """Return, for each state, the next state by token of the alphabet."""
    kinds = [0 if word_boundaries is None else word_boundaries.begins[token] for token in alphabet]
    return [
        [
            _next_state(tokens, state, token, continues_word(tokens[-1], kind, word_boundaries))
            for token, kind in zip(alphabet, kinds, strict=True)
        ]
        for state in range(len(tokens) + 2)
    ]


def _transitions_by_kind(tokens: TokenIds, word_boundaries: WordBoundaries | None) -> list[list[int]]:
    """Return, for each state, the next state by character kind of a token outside the alphabet."""
    return [
        [
            _next_state(tokens, state, NO_TOKEN, continues_word(tokens[-1], kind, word_boundaries))
            for kind in range(CHARACTER_KINDS)
        ]
        for state in range(len(tokens) + 2)
    ]


def _next_state(tokens: TokenIds, state: int, token: int, continues_word: bool) -> int:
    """Return the length of the longest prefix of `tokens` that the matched tokens and `token` end with."""
    if state > len(tokens) or (state == len(tokens) and not continues_word):
        return len(tokens) + 1
    text = (*tokens[:state], token)
    longest = min(len(text), len(tokens))
    return max(n for n in range(longest + 1) if text[len(text) - n :] == tokens[:n])
