"""Loading a model folder into an inference engine, chosen for the request; no torch until one needs it."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

from regard.checkpoint import WEIGHTS_FILE
from regard.config import require_range
from regard.errors import ConfigError
from regard.inference.alignment import ForcedDecoding
from regard.inference.engine import Engine
from regard.inference.engine_selection import (
    EngineChoice,
    EngineName,
    RequestedPrecision,
    select_engine,
    unsupported_by_ctranslate2,
)
from regard.runtime import max_parallel
from regard.search.config import SearchConfig
from regard.text.tokenizer import Tokenizer
from regard.translation.model_folder import BuildTransformer, TranslationFolder
from regard.translation.options import TranslateOptions, reject_conflicting_options
from regard.translation.unlike_training import LikelihoodCalibration

if TYPE_CHECKING:
    from regard.inference.linear import ComputePrecision
    from regard.model.transformer import Transformer
    from regard.trace.model_facts import ModelIdentity
    from regard.translation.tracing import Tracer

DeviceName = Literal["auto", "cpu", "cuda"]

DEFAULT_BATCH_TOKENS = 4096
"""Source tokens searched in one batch, counted once per hypothesis; the memory of a beam grows with them."""
LARGE_BATCH_TOKENS = 32_768
"""For a GPU, where a large batch takes as long as a small one, and for CTranslate2, which splits a batch
over all cores."""
GPU_DEVICE_FILES = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
"""Device files of a GPU: on Linux, and on Linux under Windows."""


@dataclass(frozen=True)
class EngineOptions:
    """The device, engine, precision and threads that a user asks for."""

    device: DeviceName = "auto"
    engine: EngineName = "auto"
    precision: RequestedPrecision = "auto"
    threads: int | None = None
    """Threads of one process; None: all cores."""
    concurrent_calls: int = 1
    """Calls of the engine at the same time, as a server makes; they share the threads of CTranslate2."""

    def __post_init__(self) -> None:
        require_range("threads", self.threads, 1, max_parallel())


DEFAULT_ENGINE = EngineOptions()


class EngineInfo(NamedTuple):
    """The engine and precision in use."""

    engine: Literal["torch", "ctranslate2"] = "torch"
    precision: RequestedPrecision = "fp32"


TORCH_FP32 = EngineInfo()


@runtime_checkable
class SupportsForceDecode(Protocol):
    """Scores given translations."""

    def force_decode(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[ForcedDecoding]:
        """Return one result for each pair, all computed in one batch."""
        ...


class Fp32Model:
    """The torch model in fp32, loaded on first use: for forced decoding, continuations and traces.

    The engines hold weights in layouts and precisions of their own, so translating does not need it.
    """

    def __init__(
        self,
        load: "Callable[[], Transformer]",
        tokenizer: Tokenizer,
        identify: "Callable[[Transformer], ModelIdentity]",
        calibration: LikelihoodCalibration | None = None,
    ) -> None:
        self._load, self._tokenizer, self._identify = load, tokenizer, identify
        self._calibration = calibration
        self._traced: tuple[ModelIdentity, Tracer] | None = None

    @property
    def is_loaded(self) -> bool:
        return "transformer" in vars(self)

    @cached_property
    def transformer(self) -> "Transformer":
        return self._load()

    @cached_property
    def forced_decoder(self) -> SupportsForceDecode:
        from regard.inference.forced import ForcedDecoder

        return ForcedDecoder(self.transformer)

    def get_tracer(self) -> "Tracer":
        """Return the tracer of the model, a new one if the weights have changed."""
        from regard.translation.tracing import Tracer

        identity = self._identify(self.transformer)
        if self._traced is None or self._traced[0] != identity:
            tracer = Tracer(self.transformer, self._tokenizer, identity, self._calibration)
            self._traced = identity, tracer
        return self._traced[1]


@dataclass(frozen=True)
class FallbackEngine:
    """Another engine for requests that the first cannot serve, loaded on first use."""

    reason: Callable[[SearchConfig, TranslateOptions], str | None]
    """Return why a request needs it, or None."""
    load: Callable[[], "LoadedModel"]


@dataclass(frozen=True)
class LoadedModel:
    """A model in an engine, ready to translate."""

    engine: Engine
    tokenizer: Tokenizer
    batch_tokens: int = DEFAULT_BATCH_TOKENS
    info: EngineInfo = TORCH_FP32
    fp32: Fp32Model | None = None
    """None for an ensemble, which has no single model to look into."""
    get_forced_decoder: Callable[[], SupportsForceDecode] | None = None
    """Computes alignments, confidences and what a glossary displaces; None: the engine has none.

    Of an ensemble it is the first model, for glossaries only."""
    fallback: FallbackEngine | None = None
    ensemble: tuple[Path, ...] = ()
    """The further models whose predictions are averaged with the first one's."""
    calibration: LikelihoodCalibration | None = None
    """Detects texts unlike the training text."""


