"""From a model folder to an engine that is ready, and which one; no torch until one needs it."""

import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

from regard.checkpoint import WEIGHTS_FILE
from regard.errors import ConfigError, require_setting
from regard.inference.alignment import ForcedDecoding
from regard.inference.engine import Engine
from regard.inference.engine_selection import (
    EngineChoice,
    EngineName,
    RequestedPrecision,
    select_engine,
    unsupported_by_ctranslate2,
)
from regard.search.config import PAPER_SEARCH, SearchConfig
from regard.text.tokenizer import Tokenizer
from regard.translation.model_folder import TranslationFolder, read_translation_folder
from regard.translation.options import DEFAULT_OPTIONS, TranslateOptions, reject_conflicting_options

if TYPE_CHECKING:
    from regard.model.transformer import Transformer
    from regard.translation.tracing import Tracer

DeviceName = Literal["auto", "cpu", "cuda"]

DEFAULT_BATCH_TOKENS = 4096
"""Source tokens searched at a time, each hypothesis counted; what a beam remembers grows with them."""
LARGE_BATCH_TOKENS = 32_768
"""A GPU takes as long for few as for many, and CTranslate2 makes batches for every core of many."""
GPU_DEVICE_FILES = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
"""One of them is there where a GPU is, under Linux and under Windows' Linux."""


