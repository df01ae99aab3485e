"""Translator: text in, text out, with the model of one folder; no torch until an engine needs it."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.checkpoint import WEIGHTS_FILE
from regard.data.bucketing import bucket_by_length
from regard.errors import ConfigError
from regard.inference.alignment import align_words, word_confidences
from regard.inference.engine_selection import EngineChoice, EngineName, RequestedPrecision
from regard.search.config import PAPER_SEARCH, SearchConfig
from regard.search.constraints import Constraints
from regard.search.hypothesis import Hypothesis
from regard.text.glossary import EMPTY_GLOSSARY
from regard.text.token_spans import map_tokens_to_words
from regard.text.tokenizer import EOS, Tokenizer
from regard.text.unicode import reject_lone_surrogates
from regard.trace.request import MAX_TRACE_TOKENS
from regard.translation.constraint_compiler import ConstraintCompiler
from regard.translation.engines import (
    DEFAULT_ENGINE,
    DeviceName,
    EngineInfo,
    EngineOptions,
    FallbackEngine,
    Fp32Model,
    LoadedModel,
    load_engine,
    report_engine_choice,
    select_translation_engine,
    wrap_model,
)
from regard.translation.glossary_search import GlossarySearch
from regard.translation.long_text import TextParts, merge_parts, split_long_texts
from regard.translation.model_folder import TranslationFolder, read_translation_folder
from regard.translation.options import DEFAULT_OPTIONS, TranslateOptions, reject_conflicting_options
from regard.translation.result import IMPOSSIBLE_TRANSLATION, Continuation, Translation, WordConfidence
from regard.translation.unlike_training import LikelihoodCalibration, is_free_search

if TYPE_CHECKING:
    from regard.model.transformer import Transformer
    from regard.trace.interventions import Intervention
    from regard.trace.trace import Trace
    from regard.translation.tracing import Tracer

FORCED_DECODING_BATCH = 32
"""Translations decoded at once for alignments and confidences; each needs the logits of all its tokens."""


class Translator:
    """Translates texts with one model; no text changes the translation of another."""

    def __init__(self, model: LoadedModel) -> None:
        self._model = model
        self._tokenizer = model.tokenizer
        self._fallback: Translator | None = None
        self._token_text = cache(self._tokenizer.id_to_token)  # so that equal tokens share one string

    @classmethod
    def load(
        cls,
        folder: str | Path,
        device: DeviceName = "auto",
        engine: EngineName = "auto",
        precision: RequestedPrecision = "auto",
        *,
        threads: int | None = None,
        search: SearchConfig = PAPER_SEARCH,
        options: TranslateOptions = DEFAULT_OPTIONS,
    ) -> "Translator":
        """Load the model that `regard train` wrote to `folder`, in the engine that suits the device.

        Not every engine supports every option: `search` and `options` say what will be used, so that a
        suitable one is chosen. With engine "auto", torch is loaded as well once a request needs what
        CTranslate2 does not support; an engine given by name refuses such a request.
        """
        engine_options = EngineOptions(device, engine, precision, threads)
        model_folder = read_translation_folder(Path(folder), size_only=[WEIGHTS_FILE])
        return cls.from_folder(model_folder, engine_options, search, options)

    @classmethod
    def from_folder(
        cls,
        folder: TranslationFolder,
        engine: EngineOptions = DEFAULT_ENGINE,
        search: SearchConfig = PAPER_SEARCH,
        options: TranslateOptions = DEFAULT_OPTIONS,
        choice: EngineChoice | None = None,
    ) -> "Translator":
        """Load a model folder that has been read already; `choice` is its engine if that has been chosen."""
        if choice is None:
            choice = select_translation_engine(folder, engine, search, options)
        return cls(load_engine(folder, choice, engine, options))

    @classmethod
    def from_model(
        cls,
        model: "Transformer",
        tokenizer: Tokenizer,
        calibration: LikelihoodCalibration | None = None,
    ) -> "Translator":
        """Translate with a model in memory, on its device; it may still be training.

        With a `calibration`, texts unlike the training text are flagged.
        """
        return cls(replace(wrap_model(model, tokenizer), calibration=calibration))

    @property
    def engine_info(self) -> EngineInfo:
        """The engine and precision in use."""
        return self._model.info

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int = PAPER_SEARCH.beam,
        alpha: float = PAPER_SEARCH.alpha,
        options: TranslateOptions = DEFAULT_OPTIONS,
        on_done: Callable[[int], None] | None = None,
    ) -> list[str]:
        """Return one translation for each text, in the same order, on one line; a blank text stays blank.

        `beam` and `alpha` are those of section 6.1; a beam of 1 is greedy search. A text that is too long
        for the model is translated sentence by sentence unless `options` say otherwise. `on_done` is
        called after each batch with the number of texts finished in it.
        """
        results = self.translate_detailed(texts, SearchConfig(beam, alpha), options, on_done)
        return [translation.text for translation in results]

    def translate_detailed(
        self,
        texts: Sequence[str],
        search: SearchConfig = PAPER_SEARCH,
        options: TranslateOptions = DEFAULT_OPTIONS,
        on_done: Callable[[int], None] | None = None,
    ) -> list[Translation]:
        """Return translations with scores, alternatives and, on request, alignments and confidences."""
        _check_texts(texts)
        reject_conflicting_options(search, options)
        if options.ensemble not in ((), self._model.ensemble):
            raise ConfigError("the models of an ensemble are loaded at once: give them to Translator.load")
        if not options.glossary.entries:
            return self._translate_alike(texts, search, options, on_done)
        return self._translate_with_glossary(texts, search, options, on_done)

    def _translate_with_glossary(
        self,
        texts: Sequence[str],
        search: SearchConfig,
        options: TranslateOptions,
        on_done: Callable[[int], None] | None,
    ) -> list[Translation]:
        """Translate the texts that have a glossary phrase; the others as if there were no glossary."""
        has_phrase = [bool(options.glossary.find_matches(text)) for text in texts]
        translations = [Translation("")] * len(texts)
        for group_options in (replace(options, glossary=EMPTY_GLOSSARY), options):
            indexes = [n for n, has in enumerate(has_phrase) if has == bool(group_options.glossary.entries)]
            group = [texts[index] for index in indexes]
            results = self._translate_alike(group, search, group_options, on_done) if group else []
            for index, translation in zip(indexes, results, strict=True):
                translations[index] = translation
        return translations

    def _translate_alike(
        self,
        texts: Sequence[str],
        search: SearchConfig,
        options: TranslateOptions,
        on_done: Callable[[int], None] | None,
    ) -> list[Translation]:
        """Translate texts in the same engine, the fallback if the options need it."""
        fallback = self._model.fallback
        if fallback is not None and (reason := fallback.reason(search, options)):
            translator = self._load_fallback(fallback, reason)
            return translator.translate_detailed(texts, search, options, on_done)
        needs_decoder = options.needs_forced_decoding or bool(options.glossary.entries)
        if needs_decoder and self._model.get_forced_decoder is None:
            needing = "no alignments and no confidences" if options.needs_forced_decoding else "no glossaries"
            raise ConfigError(f"this engine has {needing}; choose the engine torch")
        if options.needs_forced_decoding and self._model.ensemble:
            raise ConfigError("alignments and confidences come from one model, and this is an ensemble")
        max_tokens = self._model.engine.max_tokens
        split_texts = split_long_texts(texts, self._tokenizer, max_tokens, options.long_text)
        translations = self._search_all(split_texts, search, options, on_done or (lambda _: None))
        calibration = self._model.calibration if is_free_search(search, options) else None
        return [
            _flag_unlike_training(
                merge_parts(text.strip(), text_parts, parts, options), len(parts), calibration
            )
            for text, text_parts, parts in zip(texts, split_texts, translations, strict=True)
        ]

    def translate_ids(self, rows: Sequence[Sequence[int]], search: SearchConfig) -> list[str]:
        """Translate tokenized sentences, each within the model's limit; no ids give no text."""
        texts = [""] * len(rows)
        filled = [index for index, row in enumerate(rows) if row]
        for batch in self._batches([len(rows[index]) for index in filled], search, DEFAULT_OPTIONS):
            indexes = [filled[place] for place in batch]
            hypotheses = self._model.engine.translate([rows[index] for index in indexes], search)
            batch_texts = self._tokenizer.detokenize([best.tokens for best, *_ in hypotheses])
            for index, text in zip(indexes, batch_texts, strict=True):
                texts[index] = _replace_newlines(text)
        return texts

    def continuations(
        self, text: str, prefix: str = "", count: int = 5, search: SearchConfig = PAPER_SEARCH
    ) -> list[Continuation]:
        """Return the most probable next tokens after `prefix`, each with its best translation.

        Computed by the torch model in fp32, whatever the engine.
        """
        from regard.inference.continuations import find_continuations
        from regard.inference.eager import EagerEngine

        _check_texts([text, prefix])
        source, prefix_ids = self._tokenizer.tokenize([text.strip(), prefix.strip()])
        engine = EagerEngine(self._fp32_model.transformer)
        continuations = find_continuations(engine, source, prefix_ids, count, search)
        translations = self._to_translations(
            [source] * len(continuations), [[each.best] for each in continuations], DEFAULT_OPTIONS
        )
        return [
            Continuation(
                "" if each.token == EOS else self._token_text(each.token),
                math.exp(each.log_probability),
                translation,
            )
            for each, translation in zip(continuations, translations, strict=True)
        ]

    def trace(
        self,
        text: str,
        *,
        beam: int = PAPER_SEARCH.beam,
        alpha: float = PAPER_SEARCH.alpha,
        top_k: int = 10,
        prefix: str | Sequence[int] = (),
        target: str | Sequence[int] | None = None,
        interventions: "Sequence[Intervention | Mapping[str, Any]]" = (),
        max_tokens: int = MAX_TRACE_TOKENS,
        qkv: bool = True,
    ) -> "Trace":
        """Record one translation with its attention, candidates and beam; docs/trace.md.

        The translation can be forced to begin with `prefix`, or be given whole as `target`, both as text or
        token ids; `interventions` change the model, also in the form that a trace's JSON has. Computed by the
        torch model in fp32, whatever the engine. Without `qkv`, the queries, keys and values, a trace is
        smaller, and its page cannot show the seven steps of an attention head.
        """
        _check_texts([text])
        tracer = self.tracer
        request = tracer.build_request(
            text,
            beam=beam,
            alpha=alpha,
            top_k=top_k,
            prefix=prefix,
            target=target,
            interventions=interventions,
        )
        return tracer.trace(request, max_tokens, qkv)

    @property
    def tracer(self) -> "Tracer":
        """Records translations; the torch model is loaded for it on first use."""
        return self._fp32_model.get_tracer()

    @property
    def _fp32_model(self) -> Fp32Model:
        if self._model.fp32 is None:
            raise ConfigError("an ensemble cannot be traced; load one of its models")
        return self._model.fp32

    def _load_fallback(self, fallback: FallbackEngine, reason: str) -> "Translator":
        """Load the same model in another engine the first time it is needed, and report it."""
        if self._fallback is None:
            self._fallback = Translator(fallback.load())
            report_engine_choice(EngineChoice(self._fallback.engine_info.engine, reason))
        return self._fallback

    def _search_all(
        self,
        split_texts: Sequence[TextParts],
        search: SearchConfig,
        options: TranslateOptions,
        on_done: Callable[[int], None],
    ) -> list[list[Translation]]:
        """Return the translation of every part of every text."""
        compiler = ConstraintCompiler(self._tokenizer, options)
        glossary = self._make_glossary_search(compiler, options)
        places = [(text, part) for text, parts in enumerate(split_texts) for part in range(len(parts.ids))]
        translations = [[Translation("")] * len(parts.ids) for parts in split_texts]
        open_parts = [len(parts.ids) for parts in split_texts]
        on_done(open_parts.count(0))
        lengths = [len(split_texts[text].ids[part]) for text, part in places]
        for batch in self._batches(lengths, search, options):
            batch_places = [places[index] for index in batch]
            sources = [split_texts[text].ids[part] for text, part in batch_places]
            parts = [(split_texts[text].parts[part], part == 0) for text, part in batch_places]
            hypotheses, misplaced = self._search_batch(sources, parts, search, compiler, glossary)
            batch_translations = self._to_translations(sources, hypotheses, options)
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

    def _batches(
        self, lengths: Sequence[int], search: SearchConfig, options: TranslateOptions
    ) -> Iterator[list[int]]:
        """Yield batches of indexes, sentences of similar length together; or each sentence by itself."""
        if options.deterministic:
            yield from ([index] for index in range(len(lengths)))
            return
        rows = search.beam if search.sampling is None else search.n_best
        for batch in bucket_by_length(np.array(lengths, np.int64), self._model.batch_tokens // rows):
            yield batch.tolist()

    def _to_translations(
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
                _replace_newlines(text),
                hypothesis.score,
                hypothesis.log_probability,
                tuple(map(self._token_text, hypothesis.tokens)),
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


def _flag_unlike_training(
    translation: Translation, parts: int, calibration: LikelihoodCalibration | None
) -> Translation:
    """Set `unlike_training`; a text that was split is judged as a whole, and a blank one is not judged."""
    if calibration is None or parts == 0:
        return translation
    tokens = len(translation.tokens) + parts  # each part has an end token
    is_unlike = calibration.is_unlike_training(translation.log_probability, tokens)
    return replace(translation, unlike_training=is_unlike)


def _check_texts(texts: Sequence[str]) -> None:
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError("it takes a list of texts; for one text, give [text]")
    for number, text in enumerate(texts, start=1):
        reject_lone_surrogates(f"text {number}", text)


def _replace_newlines(text: str) -> str:
    """A model can write any byte, but a translation must stay on its line."""
    return text.replace("\r", " ").replace("\n", " ")
