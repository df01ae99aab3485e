"""Search of tokenized sentences in batches of similar length, under the constraints of a request."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from regard.data.bucketing import bucket_by_length
from regard.inference.alignment import align_words, word_confidences
from regard.search.config import SearchConfig
from regard.search.constraints import Constraints
from regard.search.hypothesis import Hypothesis
from regard.text.token_spans import map_tokens_to_words
from regard.translation.engines import LoadedModel
from regard.translation.keywords import OnDone
from regard.translation.long_text import TextParts
from regard.translation.options import TranslateOptions
from regard.translation.phrases.constraint_compiler import ConstraintCompiler
from regard.translation.phrases.glossary_search import GlossarySearch
from regard.translation.result import IMPOSSIBLE_TRANSLATION, Translation, WordConfidence

FORCED_DECODING_BATCH = 32
"""Translations decoded at once for alignments and confidences; each needs the logits of all its tokens."""


class SentenceSearch:
    """Searches the sentences of a request with one engine."""

    def __init__(self, model: LoadedModel) -> None:
        self._model, self._tokenizer = model, model.tokenizer
        self.token_text = cache(self._tokenizer.id_to_token)  # so that equal tokens share one string

    def search_all(
        self,
        split_texts: Sequence[TextParts],
        search: SearchConfig,
        options: TranslateOptions,
        on_done: OnDone,
    ) -> list[list[Translation]]:
        """Return the translation of every part of every text."""
        compiler = ConstraintCompiler(self._tokenizer, options)
        glossary = self._make_glossary_search(compiler, options)
        places = [(text, part) for text, parts in enumerate(split_texts) for part in range(len(parts.ids))]
        translations = [[Translation("")] * len(parts.ids) for parts in split_texts]
        open_parts = [len(parts.ids) for parts in split_texts]
        on_done(open_parts.count(0))
        lengths = [len(split_texts[text].ids[part]) for text, part in places]
        for batch in self.batches(lengths, search, options):
            batch_places = [places[index] for index in batch]
            sources = [split_texts[text].ids[part] for text, part in batch_places]
            parts = [(split_texts[text].parts[part], part == 0) for text, part in batch_places]
            hypotheses, misplaced = self._search_batch(sources, parts, search, compiler, glossary)
            batch_translations = self.to_translations(sources, hypotheses, options)
            for (text, part), translation, terms in zip(
                batch_places, batch_translations, misplaced, strict=True
            ):
                translations[text][part] = (
                    replace(translation, misplaced_terms=terms) if terms else translation
                )
                open_parts[text] -= 1
            on_done(sum(open_parts[text] == 0 for text in {text for text, _ in batch_places}))
        return translations

    def _make_glossary_search(
        self, compiler: ConstraintCompiler, options: TranslateOptions
    ) -> GlossarySearch | None:
        if not options.glossary.entries:
            return None
        assert self._model.get_forced_decoder is not None
        decoder = self._model.get_forced_decoder()
        return GlossarySearch(
            self._tokenizer, options.glossary, compiler.token_variants, decoder.force_decode
        )

    def _search_batch(
        self,
        sources: Sequence[Sequence[int]],
        parts: Sequence[tuple[str, bool]],
        search: SearchConfig,
        compiler: ConstraintCompiler,
        glossary: GlossarySearch | None,
    ) -> tuple[list[list[Hypothesis]], Sequence[tuple[str, ...]]]:
        """Search one batch under its constraints; return hypotheses and glossary terms not in place.

        `parts` are the texts, and whether each is a first part.
        """
        misplaced: Sequence[tuple[str, ...]] = [()] * len(sources)
        if not compiler.has_constraints:
            return self._model.engine.translate(sources, search), misplaced

        def search_sources(
            chosen: Sequence[Sequence[int]], constraints: Sequence[Constraints]
        ) -> list[list[Hypothesis]]:
            def search_subset(
                indexes: Sequence[int], narrower: Sequence[Constraints]
            ) -> list[list[Hypothesis]]:
                return self._model.engine.translate([chosen[index] for index in indexes], search, narrower)

            return compiler.forbidden_search.search(constraints, search_subset)

        constraints = [compiler.compile(is_first_part) for _, is_first_part in parts]
        if glossary is None:
            return search_sources(sources, constraints), misplaced
        return glossary.search(sources, [text for text, _ in parts], constraints, search_sources)

    def batches(
        self, lengths: Sequence[int], search: SearchConfig, options: TranslateOptions
    ) -> Iterator[list[int]]:
        """Yield batches of indexes, sentences of similar length together; or each sentence by itself."""
        if options.deterministic:
            yield from ([index] for index in range(len(lengths)))
            return
        rows = search.beam if search.sampling is None else search.n_best
        for batch in bucket_by_length(np.array(lengths, np.int64), self._model.batch_tokens // rows):
            yield batch.tolist()

    def to_translations(
        self,
        sources: Sequence[Sequence[int]],
        hypotheses: Sequence[Sequence[Hypothesis]],
        options: TranslateOptions,
    ) -> list[Translation]:
        """Return the best translation of each source, the further hypotheses as its alternatives."""
        pairs = [(source, each) for source, row in zip(sources, hypotheses, strict=True) for each in row]
        texts = self._tokenizer.detokenize([hypothesis.tokens for _, hypothesis in pairs])
        translations = [
            Translation(
                replace_newlines(text),
                hypothesis.score,
                hypothesis.log_probability,
                tuple(map(self.token_text, hypothesis.tokens)),
            )
            for text, (_, hypothesis) in zip(texts, pairs, strict=True)
        ]
        if options.needs_forced_decoding:
            translations = list(self._add_alignments_and_confidences(pairs, translations, options))
        remaining = iter(translations)
        grouped = [[next(remaining) for _ in row] for row in hypotheses]
        return [
            IMPOSSIBLE_TRANSLATION
            if best.log_probability == -math.inf
            else replace(best, alternatives=tuple(others))
            for best, *others in grouped
        ]

    def _add_alignments_and_confidences(
        self,
        pairs: Sequence[tuple[Sequence[int], Hypothesis]],
        translations: Sequence[Translation],
        options: TranslateOptions,
    ) -> Iterator[Translation]:
        """Force-decode translations and yield them with their word alignments and confidences."""
        assert self._model.get_forced_decoder is not None
        decoder = self._model.get_forced_decoder()
        for start in range(0, len(pairs), FORCED_DECODING_BATCH):
            batch = pairs[start : start + FORCED_DECODING_BATCH]
            decodings = decoder.force_decode(
                [source for source, _ in batch], [best.tokens for _, best in batch]
            )
            for (source, hypothesis), decoding, translation in zip(
                batch, decodings, translations[start:], strict=False
            ):
                words = map_tokens_to_words(self._tokenizer, hypothesis.tokens)
                links = align_words(decoding, map_tokens_to_words(self._tokenizer, source), words)
                confidences = zip(translation.text.split(), word_confidences(decoding, words), strict=True)
                yield replace(
                    translation,
                    alignment=links if options.alignments else None,
                    words=tuple(WordConfidence(*each) for each in confidences)
                    if options.confidences
                    else None,
                )


def replace_newlines(text: str) -> str:
    """Return the text on one line: a model can write any byte, but a translation must stay on its line."""
    return text.replace("\r", " ").replace("\n", " ")