@runtime_checkable
class SupportsForceDecode(Protocol):
    """Reads translations along their sources."""

    def force_decode(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[ForcedDecoding]:
        """One reading for each pair, all in one batch."""
        ...


class EngineInfo(NamedTuple):
    """What computes, and how exactly."""

    engine: Literal["torch", "ctranslate2"] = "torch"
    precision: RequestedPrecision = "fp32"


TORCH_FP32 = EngineInfo()
"""A model as it was trained."""


class FallbackEngine(NamedTuple):
    """Another engine for what the first cannot do; nothing is loaded before it is needed."""

    reason: Callable[[SearchConfig, TranslateOptions], str | None]
    """Why it is, if it is."""
    load: Callable[[], "LoadedModel"]


class LoadedModel(NamedTuple):
    """All that a translator needs of a model."""

    engine: Engine
    tokenizer: Tokenizer
    batch_tokens: int
    forced_decoder: SupportsForceDecode | None = None
    """What alignments and confidences are asked of, where the engine's model can be asked."""
    engine_info: EngineInfo = TORCH_FP32
    fallback: FallbackEngine | None = None
    ensemble: tuple[Path, ...] = ()
    """The other models that it writes together with."""
    make_tracer: "Callable[[], Tracer] | None" = None
    """Makes what looks into translations, when it is first wanted; None: several models write together."""


def load_engine(
    folder_path: Path,
    device: DeviceName,
    engine: EngineName,
    precision: RequestedPrecision,
    threads: int | None = None,
    search: SearchConfig = PAPER_SEARCH,
    options: TranslateOptions = DEFAULT_OPTIONS,
) -> LoadedModel:
    """The model of a folder, in the engine asked for, or in the one that suits what it will be asked."""
    require_setting(threads is None or threads >= 1, "threads", threads, "it must be at least 1")
    folder = read_translation_folder(folder_path, size_only=[WEIGHTS_FILE])  # whoever reads them checks them
    match select_translation_engine(folder, device, engine, precision, search, options).name:
        case "ctranslate2":
            found = _load_ctranslate2(folder, precision, threads)
            if engine == "ctranslate2":
                return found
            needed = partial(_unsupported_by_ctranslate2, folder, precision)
            return found._replace(
                fallback=FallbackEngine(needed, lambda: _load_torch(folder, device, precision, threads))
            )
        case "torch":
            if options.ensemble:
                return _load_ensemble(folder.path, options.ensemble, device, precision, threads)
            return _load_torch(folder, device, precision, threads)


def select_translation_engine(
    folder: TranslationFolder,
    device: DeviceName,
    engine: EngineName,
    precision: RequestedPrecision,
    search: SearchConfig,
    options: TranslateOptions,
) -> EngineChoice:
    """Which engine, and why."""
    reject_conflicting_options(search, options)
    if options.ensemble:
        if engine == "ctranslate2":
            raise ConfigError("the engine ctranslate2 takes one model; leave out --also, or --engine")
        return EngineChoice("torch", "for several models at once")
    return select_engine(
        engine,
        has_gpu=uses_gpu(device),
        model=folder.config,
        precision=precision,
        search=search,
        has_constraints=options.has_constraints,
        needs_forced_decoding=options.needs_forced_decoding,
    )


def report_engine_choice(choice: EngineChoice) -> None:
    """Tells a person which engine it is; no file and no program."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"  engine {choice.name}: {choice.reason}\n")


def wrap_model(model: "Transformer", tokenizer: Tokenizer) -> LoadedModel:
    """A model in memory, as it is."""
    from regard.inference.eager import EagerEngine
    from regard.inference.forced import ForcedDecoder
    from regard.inference.word_boundaries import find_word_boundaries

    def tracer() -> "Tracer":  # each time anew: the model may have learnt since
        from regard.trace.model_facts import identify_model_in_memory
        from regard.translation.tracing import Tracer

        return Tracer(model, tokenizer, identify_model_in_memory(model))

    batch_tokens = LARGE_BATCH_TOKENS if next(model.parameters()).is_cuda else DEFAULT_BATCH_TOKENS
    engine = EagerEngine(model, find_word_boundaries(tokenizer))
    return LoadedModel(engine, tokenizer, batch_tokens, ForcedDecoder(model), make_tracer=tracer)


def uses_gpu(device: DeviceName) -> bool:
    """Whether a GPU will compute; asks torch only where there may be one."""
    if device == "cpu" or not (device == "cuda" or any(path.exists() for path in GPU_DEVICE_FILES)):
        return False
    from regard.train.device import choose_device

    return choose_device(device).type == "cuda"


def _load_ctranslate2(
    folder: TranslationFolder, precision: RequestedPrecision, threads: int | None
) -> LoadedModel:
    from regard.inference.ctranslate2 import CTranslate2Engine

    engine = CTranslate2Engine(folder.path, folder.config, precision, threads)

    @cache
    def tracer() -> "Tracer":
        from regard.translation.model_folder import load_translation_model

        return _build_tracer(folder, load_translation_model(folder.path).transformer)

    how = EngineInfo("ctranslate2", engine.precision)
    return LoadedModel(engine, folder.tokenizer, LARGE_BATCH_TOKENS, engine_info=how, make_tracer=tracer)


def _unsupported_by_ctranslate2(
    folder: TranslationFolder, precision: RequestedPrecision, search: SearchConfig, asked: TranslateOptions
) -> str | None:
    return unsupported_by_ctranslate2(
        folder.config, precision, search, asked.has_constraints, asked.needs_forced_decoding
    )


def _load_ensemble(
    first: Path,
    also: tuple[Path, ...],
    device: DeviceName,
    precision: RequestedPrecision,
    threads: int | None,
) -> LoadedModel:
    import torch

    from regard.inference.eager import EagerEngine
    from regard.inference.ensemble import make_ensemble
    from regard.inference.word_boundaries import find_word_boundaries
    from regard.train.device import choose_device
    from regard.translation.model_folder import load_translation_model

    if precision not in ("auto", "fp32"):
        raise ConfigError(f"several models at once compute in fp32, not in {precision}")
    if threads is not None:
        torch.set_num_threads(threads)
    models = [load_translation_model(Path(path)) for path in (first, *also)]
    tokenizer = models[0].tokenizer
    together = make_ensemble([model.transformer for model in models], [model.tokenizer for model in models])
    engine = EagerEngine(together.to(choose_device(device)), find_word_boundaries(tokenizer))
    return LoadedModel(engine, tokenizer, DEFAULT_BATCH_TOKENS, ensemble=also)


def _load_torch(
    folder: TranslationFolder, device: DeviceName, precision: RequestedPrecision, threads: int | None
) -> LoadedModel:
    import torch

    from regard.inference.cuda_graphs import CudaGraphEngine
    from regard.inference.eager import EagerEngine
    from regard.inference.forced import ForcedDecoder
    from regard.inference.incremental import IncrementalDecoder
    from regard.inference.word_boundaries import find_word_boundaries
    from regard.train.device import choose_device
    from regard.translation.model_folder import load_translation_model

    if threads is not None:
        torch.set_num_threads(threads)
    where = choose_device(device)
    gpu = where.type == "cuda"
    if gpu and precision == "int8":
        raise ConfigError("int8 is for a CPU; on a GPU fp16 is as fast, and the default")
    if not gpu and precision == "fp16":
        raise ConfigError("fp16 is for a GPU; on a CPU int8 is faster")
    model = load_translation_model(folder.path)
    transformer = model.transformer.to(where)
    exactly = ("fp16" if gpu else "fp32") if precision == "auto" else precision
    lean = IncrementalDecoder(transformer, exactly)
    engine = (CudaGraphEngine if gpu else EagerEngine)(lean, find_word_boundaries(model.tokenizer))
    batch_tokens = LARGE_BATCH_TOKENS if gpu else DEFAULT_BATCH_TOKENS
    tracer = cache(lambda: _build_tracer(folder, transformer))
    return LoadedModel(
        engine,
        model.tokenizer,
        batch_tokens,
        ForcedDecoder(transformer),
        EngineInfo("torch", exactly),
        make_tracer=tracer,
    )


def _build_tracer(folder: TranslationFolder, transformer: "Transformer") -> "Tracer":
    from regard.trace.model_facts import identify_model_folder
    from regard.translation.tracing import Tracer

    return Tracer(transformer, folder.tokenizer, identify_model_folder(folder.path, folder.manifest))
