"""Translator: a model folder and text in, text out; no torch until an engine needs it."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.data.bucketing import bucket_by_length
from regard.errors import ConfigError
from regard.inference.alignment import align_words, word_confidences
from regard.inference.engine import Engine
from regard.inference.engine_selection import EngineChoice, EngineName, RequestedPrecision
from regard.search.config import PAPER_SEARCH, SearchConfig
from regard.search.constraints import Constraints
from regard.search.hypothesis import Hypothesis
from regard.text.token_spans import map_tokens_to_words
from regard.text.tokenizer import EOS, Tokenizer
from regard.text.unicode import reject_lone_surrogates
from regard.trace.request import MAX_TRACE_TOKENS
from regard.translation.constraint_compiler import ConstraintCompiler
from regard.translation.engines import (
    DEFAULT_BATCH_TOKENS,
    TORCH_FP32,
    DeviceName,
    EngineInfo,
    FallbackEngine,
    SupportsForceDecode,
    load_engine,
    report_engine_choice,
    wrap_model,
)
from regard.translation.long_text import TextParts, merge_parts, split_long_texts
from regard.translation.options import DEFAULT_OPTIONS, TranslateOptions, reject_conflicting_options
from regard.translation.result import IMPOSSIBLE_TRANSLATION, Continuation, Translation, WordConfidence

if TYPE_CHECKING:
    from regard.model.transformer import Transformer
    from regard.trace.interventions import Intervention
    from regard.trace.trace import Trace
    from regard.translation.tracing import Tracer

FORCED_DECODING_BATCH = 32
"""Translations that are read together; each takes the logits of all its pieces."""


class Translator:
    """Translates text with one model, the same way whatever else is translated beside it."""

    def __init__(
        self,
        engine: Engine,
        tokenizer: Tokenizer,
        batch_tokens: int = DEFAULT_BATCH_TOKENS,
        forced_decoder: SupportsForceDecode | None = None,
        engine_info: EngineInfo = TORCH_FP32,
        fallback: FallbackEngine | None = None,
        ensemble: tuple[Path, ...] = (),
        make_tracer: "Callable[[], Tracer] | None" = None,
    ) -> None:
        """`reader` is what alignments and confidences are asked of; `how` says what computes.

        `spare` does what the engine cannot, and `also` are models that write together with this one.
        `tracer` makes what looks inside.
        """
        self.engine_info = engine_info
        self._engine = engine
        self._tokenizer = tokenizer
        self._batch_tokens = batch_tokens
        self._forced_decoder = forced_decoder
        self._fallback, self._fallback_loaded = fallback, None
        self._ensemble = ensemble
        self._make_tracer = make_tracer
        self._token_text = cache(tokenizer.id_to_token)  # so that millions of tokens are few texts

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
        """The model that `regard train` wrote to `folder`, in the engine that suits the device.

        Not every engine can do everything: `search` and `asked` say what will be wanted, so that one is
        chosen that can. On "auto" torch is loaded besides when something is wanted later that CTranslate2
        cannot do; an engine asked for by name refuses it.
        """
        return cls(*load_engine(Path(folder), device, engine, precision, threads, search, options))

    @classmethod
    def from_model(cls, model: "Transformer", tokenizer: Tokenizer) -> "Translator":
        """A model in memory, as it is, wherever its weights are; it may go on learning meanwhile."""
        return cls(*wrap_model(model, tokenizer))

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int = PAPER_SEARCH.beam,
        alpha: float = PAPER_SEARCH.alpha,
        options: TranslateOptions = DEFAULT_OPTIONS,
        on_done: Callable[[int], None] | None = None,
    ) -> list[str]:
        """One translation for each text, in the same order, on one line; a blank text stays blank.

        `beam` and `alpha` are those of section 6.1; a beam of 1 is greedy search. A text that is too long
        for the model is translated sentence by sentence, unless something else is asked. `on_done` is
        called after each batch with the number of texts finished in it.
        """
        return [
            found.text
            for found in self.translate_detailed(texts, SearchConfig(beam, alpha), options, on_done)
        ]

    def translate_detailed(
        self,
        texts: Sequence[str],
        search: SearchConfig = PAPER_SEARCH,
        options: TranslateOptions = DEFAULT_OPTIONS,
        on_done: Callable[[int], None] | None = None,
    ) -> list[Translation]:
        """The same with all that is known: scores, pieces, the next best, alignments, confidences."""
        _check_texts(texts)
        reject_conflicting_options(search, options)
        if options.ensemble not in ((), self._ensemble):
            raise ConfigError("other models are loaded with the first: give them to Translator.load")
        if self._fallback is not None and (why := self._fallback.reason(search, options)):
            return self._fallback_translator(self._fallback, why).translate_detailed(
                texts, search, options, on_done
            )
        if options.needs_forced_decoding and self._forced_decoder is None:
            raise ConfigError("this engine has no alignments and no confidences; choose the engine torch")
        work = split_long_texts(texts, self._tokenizer, self._engine.max_tokens, options.long_text)
        found = self._search_all(work, search, options, on_done or (lambda _: None))
        return [
            merge_parts(text.strip(), portion, parts, options)
            for text, portion, parts in zip(texts, work, found, strict=True)
        ]

    def continuations(
        self, text: str, prefix: str = "", count: int = 5, search: SearchConfig = PAPER_SEARCH
    ) -> list[Continuation]:
        """How a translation that begins with `prefix` could go on, the likeliest first, and where each leads.

        Whatever the engine, the torch model is asked, in fp32.
        """
        from regard.inference.continuations import find_continuations
        from regard.inference.eager import EagerEngine

        _check_texts([text, prefix])
        source, begun = self._tokenizer.tokenize([text.strip(), prefix.strip()])
        found = find_continuations(EagerEngine(self.tracer.model), source, begun, count, search)
        best = self._to_translations([source] * len(found), [[each.best] for each in found], DEFAULT_OPTIONS)
        return [
            Continuation(
                "" if each.token == EOS else self._token_text(each.token),
                math.exp(each.log_probability),
                translation,
            )
            for each, translation in zip(found, best, strict=True)
        ]

    def _fallback_translator(self, spare: FallbackEngine, why: str) -> "Translator":
        """The same model in another engine, loaded when it is first needed, which is said."""
        if self._fallback_loaded is None:
            self._fallback_loaded = Translator(*spare.load())
            report_engine_choice(EngineChoice(self._fallback_loaded.engine_info.engine, why))
        return self._fallback_loaded

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
        """One translation and all that produced it: attention, candidates, the beam; docs/trace.md.

        It may be told how to begin (`prefix`), or be given whole (`target`), as text or as token ids, and
        the model may be changed (`interventions`, also as a trace's JSON has them). Whatever the engine,
        the torch model is looked into, in fp32. Without `qkv`, the queries, keys and values, it is
        smaller, and a page of it cannot walk through the seven steps.
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
        """What looks into translations; the torch model is loaded for it if it is not there yet."""
        if self._make_tracer is None:
            raise ConfigError("several models that write together cannot be looked into; load one of them")
        return self._make_tracer()

    def _search_all(
        self,
        work: Sequence[TextParts],
        search: SearchConfig,
        asked: TranslateOptions,
        on_done: Callable[[int], None],
    ) -> list[list[Translation]]:
        """For each part of each text its translation."""
        wishes = ConstraintCompiler(self._tokenizer, asked)
        places = [(text, part) for text, portion in enumerate(work) for part in range(len(portion.ids))]
        found = [[Translation("")] * len(portion.ids) for portion in work]
        open_ = [len(portion.ids) for portion in work]
        on_done(open_.count(0))
        for batch in self._batches([len(work[text].ids[part]) for text, part in places], search, asked):
            chosen = [places[index] for index in batch]
            sources = [work[text].ids[part] for text, part in chosen]
            wanted = [wishes.compile(work[text].parts[part], part == 0) for text, part in chosen]
            answers = self._search_batch(sources, search, wanted, wishes)
            translations = self._to_translations(sources, answers, asked)
            for (text, part), translation in zip(chosen, translations, strict=True):
                found[text][part] = translation
                open_[text] -= 1
            on_done(sum(open_[text] == 0 for text in {text for text, _ in chosen}))
        return found

    def _search_batch(
        self,
        sources: Sequence[Sequence[int]],
        search: SearchConfig,
        wanted: Sequence[Constraints],
        wishes: ConstraintCompiler,
    ) -> list[list[Hypothesis]]:
        """What the engine finds, more than once where it has what is forbidden."""
        if not wishes.has_constraints:
            return self._engine.translate(sources, search)

        def translate(some: Sequence[int], wanted: Sequence[Constraints]) -> list[list[Hypothesis]]:
            return self._engine.translate([sources[number] for number in some], search, wanted)

        return wishes.forbidden_search.search(wanted, translate)

    def _batches(
        self, lengths: Sequence[int], search: SearchConfig, asked: TranslateOptions
    ) -> Iterator[list[int]]:
        """Their indexes, like lengths together; or each by itself."""
        if asked.deterministic:
            yield from ([index] for index in range(len(lengths)))
            return
        rows = search.beam if search.sampling is None else search.n_best
        for batch in bucket_by_length(np.array(lengths, np.int64), self._batch_tokens // rows):
            yield batch.tolist()

    def _to_translations(
        self,
        sources: Sequence[Sequence[int]],
        answers: Sequence[Sequence[Hypothesis]],
        asked: TranslateOptions,
    ) -> list[Translation]:
        """Of each source the best, and the others as its alternatives."""
        pairs = [(source, each) for source, answer in zip(sources, answers, strict=True) for each in answer]
        texts = self._tokenizer.detokenize([each.tokens for _, each in pairs])
        found = [
            Translation(
                _replace_newlines(text), each.score, each.log_probability, self._token_texts(each.tokens)
            )
            for text, (_, each) in zip(texts, pairs, strict=True)
        ]
        if self._forced_decoder is not None and asked.needs_forced_decoding:
            found = list(self._add_alignments_and_confidences(self._forced_decoder, pairs, found, asked))
        rest = iter(found)
        grouped = [[next(rest) for _ in answer] for answer in answers]
        return [
            IMPOSSIBLE_TRANSLATION
            if best.log_probability == -math.inf
            else replace(best, alternatives=tuple(others))
            for best, *others in grouped
        ]

    def _add_alignments_and_confidences(
        self,
        reader: SupportsForceDecode,
        pairs: Sequence[tuple[Sequence[int], Hypothesis]],
        found: Sequence[Translation],
        asked: TranslateOptions,
    ) -> Iterator[Translation]:
        """The same with what only a second look at the translations can tell."""
        for start in range(0, len(pairs), FORCED_DECODING_BATCH):
            some = pairs[start : start + FORCED_DECODING_BATCH]
            readings = reader.force_decode([source for source, _ in some], [each.tokens for _, each in some])
            for (source, each), reading, translation in zip(some, readings, found[start:], strict=False):
                words = map_tokens_to_words(self._tokenizer, each.tokens)
                links = align_words(reading, map_tokens_to_words(self._tokenizer, source), words)
                sure = zip(translation.text.split(), word_confidences(reading, words), strict=True)
                yield replace(
                    translation,
                    alignment=links if asked.alignments else None,
                    words=tuple(WordConfidence(*each) for each in sure) if asked.confidences else None,
                )

    def _token_texts(self, ids: Sequence[int]) -> tuple[str, ...]:
        return tuple(map(self._token_text, ids))


def _check_texts(texts: Sequence[str]) -> None:
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError("it takes a list of texts; for one text, give [text]")
    for number, text in enumerate(texts, start=1):
        reject_lone_surrogates(f"text {number}", text)


def _replace_newlines(text: str) -> str:
    """A model can write any byte, but a translation must not move the lines after it."""
    return text.replace("\r", " ").replace("\n", " ")
