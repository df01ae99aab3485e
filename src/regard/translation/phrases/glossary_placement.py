"""Placement of glossary terms: where they stand in a translation, and which words translate their phrases.

A word translates a phrase if it loses much probability once the phrase is hidden from the model (occlusion,
as in Li et al., 2019) and the decoder attends to the phrase when it writes the word.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from regard.inference.alignment import ForcedDecoding
from regard.search.constraints import TokenIds
from regard.search.hypothesis import Hypothesis
from regard.text.glossary import WordTuple, split_phrase, split_words
from regard.text.token_spans import map_tokens_to_spans
from regard.text.tokenizer import Tokenizer

MIN_PROBABILITY_LOSS = 1.5
"""Nats that a word loses at least when the phrase that it translates is hidden."""
NOT_SENTENCE_START = ",;'’-–—/"
"""Punctuation after which a word is not capitalized as at the beginning of a sentence."""


class RequiredTerm(NamedTuple):
    """A glossary entry in one sentence."""

    phrase: str
    targets: tuple[str, ...]
    """Its translations, as the tokenizer writes them."""
    occurrences: int
    """How often the phrase occurs in the sentence."""
    positions: frozenset[int]
    """The source tokens of the phrase."""
    hidden_source: TokenIds
    """The source with padding in place of the phrase, which hides it from the model."""
    elsewhere: int = 0
    """How often the term translates something else in the free translation."""

    @property
    def description(self) -> str:
        return f"{self.phrase} -> {self.targets[0]}"


class TranslatedWord(NamedTuple):
    """A word of a translation."""

    text: str
    tokens: tuple[int, ...]
    """The places of its tokens."""


@dataclass(frozen=True)
class TermPlacement:
    """How one term stands in a translation."""

    missing: int
    """How many more times the term should occur."""
    elsewhere: int
    """Occurrences of the term that do not translate the phrase."""
    leftovers: frozenset[int]
    """Words that translate the phrase beside the term, by index."""
    displaced: frozenset[int]
    """Words that missing terms should replace, by index; leftovers among them."""


@dataclass(frozen=True)
class PlacedTranslation:
    """A translation with its alternatives, the placement of each term, and how well all of it reads."""

    hypotheses: tuple[Hypothesis, ...]
    words: tuple[TranslatedWord, ...] = ()
    placements: tuple[TermPlacement, ...] = ()
    misplaced: tuple[str, ...] = ()
    """Descriptions of the terms that are not in place."""
    missing: int = 0
    """Terms that do not occur as often as they should."""
    violations: int = 0
    """Missing terms, terms that stand elsewhere, and words left beside a term."""
    score: float = -math.inf
    """The mean of the scores with the phrases visible and hidden: the model's own word for a phrase makes the
    article of another improbable, while without the phrase it agrees with the term."""

    @property
    def best(self) -> Hypothesis:
        return self.hypotheses[0]

    @property
    def displaced(self) -> frozenset[int]:
        """The words that should give way to terms."""
        return frozenset[int]().union(*(each.displaced for each in self.placements))

    @property
    def rank(self) -> tuple[int, int, float]:
        """Lower is better."""
        return self.missing, self.violations, -self.score


def split_translation(tokenizer: Tokenizer, tokens: TokenIds) -> tuple[TranslatedWord, ...]:
    """Return the words and punctuation marks of a translation with their tokens."""
    (text,) = tokenizer.detokenize([tokens])
    spans = map_tokens_to_spans(tokenizer, tokens)
    words = (
        (word.text, tuple(n for n, (start, end) in enumerate(spans) if start < word.end and end > word.start))
        for word in split_words(text)
    )
    return tuple(TranslatedWord(text, places) for text, places in words if places)


def find_term(words: Sequence[TranslatedWord], targets: Iterable[str]) -> list[range]:
    """Return where any of the targets occurs as whole words, without overlap.

    At the beginning of a sentence it may be capitalized.
    """
    spellings = sorted(map(split_phrase, targets), key=len, reverse=True)
    found: list[range] = []
    start = 0
    while start < len(words):
        length = next((len(each) for each in spellings if _is_spelling(words, start, each)), 0)
        found += [range(start, start + length)] if length else []
        start += length or 1
    return found


def _is_spelling(words: Sequence[TranslatedWord], first: int, spelling: WordTuple) -> bool:
    texts = tuple(word.text for word in words[first : first + len(spelling)])
    if texts == spelling:
        return True
    before = words[first - 1].text if first else "."
    begins_sentence = not before[-1].isalnum() and before not in NOT_SENTENCE_START
    return begins_sentence and texts == (spelling[0][:1].upper() + spelling[0][1:], *spelling[1:])


def judge_translation(
    terms: Sequence[RequiredTerm],
    hypotheses: Sequence[Hypothesis],
    words: tuple[TranslatedWord, ...],
    visible: ForcedDecoding,
    hidden: Sequence[ForcedDecoding],
    free: PlacedTranslation | None,
) -> PlacedTranslation:
    """Return the placement of terms in a translation, decoded with all phrases visible and with each hidden.

    `free` is the free translation of the sentence, None if this is it. A word is left over if it translates
    the phrase beside the term, or if it is a displaced word that occurs more often than it should.
    """
    occurrences = [find_term(words, term.targets) for term in terms]
    in_terms = {n for each in occurrences for place in each for n in place}
    again = frozenset() if free is None else _find_displaced_again(words, in_terms, free)
    others = [n for n, word in enumerate(words) if n not in in_terms and word.text[0].isalnum()]
    in_context = frozenset(
        place for each in occurrences for place in each if _is_in_context(words, place, free)
    )
    placements = tuple(
        _place_term(term, found, words, others, again, in_context, visible, without)
        for term, found, without in zip(terms, occurrences, hidden, strict=True)
    )
    violations = [
        each.missing + len(each.leftovers)
        if free is None
        else each.missing + len(each.leftovers) + max(each.elsewhere - term.elsewhere, 0)
        for term, each in zip(terms, placements, strict=True)
    ]
    best = hypotheses[0]
    penalty = best.log_probability / best.score if best.score else 1.0
    without_phrases = sum(each.log_probability for each in hidden) / len(hidden)
    in_model = Hypothesis(best.tokens, visible.log_probability, visible.log_probability / penalty)
    return PlacedTranslation(
        (best if free is None else in_model, *hypotheses[1:]),
        words,
        placements,
        tuple(term.description for term, count in zip(terms, violations, strict=True) if count),
        sum(each.missing for each in placements),
        sum(violations),
        (visible.log_probability + without_phrases) / 2 / penalty,
    )


def _place_term(
    term: RequiredTerm,
    found: Sequence[range],
    words: Sequence[TranslatedWord],
    others: Sequence[int],
    again: frozenset[int],
    in_context: frozenset[range],
    visible: ForcedDecoding,
    hidden: ForcedDecoding,
) -> TermPlacement:
    """Return the placement of a term found at some places; `others` are the words outside of terms."""
    losses = [
        sum(visible.log_probabilities[n] - hidden.log_probabilities[n] for n in word.tokens) for word in words
    ]
    attends = [visible.most_attended[word.tokens[0]] in term.positions for word in words]
    elsewhere = sum(
        not any(attends[n] or losses[n] >= MIN_PROBABILITY_LOSS for n in place)
        for place in found
        if place not in in_context
    )
    translates = {n for n in others if attends[n] and losses[n] >= MIN_PROBABILITY_LOSS}
    leftovers = again | translates
    missing = max(term.occurrences + term.elsewhere - len(found), 0)
    evidence = {n: losses[n] + MIN_PROBABILITY_LOSS * attends[n] for n in others if losses[n] > 0}
    replaced = sorted(evidence, key=lambda n: -evidence[n])[:missing]
    return TermPlacement(missing, elsewhere, leftovers, leftovers.union(replaced))


def _is_in_context(words: Sequence[TranslatedWord], place: range, free: PlacedTranslation | None) -> bool:
    """Return whether a term stands beside the same word as a displaced word of the free translation."""
    if free is None:
        return False
    before, after = _neighbours(words, place.start, place.stop)
    neighbours = [_neighbours(free.words, n, n + 1) for n in free.displaced]
    follows_word = not before or before[-1].isalnum()
    return follows_word and any(before == one or after == other for one, other in neighbours)


def _neighbours(words: Sequence[TranslatedWord], start: int, stop: int) -> tuple[str, str]:
    """Return the word before and the word after, empty at the ends."""
    before = words[start - 1].text if start else ""
    return before.casefold(), words[stop].text.casefold() if stop < len(words) else ""


def _find_displaced_again(
    words: Sequence[TranslatedWord], in_terms: set[int], free: PlacedTranslation
) -> frozenset[int]:
    """Return the displaced words of the free translation that occur more often than they may."""
    allowed = Counter(word.text.casefold() for n, word in enumerate(free.words) if n not in free.displaced)
    unwanted = {free.words[n].text.casefold() for n in free.displaced}
    found = set()
    for n, word in enumerate(words):
        text = word.text.casefold()
        if text in unwanted and n not in in_terms:
            allowed[text] -= 1
            if allowed[text] < 0:
                found.add(n)
    return frozenset(found)
