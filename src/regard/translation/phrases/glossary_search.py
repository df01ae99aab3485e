"""Glossary search: a term in place of the words that the model would have written for a source phrase.

A free translation shows which words stand for the phrase (glossary_placement.py). They are displaced: the
sentence is searched again with the term required and their tokens forbidden, with the phrase visible and with
the phrase hidden. Then the same test says whether a word for the phrase is left beside the term; if so, the
search is repeated without that word, too. docs/decisions/0020-glossary.md has reasons and measurements.
"""

import math
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from regard.inference.alignment import ForcedDecoding
from regard.search.constraints import Constraints, TokenIds
from regard.search.hypothesis import Hypothesis
from regard.text.glossary import Glossary
from regard.text.token_spans import map_tokens_to_spans
from regard.text.tokenizer import PAD, Tokenizer
from regard.translation.phrases.constraint_compiler import sentence_case_variants
from regard.translation.phrases.glossary_placement import (
    PlacedTranslation,
    RequiredTerm,
    find_term,
    judge_translation,
    split_translation,
)

MAX_GLOSSARY_SEARCHES = 4
"""Searches with ever more forbidden words, before the term is forced at its place."""
MAX_WORDS_BEFORE = 2
"""Words before a displaced word that are searched anew with the term: an article and an adjective."""
FORCED_BATCH = 32
"""Translations decoded at once, with all phrases visible or one of them hidden."""
NOT_FOUND = 1 << 20
"""The missing terms of a search that found no translation, so that any other is better."""

ForceDecode = Callable[[Sequence[Sequence[int]], Sequence[Sequence[int]]], list[ForcedDecoding]]
TokenVariants = Callable[[str], tuple[TokenIds, ...]]
"""Returns the tokens of a phrase wherever a word can begin, after a space first."""
SearchSources = Callable[[Sequence[TokenIds], Sequence[Constraints]], list[list[Hypothesis]]]
"""Searches sources under these constraints."""


@dataclass(frozen=True)
class GlossarySentence:
    """A sentence with glossary phrases: its constraints without them, and the terms."""

    source: TokenIds
    base: Constraints
    terms: tuple[RequiredTerm, ...] = ()
    required: tuple[tuple[TokenIds, ...], ...] = ()
    """The terms as token alternatives, each as often as it must occur."""

    @property
    def hidden_source(self) -> TokenIds:
        """The source with all phrases hidden."""
        positions = frozenset[int]().union(*(term.positions for term in self.terms))
        return _hide(self.source, positions)

    def constrain(self, prefix: TokenIds, forbidden: Sequence[TokenIds]) -> Constraints:
        """Return the constraints with the terms; a phrase that is required anyway is required once."""
        others = (each for each in self.base.required if not any(each[0] in own for own in self.required))
        return Constraints(prefix, (*others, *self.required), (*self.base.forbidden, *forbidden))


@dataclass(frozen=True)
class _Trial:
    """One search for the translation of a sentence."""

    index: int
    source: TokenIds
    constraints: Constraints


