"""Translator: text in, text out, with the model of one folder; no torch until an engine needs it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from regard.checkpoint import WEIGHTS_FILE
from regard.errors import ConfigError
from regard.inference.engine_selection import EngineChoice, EngineName, RequestedPrecision
from regard.search.config import PAPER_SEARCH, SearchConfig
from regard.text.glossary import EMPTY_GLOSSARY
from regard.text.tokenizer import EOS, Tokenizer
from regard.text.unicode import reject_lone_surrogates
from regard.trace.request import MAX_TRACE_TOKENS
from regard.translation.engines import (
    DEFAULT_ENGINE,
    DeviceName,
    EngineInfo,
    EngineOptions,
    FallbackEngine,
    Fp32Model,
    LoadedModel,
    load_custom_model,
    load_engine,
    report_engine_choice,
    select_translation_engine,
    wrap_model,
)
from regard.translation.keywords import (
    AllTranslateKeywords,
    OnDone,
    TranslateKeywords,
    build_translate_settings,
)
from regard.translation.long_text import merge_parts, split_long_texts
from regard.translation.model_folder import BuildTransformer, TranslationFolder, read_translation_folder
from regard.translation.options import DEFAULT_OPTIONS, TranslateOptions, reject_conflicting_options
from regard.translation.result import Continuation, Translation
from regard.translation.sentence_search import SentenceSearch, replace_newlines
from regard.translation.unlike_training import LikelihoodCalibration, is_free_search

if TYPE_CHECKING:
    from regard.model.transformer import Transformer
    from regard.trace.interventions import Intervention
    from regard.trace.trace import Trace
    from regard.translation.tracing import Tracer


class Translator:
    """Translates texts with one model; no text changes the translation of another."""

    def __init__(self, model: LoadedModel) -> None:
        self._model = model
        self._tokenizer = model.tokenizer
        self._fallback: Translator | None = None
        self._sentences = SentenceSearch(model)

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
        build_model: BuildTransformer | None = None,
    ) -> "Translator":
        """Load the model that `regard train` wrote to `folder`, in the engine that suits the device.

        Not every engine supports every option: `search` and `options` say what will be used, so that a
        suitable one is chosen. With engine "auto", torch is loaded as well once a request needs what
        CTranslate2 does not support; an engine given by name refuses such a request. `build_model` is that
        of a custom model (docs/python.md).
        """
        engine_options = EngineOptions(device, engine, precision, threads)
        if build_model is not None:
            return cls(load_custom_model(Path(folder), build_model, engine_options, options))
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

    @overload
    def translate(  # pyright: ignore[reportOverlappingOverload]  # a str is also an iterable of texts
        self, texts: str, *, n_best: None = None, **keywords: Unpack[AllTranslateKeywords]
    ) -> str: ...
    @overload
    def translate(
        self, texts: Iterable[str], *, n_best: None = None, **keywords: Unpack[AllTranslateKeywords]
    ) -> list[str]: ...
    @overload
    def translate(  # pyright: ignore[reportOverlappingOverload]
        self, texts: str, *, n_best: int, **keywords: Unpack[AllTranslateKeywords]
    ) -> list[str]: ...
    @overload
    def translate(
        self, texts: Iterable[str], *, n_best: int, **keywords: Unpack[AllTranslateKeywords]
    ) -> list[list[str]]: ...
    def translate(
        self,
        texts: str | Iterable[str],
        *,
        n_best: int | None = None,
        **keywords: Unpack[AllTranslateKeywords],
    ) -> str | list[str] | list[list[str]]:
        """Return the translation of a text, or those of several texts in the same order.

        A translation is one line, and that of a blank text is blank. With `n_best` there is a list for each
        text, the best translation first. Keywords are `search` and `options`, or their settings by name:
        `beam`, `alpha`, `max_length`, `temperature`, `glossary`, `forbidden` and so on. `on_done` is called
        after each batch with the number of texts finished in it.
        """
        several = [texts] if isinstance(texts, str) else texts
        results = self.translate_detailed(several, n_best=n_best, **keywords)
        if n_best is None:
            found = [translation.text for translation in results]
        else:
            found = [[each.text, *(other.text for other in each.alternatives)] for each in results]
        return found[0] if isinstance(texts, str) else found

    @overload
    def translate_detailed(  # pyright: ignore[reportOverlappingOverload]
        self,
        texts: str,
        search: SearchConfig = PAPER_SEARCH,
        options: TranslateOptions = DEFAULT_OPTIONS,
        on_done: OnDone | None = None,
        *,
        n_best: int | None = None,
        **keywords: Unpack[TranslateKeywords],
    ) -> Translation: ...
    @overload
    def translate_detailed(
        self,
        texts: Iterable[str],
        search: SearchConfig = PAPER_SEARCH,
        options: TranslateOptions = DEFAULT_OPTIONS,
        on_done: OnDone | None = None,
        *,
        n_best: int | None = None,
        **keywords: Unpack[TranslateKeywords],
    ) -> list[Translation]: ...
    def translate_detailed(
        self,
        texts: str | Iterable[str],
        search: SearchConfig = PAPER_SEARCH,
        options: TranslateOptions = DEFAULT_OPTIONS,
        on_done: OnDone | None = None,
        *,
        n_best: int | None = None,
        **keywords: Unpack[TranslateKeywords],
    ) -> Translation | list[Translation]:
        """Return translations with scores, alternatives and, on request, alignments and confidences.

        Keywords are settings of `search` and `options` by name, as in `translate`; of the `n_best`, those
        after the first are the `alternatives`.
        """
        search, options = build_translate_settings(search, options, n_best, keywords)
        if isinstance(texts, str):
            return self._translate_all([texts], search, options, on_done)[0]
        return self._translate_all(list(texts), search, options, on_done)

    def _translate_all(
        self,
        texts: Sequence[str],
        search: SearchConfig,
        options: TranslateOptions,
        on_done: OnDone | None,
    ) -> list[Translation]:
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
        on_done: OnDone | None,
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
        on_done: OnDone | None,
    ) -> list[Translation]:
        """Translate texts in the same engine, the fallback if the options need it."""
        fallback = self._model.fallback
        if fallback is not None and (reason := fallback.reason(search, options)):
            translator = self._load_fallback(fallback, reason)
            return translator._translate_all(texts, search, options, on_done)
        needs_decoder = options.needs_forced_decoding or bool(options.glossary.entries)
        if needs_decoder and self._model.get_forced_decoder is None:
            needing = "no alignments and no confidences" if options.needs_forced_decoding else "no glossaries"
            raise ConfigError(f"this engine has {needing}; choose the engine torch")
        if options.needs_forced_decoding and self._model.ensemble:
            raise ConfigError("alignments and confidences come from one model, and this is an ensemble")
        max_tokens = self._model.engine.max_tokens
        split_texts = split_long_texts(texts, self._tokenizer, max_tokens, options.long_text)
        translations = self._sentences.search_all(split_texts, search, options, on_done or (lambda _: None))
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
        for batch in self._sentences.batches([len(rows[index]) for index in filled], search, DEFAULT_OPTIONS):
            indexes = [filled[place] for place in batch]
            hypotheses = self._model.engine.translate([rows[index] for index in indexes], search)
            batch_texts = self._tokenizer.detokenize([best.tokens for best, *_ in hypotheses])
            for index, text in zip(indexes, batch_texts, strict=True):
                texts[index] = replace_newlines(text)
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
        translations = self._sentences.to_translations(
            [source] * len(continuations), [[each.best] for each in continuations], DEFAULT_OPTIONS
        )
        return [
            Continuation(
                "" if each.token == EOS else self._sentences.token_text(each.token),
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
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise TypeError(f"text {number} is of type {kind}; give a text, or a list of texts")
        reject_lone_surrogates(f"text {number}", text)
