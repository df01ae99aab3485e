"""From a model folder to an engine that is ready, and which one; no torch until one needs it."""

import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

from regard.checkpoint import WEIGHTS
from regard.errors import ConfigError, require
from regard.inference.alignment import Reading
from regard.inference.engine import Engine
from regard.inference.engine_selection import Choice, EngineName, Precision, choose, inexpressible
from regard.search.config import PAPER, SearchConfig
from regard.text.tokenizer import Tokenizer
from regard.translation.model_folder import Folder, read_folder
from regard.translation.options import NOTHING_ASKED, Asked, refuse_together

if TYPE_CHECKING:
    from regard.model.transformer import Transformer
    from regard.translation.tracing import Tracer

Device = Literal["auto", "cpu", "cuda"]

BATCH_TOKENS = 4096
"""Source tokens searched at a time, each hypothesis counted; what a beam remembers grows with them."""
MANY_TOKENS = 32_768
"""A GPU takes as long for few as for many, and CTranslate2 makes batches for every core of many."""
GPU_FILES = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
"""One of them is there where a GPU is, under Linux and under Windows' Linux."""


@runtime_checkable
class Reader(Protocol):
    """Reads translations along their sources."""

    def read(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[Reading]:
        """One reading for each pair, all in one batch."""
        ...


class How(NamedTuple):
    """What computes, and how exactly."""

    engine: Literal["torch", "ctranslate2"] = "torch"
    precision: Precision = "fp32"


EXACT = How()
"""A model as it was trained."""


class Spare(NamedTuple):
    """Another engine for what the first cannot do; nothing is loaded before it is needed."""

    needed: Callable[[SearchConfig, Asked], str | None]
    """Why it is, if it is."""
    load: Callable[[], "Ready"]


class Ready(NamedTuple):
    """All that a translator needs of a model."""

    engine: Engine
    tokenizer: Tokenizer
    batch_tokens: int
    reader: Reader | None = None
    """What alignments and confidences are asked of, where the engine's model can be asked."""
    how: How = EXACT
    spare: Spare | None = None
    also: tuple[Path, ...] = ()
    """The other models that it writes together with."""
    tracer: "Callable[[], Tracer] | None" = None
    """Makes what looks into translations, when it is first wanted; None: several models write together."""


def ready(
    path: Path,
    device: Device,
    wanted: EngineName,
    precision: Precision,
    threads: int | None = None,
    search: SearchConfig = PAPER,
    asked: Asked = NOTHING_ASKED,
) -> Ready:
    """The model of a folder, in the engine asked for, or in the one that suits what it will be asked."""
    require(threads is None or threads >= 1, "threads", threads, "it must be at least 1")
    folder = read_folder(path, unread=[WEIGHTS])  # whoever reads them checks them
    match chosen(folder, device, wanted, precision, search, asked).name:
        case "ctranslate2":
            found = _ctranslate(folder, precision, threads)
            if wanted == "ctranslate2":
                return found
            needed = partial(_lacking, folder, precision)
            return found._replace(spare=Spare(needed, lambda: _torch(folder, device, precision, threads)))
        case "torch":
            if asked.also:
                return _ensemble(folder.path, asked.also, device, precision, threads)
            return _torch(folder, device, precision, threads)


def chosen(
    folder: Folder,
    device: Device,
    wanted: EngineName,
    precision: Precision,
    search: SearchConfig,
    asked: Asked,
) -> Choice:
    """Which engine, and why."""
    refuse_together(search, asked)
    if asked.also:
        if wanted == "ctranslate2":
            raise ConfigError("the engine ctranslate2 takes one model; leave out --also, or --engine")
        return Choice("torch", "for several models at once")
    return choose(
        wanted,
        gpu=on_gpu(device),
        model=folder.config,
        precision=precision,
        search=search,
        wishes=asked.wishes,
        reading=asked.reading,
    )


def say(choice: Choice) -> None:
    """Tells a person which engine it is; no file and no program."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"  engine {choice.name}: {choice.why}\n")


def plain(model: "Transformer", tokenizer: Tokenizer) -> Ready:
    """A model in memory, as it is."""
    from regard.inference.eager import EagerEngine
    from regard.inference.forced import ForcedEngine
    from regard.inference.word_boundaries import edges

    def tracer() -> "Tracer":  # each time anew: the model may have learnt since
        from regard.trace.model_facts import identity_in_memory
        from regard.translation.tracing import Tracer

        return Tracer(model, tokenizer, identity_in_memory(model))

    batch_tokens = MANY_TOKENS if next(model.parameters()).is_cuda else BATCH_TOKENS
    engine = EagerEngine(model, edges(tokenizer))
    return Ready(engine, tokenizer, batch_tokens, ForcedEngine(model), tracer=tracer)


def on_gpu(device: Device) -> bool:
    """Whether a GPU will compute; asks torch only where there may be one."""
    if device == "cpu" or not (device == "cuda" or any(path.exists() for path in GPU_FILES)):
        return False
    from regard.train.device import choose_device

    return choose_device(device).type == "cuda"


def _ctranslate(folder: Folder, precision: Precision, threads: int | None) -> Ready:
    from regard.inference.ctranslate2 import CTranslateEngine

    engine = CTranslateEngine(folder.path, folder.config, precision, threads)

    @cache
    def tracer() -> "Tracer":
        from regard.translation.model_folder import load_model

        return _tracer(folder, load_model(folder.path).transformer)

    how = How("ctranslate2", engine.precision)
    return Ready(engine, folder.tokenizer, MANY_TOKENS, how=how, tracer=tracer)


def _lacking(folder: Folder, precision: Precision, search: SearchConfig, asked: Asked) -> str | None:
    return inexpressible(folder.config, precision, search, asked.wishes, asked.reading)


def _ensemble(
    first: Path, also: tuple[Path, ...], device: Device, precision: Precision, threads: int | None
) -> Ready:
    import torch

    from regard.inference.eager import EagerEngine
    from regard.inference.ensemble import ensemble
    from regard.inference.word_boundaries import edges
    from regard.train.device import choose_device
    from regard.translation.model_folder import load_model

    if precision not in ("auto", "fp32"):
        raise ConfigError(f"several models at once compute in fp32, not in {precision}")
    if threads is not None:
        torch.set_num_threads(threads)
    models = [load_model(Path(path)) for path in (first, *also)]
    tokenizer = models[0].tokenizer
    together = ensemble([model.transformer for model in models], [model.tokenizer for model in models])
    engine = EagerEngine(together.to(choose_device(device)), edges(tokenizer))
    return Ready(engine, tokenizer, BATCH_TOKENS, also=also)


def _torch(folder: Folder, device: Device, precision: Precision, threads: int | None) -> Ready:
    import torch

    from regard.inference.cuda_graphs import GraphEngine
    from regard.inference.eager import EagerEngine
    from regard.inference.forced import ForcedEngine
    from regard.inference.incremental import Lean
    from regard.inference.word_boundaries import edges
    from regard.train.device import choose_device
    from regard.translation.model_folder import load_model

    if threads is not None:
        torch.set_num_threads(threads)
    where = choose_device(device)
    gpu = where.type == "cuda"
    if gpu and precision == "int8":
        raise ConfigError("int8 is for a CPU; on a GPU fp16 is as fast, and the default")
    if not gpu and precision == "fp16":
        raise ConfigError("fp16 is for a GPU; on a CPU int8 is faster")
    model = load_model(folder.path)
    transformer = model.transformer.to(where)
    exactly = ("fp16" if gpu else "fp32") if precision == "auto" else precision
    lean = Lean(transformer, exactly)
    engine = (GraphEngine if gpu else EagerEngine)(lean, edges(model.tokenizer))
    batch_tokens = MANY_TOKENS if gpu else BATCH_TOKENS
    tracer = cache(lambda: _tracer(folder, transformer))
    return Ready(
        engine,
        model.tokenizer,
        batch_tokens,
        ForcedEngine(transformer),
        How("torch", exactly),
        tracer=tracer,
    )


def _tracer(folder: Folder, transformer: "Transformer") -> "Tracer":
    from regard.trace.model_facts import identity_of_folder
    from regard.translation.tracing import Tracer

    return Tracer(transformer, folder.tokenizer, identity_of_folder(folder.path, folder.manifest))