def select_translation_engine(
    folder: TranslationFolder, options: EngineOptions, search: SearchConfig, request: TranslateOptions
) -> EngineChoice:
    """Return the engine for these options, with the reason; reject combinations that no engine supports."""
    reject_conflicting_options(search, request)
    if request.ensemble:
        if options.engine == "ctranslate2":
            raise ConfigError("the engine ctranslate2 takes one model; leave out --ensemble, or --engine")
        return EngineChoice("torch", "for several models at once")
    return select_engine(
        options.engine,
        has_gpu=uses_gpu(options.device),
        model=folder.config,
        precision=options.precision,
        search=search,
        has_constraints=request.has_phrase_constraints,
        needs_forced_decoding=request.needs_forced_decoding,
        has_glossary=bool(request.glossary.entries),
    )


def report_engine_choice(choice: EngineChoice, always: bool = False) -> None:
    """Print the chosen engine to stderr if that is a terminal."""
    if sys.stderr is not None and (always or sys.stderr.isatty()):
        sys.stderr.write(f"  engine {choice.name}: {choice.reason}\n")


def load_engine(
    folder: TranslationFolder, choice: EngineChoice, options: EngineOptions, request: TranslateOptions
) -> LoadedModel:
    """Load the model of a folder into the chosen engine.

    If the user left the engine open, CTranslate2 falls back to torch for requests that it does not support.
    """
    match choice.name:
        case "ctranslate2":
            fp32 = _fp32_model_of(folder, options)
            loaded = _load_ctranslate2(folder, options, fp32)
            if options.engine == "ctranslate2":
                return loaded
            fallback = FallbackEngine(
                lambda search, request: unsupported_by_ctranslate2(
                    folder.config,
                    options.precision,
                    search,
                    request.has_phrase_constraints,
                    request.needs_forced_decoding,
                    has_glossary=bool(request.glossary.entries),
                ),
                lambda: _load_torch(folder, options, fp32),
            )
            return replace(loaded, fallback=fallback)
        case "torch":
            if request.ensemble:
                return _load_ensemble(folder, request.ensemble, options)
            fp32 = _fp32_model_of(folder, options)
            if request.needs_forced_decoding:
                _ = fp32.transformer  # the engine below is then built from it, and the weights read once
            return _load_torch(folder, options, fp32)


def load_custom_model(
    path: Path, build_model: BuildTransformer, options: EngineOptions, request: TranslateOptions
) -> LoadedModel:
    """Load a custom model: it computes itself, with torch in fp32, since no engine knows its layers."""
    from regard.training.device import choose_device
    from regard.translation.model_folder import load_transformer, read_translation_folder

    if options.engine == "ctranslate2" or options.precision not in ("auto", "fp32") or request.ensemble:
        raise ConfigError("a model of build_model translates alone, with the engine torch in fp32")
    folder = read_translation_folder(path, [WEIGHTS_FILE], build_model)
    model = load_transformer(folder, build_model).to(choose_device(options.device))
    return replace(wrap_model(model, folder.tokenizer), calibration=folder.calibration)


def wrap_model(model: "Transformer", tokenizer: Tokenizer) -> LoadedModel:
    """Return a model in memory, unchanged, as one to translate with; it may still be training."""
    from regard.inference.eager import EagerEngine
    from regard.inference.word_boundaries import find_word_boundaries
    from regard.trace.model_facts import identify_model_in_memory

    is_cuda = next(model.parameters()).is_cuda
    fp32 = Fp32Model(lambda: model, tokenizer, identify_model_in_memory)
    return LoadedModel(
        EagerEngine(model, find_word_boundaries(tokenizer)),
        tokenizer,
        LARGE_BATCH_TOKENS if is_cuda else DEFAULT_BATCH_TOKENS,
        fp32=fp32,
        get_forced_decoder=lambda: fp32.forced_decoder,
    )