class GlossarySearch:
    """Searches translations in which every glossary term stands in place of what it replaces."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        glossary: Glossary,
        token_variants: TokenVariants,
        force_decode: ForceDecode,
    ) -> None:
        self._tokenizer, self._glossary = tokenizer, glossary
        self._token_variants, self._force_decode = token_variants, force_decode

    def search(
        self,
        sources: Sequence[Sequence[int]],
        texts: Sequence[str],
        constraints: Sequence[Constraints],
        search_sources: SearchSources,
    ) -> tuple[list[list[Hypothesis]], list[tuple[str, ...]]]:
        """Return the hypotheses of each sentence, and descriptions of the terms that are not in place."""
        sentences = [
            GlossarySentence(tuple(source), base, self._find_terms(tuple(source), text))
            for source, text, base in zip(sources, texts, constraints, strict=True)
        ]
        free_search = [_Trial(n, each.source, each.base) for n, each in enumerate(sentences)]
        free = self._run(sentences, free_search, search_sources, None)
        sentences = [self._require_terms(*pair) for pair in zip(sentences, free, strict=True)]
        best = list(free)
        left = self._search_without_displaced(sentences, free, best, search_sources)
        self._search_after_prefixes(sentences, free, best, left, search_sources)
        return (
            [list(self._keep_terms(*pair)) for pair in zip(sentences, best, strict=True)],
            [each.misplaced for each in best],
        )

    def _find_terms(self, source: TokenIds, text: str) -> tuple[RequiredTerm, ...]:
        """Return the terms of a sentence, one for all occurrences of phrases with the same translations."""
        (written,) = self._tokenizer.detokenize([source])
        matches = self._glossary.find_matches(text)
        if len(unicodedata.normalize("NFC", text)) != len(written):  # the positions of the text are others
            matches = self._glossary.find_matches(written)
        spans = map_tokens_to_spans(self._tokenizer, source)
        terms: dict[tuple[str, ...], RequiredTerm] = {}
        for match in matches:
            targets = tuple(self._tokenizer.detokenize(self._tokenizer.tokenize(match.targets)))
            inside = {n for n, (start, end) in enumerate(spans) if start < match.end and end > match.start}
            term = terms.get(targets, RequiredTerm(match.phrase, targets, 0, frozenset(), source))
            positions = term.positions | inside
            terms[targets] = RequiredTerm(
                term.phrase, targets, term.occurrences + 1, positions, _hide(source, positions)
            )
        return tuple(terms.values())

    def _require_terms(self, sentence: GlossarySentence, free: PlacedTranslation) -> GlossarySentence:
        """Return the sentence with its terms as tokens, also required as often as they translate others."""
        if not free.violations:
            return sentence
        terms = sentence.terms
        if free.placements:
            terms = tuple(
                term._replace(elsewhere=each.elsewhere if each.leftovers else 0)
                for term, each in zip(terms, free.placements, strict=True)
            )
        required = tuple(
            tuple(dict.fromkeys(ids for target in term.targets for ids in self._variants_of_term(target)))
            for term in terms
            for _ in range(term.occurrences + term.elsewhere)
        )
        return replace(sentence, terms=terms, required=required)

    def _variants_of_term(self, target: str) -> Iterator[TokenIds]:
        yield from self._token_variants(target)
        for capital in sentence_case_variants(target)[1:]:
            yield self._token_variants(capital)[0]

    def _search_without_displaced(
        self,
        sentences: Sequence[GlossarySentence],
        free: Sequence[PlacedTranslation],
        best: list[PlacedTranslation],
        search_sources: SearchSources,
    ) -> list[int]:
        """Search with terms required and displaced words forbidden; improve `best`, return what is left."""
        forbidden: dict[int, dict[TokenIds, None]] = {n: {} for n, each in enumerate(free) if each.violations}
        latest = {index: [free[index]] for index in forbidden}
        for _ in range(MAX_GLOSSARY_SEARCHES):
            trials = []
            for index, judged in latest.items():
                before, sentence = dict(forbidden[index]), sentences[index]
                for each in judged:
                    forbidden[index] |= self._find_forbidden(sentence, free[index], each)
                if forbidden[index] != before or judged == [free[index]]:
                    constraints = sentence.constrain(sentence.base.prefix, tuple(forbidden[index]))
                    trials += [
                        _Trial(index, source, constraints)
                        for source in (sentence.source, sentence.hidden_source)
                    ]
            latest = {}
            for trial, each in zip(trials, self._run(sentences, trials, search_sources, free), strict=True):
                best[trial.index] = min(best[trial.index], each, key=lambda candidate: candidate.rank)
                latest.setdefault(trial.index, []).append(each)
            latest = {index: judged for index, judged in latest.items() if best[index].violations}
            if not latest:
                break
        return [index for index in forbidden if best[index].violations]

    def _search_after_prefixes(
        self,
        sentences: Sequence[GlossarySentence],
        free: Sequence[PlacedTranslation],
        best: list[PlacedTranslation],
        left: Sequence[int],
        search_sources: SearchSources,
    ) -> None:
        """Begin as the free translation before its displaced word, then write the term; improve `best`.

        The last trial only requires the term, wherever it stands.
        """
        trials = []
        for index in left:
            sentence = sentences[index]
            forbidden = tuple(self._find_forbidden(sentence, free[index], free[index]))
            trials += [
                _Trial(index, sentence.source, sentence.constrain(prefix, forbidden))
                for prefix in dict.fromkeys(self._prefixes_before_displaced(sentence, free[index]))
                if prefix[: len(sentence.base.prefix)] == sentence.base.prefix
            ]
            trials.append(_Trial(index, sentence.source, sentence.constrain(sentence.base.prefix, ())))
        for trial, each in zip(trials, self._run(sentences, trials, search_sources, free), strict=True):
            best[trial.index] = min(best[trial.index], each, key=lambda candidate: candidate.rank)

    def _prefixes_before_displaced(
        self, sentence: GlossarySentence, free: PlacedTranslation
    ) -> Iterator[TokenIds]:
        """Yield the tokens before each displaced word with the term, and with one or two words less."""
        for term, placement in zip(sentence.terms, free.placements, strict=False):  # none of an empty text
            for place in sorted(placement.displaced):
                for back in range(min(MAX_WORDS_BEFORE, place) + 1):
                    prefix = free.best.tokens[: free.words[place - back].tokens[0]]
                    if back:
                        yield prefix
                        continue
                    for target in term.targets:
                        case = target if prefix else sentence_case_variants(target)[-1]
                        yield (*prefix, *self._token_variants(case)[0])

    def _find_forbidden(
        self, sentence: GlossarySentence, free: PlacedTranslation, latest: PlacedTranslation
    ) -> dict[TokenIds, None]:
        """Return the tokens of the words to forbid, except where the term or another word needs them."""
        found: dict[TokenIds, None] = {}
        for index in sorted(latest.displaced):
            text, places = latest.words[index]
            spelled = latest.best.tokens[places[0] : places[-1] + 1]
            cases = sorted({text, text.lower(), *sentence_case_variants(text)})
            found |= dict.fromkeys((spelled, *map(tuple, self._tokenizer.tokenize(cases))))
        displaced_tokens = {n for index in free.displaced for n in free.words[index].tokens}
        needed = [tokens for alternatives in sentence.required for tokens in alternatives]
        return {
            tokens: None
            for tokens in found
            if not any(_occurs(tokens, each) for each in needed)
            and not _occurs(tokens, free.best.tokens, displaced_tokens)
        }

    def _run(
        self,
        sentences: Sequence[GlossarySentence],
        trials: Sequence[_Trial],
        search_sources: SearchSources,
        free: Sequence[PlacedTranslation] | None,
    ) -> list[PlacedTranslation]:
        """Search and judge; `free` are the free translations, None while these are searched."""
        if not trials:
            return []
        results = search_sources([each.source for each in trials], [each.constraints for each in trials])
        pairs = [
            (source, hypotheses[0].tokens)
            for trial, hypotheses in zip(trials, results, strict=True)
            if hypotheses[0].tokens
            for source in _sources_to_decode(sentences[trial.index])
        ]
        remaining = iter(self._decode_pairs(pairs))
        judged = []
        for trial, hypotheses in zip(trials, results, strict=True):
            terms = sentences[trial.index].terms
            if not hypotheses[0].tokens or not terms:
                failed = free is not None or (bool(terms) and hypotheses[0].log_probability > -math.inf)
                misplaced = tuple(term.description for term in terms if failed)
                judged.append(
                    PlacedTranslation(
                        tuple(hypotheses),
                        misplaced=misplaced,
                        missing=NOT_FOUND if hypotheses[0].log_probability == -math.inf else len(misplaced),
                        violations=len(misplaced),
                    )
                )
                continue
            words = split_translation(self._tokenizer, hypotheses[0].tokens)
            visible, *hidden = (next(remaining) for _ in range(1 + len(terms)))
            own_free = None if free is None else free[trial.index]
            judged.append(judge_translation(terms, hypotheses, words, visible, hidden, own_free))
        return judged

    def _decode_pairs(self, pairs: Sequence[tuple[TokenIds, TokenIds]]) -> Iterator[ForcedDecoding]:
        for start in range(0, len(pairs), FORCED_BATCH):
            sources, targets = zip(*pairs[start : start + FORCED_BATCH], strict=True)
            yield from self._force_decode(sources, targets)

    def _keep_terms(self, sentence: GlossarySentence, best: PlacedTranslation) -> Iterator[Hypothesis]:
        """Yield the best hypothesis, and the alternatives that have all terms."""
        yield best.best
        for other in best.hypotheses[1:]:
            words = split_translation(self._tokenizer, other.tokens)
            if all(len(find_term(words, term.targets)) >= term.occurrences for term in sentence.terms):
                yield other


def _sources_to_decode(sentence: GlossarySentence) -> tuple[TokenIds, ...]:
    """Return the source with all phrases visible, and with each hidden; nothing without terms."""
    hidden = tuple(term.hidden_source for term in sentence.terms)
    return (sentence.source, *hidden) if hidden else ()


def _hide(source: TokenIds, positions: frozenset[int]) -> TokenIds:
    return tuple(PAD if n in positions else token for n, token in enumerate(source))


def _occurs(tokens: TokenIds, inside: TokenIds, apart_from: set[int] | None = None) -> bool:
    """Return whether tokens occur in others, at places that do not touch those in `apart_from`."""
    return any(
        inside[start : start + len(tokens)] == tokens
        and (apart_from is None or apart_from.isdisjoint(range(start, start + len(tokens))))
        for start in range(len(inside) - len(tokens) + 1)
    )
