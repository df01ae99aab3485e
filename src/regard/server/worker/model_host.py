"""The loaded models of a model process: loading with trial translations, and translation of batches."""

import math
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from regard.checkpoint import MANIFEST_FILE, WEIGHTS_FILE, file_sha256
from regard.errors import RegardError
from regard.inference.engine_selection import EngineChoice
from regard.search.config import PAPER_SEARCH, SearchConfig
from regard.server.worker.protocol import ModelReady, ModelSpec, SegmentOptions, SegmentTranslation
from regard.text.glossary import Glossary
from regard.text.tokenizer import Tokenizer
from regard.translation.engines import (
    DEFAULT_BATCH_TOKENS,
    LARGE_BATCH_TOKENS,
    EngineOptions,
    select_translation_engine,
    uses_gpu,
)
from regard.translation.model_folder import read_translation_folder
from regard.translation.options import DEFAULT_OPTIONS, TranslateOptions
from regard.translation.result import Translation
from regard.translation.translator import Translator

CANARY_ROUNDS = (1, 16)
"""The canaries are translated in batches of so many copies, to learn the time of a batch."""
TORCH_SLOTS = 2
"""One batch computes, the next is already there."""


class ModelHost:
    """Models by handle; batches of CTranslate2 run at the same time, those of torch one after the other."""

    def __init__(self, cores: int) -> None:
        self.slots = cores + 1
        """Of CTranslate2: one batch per core, and one that a short request finds free."""
        self._models: dict[str, Translator] = {}
        self._torch_lock = threading.Lock()

    def load(self, spec: ModelSpec) -> ModelReady:
        """Load a model, check it and translate its canaries; raise `RegardError` if it cannot be used."""
        folder = read_translation_folder(Path(spec.path), size_only=[WEIGHTS_FILE])
        if file_sha256(folder.path / MANIFEST_FILE) != spec.version:
            raise RegardError(f"{folder.path} has changed since it was read; reload it")
        threads = spec.threads or self.slots - 1
        options = EngineOptions(spec.device, spec.engine, spec.precision, threads)
        choice = select_translation_engine(folder, options, PAPER_SEARCH, DEFAULT_OPTIONS)
        translator = Translator.from_folder(folder, _for_server(options, choice), choice=choice)
        is_torch = choice.name == "torch"
        with self._torch_lock:
            timings = tuple(_try_canaries(translator, folder.tokenizer, spec)) if spec.canaries else ()
        self._models[spec.handle] = translator
        greedy, beam = _batch_tokens(spec, is_torch)
        info = translator.engine_info
        slots = TORCH_SLOTS if is_torch else threads + 1
        return ModelReady(spec.handle, f"{info.engine} {info.precision}", slots, greedy, beam, timings)

    def unload(self, handle: str) -> None:
        self._models.pop(handle, None)

    def translate(
        self, handle: str, options: SegmentOptions, texts: Sequence[str]
    ) -> tuple[list[SegmentTranslation], float]:
        """Return the translations of a batch and the seconds they took."""
        translator = self._models.get(handle)
        if translator is None:
            raise RegardError(f"the model {handle} is not loaded")
        if translator.engine_info.engine == "ctranslate2" and not options.needs_torch:
            return _translate(translator, options, texts)
        with self._torch_lock:
            return _translate(translator, options, texts)


def _for_server(options: EngineOptions, choice: EngineChoice) -> EngineOptions:
    """Return the engine options with as many concurrent calls as the engine takes."""
    if choice.name == "torch":
        return options
    calls = (options.threads or 1) + 1
    return EngineOptions(options.device, options.engine, options.precision, calls, calls)


def _batch_tokens(spec: ModelSpec, is_torch: bool) -> tuple[int, int]:
    """Return the token budgets of a batch of greedy search and of beam search."""
    if not is_torch:
        from regard.inference.ctranslate2 import BEAM_BATCH_TOKENS, GREEDY_BATCH_TOKENS

        return GREEDY_BATCH_TOKENS, BEAM_BATCH_TOKENS
    tokens = LARGE_BATCH_TOKENS if uses_gpu(spec.device) else DEFAULT_BATCH_TOKENS
    return tokens, tokens // PAPER_SEARCH.beam


def _try_canaries(translator: Translator, tokenizer: Tokenizer, spec: ModelSpec) -> list[tuple[int, float]]:
    """Translate the canaries; return the tokens and seconds of each batch."""
    timings = []
    for copies in CANARY_ROUNDS:
        texts = [text for text in spec.canaries for _ in range(copies)]
        start = time.perf_counter()
        translations = translator.translate_detailed(texts, PAPER_SEARCH)
        seconds = time.perf_counter() - start
        for text, translation in zip(texts, translations, strict=True):
            if not math.isfinite(translation.score):
                raise RegardError(f"{spec.path} does not work: it finds no translation of {text!r}")
        timings.append((sum(len(ids) + 1 for ids in tokenizer.tokenize(texts)), seconds))
    return timings


def _translate(
    translator: Translator, options: SegmentOptions, texts: Sequence[str]
) -> tuple[list[SegmentTranslation], float]:
    start = time.perf_counter()
    search = SearchConfig(beam=options.beam, n_best=options.n_best)
    detailed = TranslateOptions(
        prefix=options.prefix,
        forbidden=options.forbidden,
        glossary=Glossary(options.glossary),
        alignments=options.alignments,
        confidences=options.confidences,
        deterministic=options.deterministic,
    )
    translations = translator.translate_detailed(list(texts), search, detailed)
    results = [_to_message(translation) for translation in translations]
    return results, time.perf_counter() - start


def _to_message(translation: Translation) -> SegmentTranslation:
    words = translation.words
    return SegmentTranslation(
        translation.text,
        translation.score,
        translation.log_probability,
        len(translation.tokens),
        tuple(other.text for other in translation.alternatives),
        translation.alignment,
        None if words is None else tuple((word.text, word.confidence) for word in words),
        translation.status != "impossible",
        translation.misplaced_terms,
    )