def uses_gpu(device: DeviceName) -> bool:
    """Return whether a GPU will compute; torch is imported only if the machine may have one."""
    if device == "cpu" or not (device == "cuda" or any(path.exists() for path in GPU_DEVICE_FILES)):
        return False
    from regard.training.device import choose_device

    return choose_device(device).type == "cuda"


def _fp32_model_of(folder: TranslationFolder, options: EngineOptions) -> Fp32Model:
    """Return the fp32 model of a folder, not yet loaded."""

    def load() -> "Transformer":
        from regard.training.device import choose_device
        from regard.translation.model_folder import load_transformer

        return load_transformer(folder).to(choose_device(options.device))

    def identify(_: "Transformer") -> "ModelIdentity":
        from regard.trace.model_facts import identify_model_folder

        return identify_model_folder(folder.path, folder.manifest)

    return Fp32Model(load, folder.tokenizer, identify, folder.calibration)


def _load_ctranslate2(folder: TranslationFolder, options: EngineOptions, fp32: Fp32Model) -> LoadedModel:
    from regard.inference.ctranslate2 import CTranslate2Engine

    engine = CTranslate2Engine(
        folder.path,
        folder.config,
        options.precision,
        options.threads,
        folder.manifest,
        concurrent_calls=options.concurrent_calls,
    )
    return LoadedModel(
        engine,
        folder.tokenizer,
        LARGE_BATCH_TOKENS,
        EngineInfo("ctranslate2", engine.precision),
        fp32,
        calibration=folder.calibration,
    )


def _load_torch(folder: TranslationFolder, options: EngineOptions, fp32: Fp32Model) -> LoadedModel:
    import torch

    from regard.inference.cuda_graphs import CudaGraphEngine
    from regard.inference.eager import EagerEngine
    from regard.inference.incremental import IncrementalDecoder
    from regard.inference.word_boundaries import find_word_boundaries
    from regard.training.device import choose_device
    from regard.translation.model_folder import load_transformer

    if options.threads is not None:
        torch.set_num_threads(options.threads)
    device = choose_device(options.device)
    is_cuda = device.type == "cuda"
    precision = _resolve_torch_precision(options.precision, is_cuda)
    model = fp32.transformer if fp32.is_loaded else load_transformer(folder).to(device)
    decoder = IncrementalDecoder(model, precision)
    return LoadedModel(
        (CudaGraphEngine if is_cuda else EagerEngine)(decoder, find_word_boundaries(folder.tokenizer)),
        folder.tokenizer,
        LARGE_BATCH_TOKENS if is_cuda else DEFAULT_BATCH_TOKENS,
        EngineInfo("torch", precision),
        fp32,
        lambda: fp32.forced_decoder,
        calibration=folder.calibration,
    )


def _resolve_torch_precision(requested: RequestedPrecision, is_cuda: bool) -> "ComputePrecision":
    if is_cuda and requested == "int8":
        raise ConfigError("int8 is for a CPU; on a GPU fp16 is as fast, and the default")
    if not is_cuda and requested == "fp16":
        raise ConfigError("fp16 is for a GPU; on a CPU int8 is faster")
    if requested == "auto":
        return "fp16" if is_cuda else "fp32"
    return requested


def _load_ensemble(
    folder: TranslationFolder, others: tuple[Path, ...], options: EngineOptions
) -> LoadedModel:
    import torch

    from regard.inference.eager import EagerEngine
    from regard.inference.ensemble import make_ensemble
    from regard.inference.forced import ForcedDecoder
    from regard.inference.word_boundaries import find_word_boundaries
    from regard.training.device import choose_device
    from regard.translation.model_folder import load_transformer, read_translation_folder

    if options.precision not in ("auto", "fp32"):
        raise ConfigError(f"several models at once compute in fp32, not in {options.precision}")
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    folders = [folder, *(read_translation_folder(Path(path), size_only=[WEIGHTS_FILE]) for path in others)]
    models = [load_transformer(each) for each in folders]
    ensemble = make_ensemble(models, [each.tokenizer for each in folders])
    engine = EagerEngine(ensemble.to(choose_device(options.device)), find_word_boundaries(folder.tokenizer))
    return LoadedModel(
        engine, folder.tokenizer, get_forced_decoder=lambda: ForcedDecoder(models[0]), ensemble=others
    )
