"""Which engine translates, and why; no torch and no CTranslate2, so that choosing costs nothing."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from regard.errors import ConfigError
from regard.model.config import ModelConfig
from regard.search.config import PAPER_SEARCH, SearchConfig

EngineName = Literal["auto", "torch", "ctranslate2"]
RequestedPrecision = Literal["auto", "fp32", "bf16", "fp16", "int8"]


@dataclass(frozen=True)
class EngineChoice:
    """An engine, and the reason for it, in words that can follow its name."""

    name: Literal["torch", "ctranslate2"]
    reason: str


def select_engine(
    requested: EngineName,
    *,
    has_gpu: bool,
    model: ModelConfig,
    precision: RequestedPrecision = "auto",
    search: SearchConfig = PAPER_SEARCH,
    has_constraints: bool = False,
    needs_forced_decoding: bool = False,
) -> EngineChoice:
    """CTranslate2 on a CPU, where it is installed and can do what is asked; torch for all else.

    `gpu` is whether a GPU will compute, `wishes` whether any sentence has one, `reading` whether translations
    are to be read once more. An engine asked for by name is refused if it cannot do the rest.
    """
    if requested == "torch":
        return EngineChoice("torch", "as asked")
    obstacle = _obstacle(has_gpu) or unsupported_by_ctranslate2(
        model, precision, search, has_constraints, needs_forced_decoding
    )
    if requested == "auto":
        return (
            EngineChoice("torch", obstacle)
            if obstacle
            else EngineChoice("ctranslate2", "the fastest on a CPU")
        )
    if obstacle:
        raise ConfigError(f"the engine ctranslate2 cannot be used: {obstacle}; choose torch or auto")
    return EngineChoice("ctranslate2", "as asked")


def unsupported_by_ctranslate2(
    model: ModelConfig,
    precision: RequestedPrecision = "auto",
    search: SearchConfig = PAPER_SEARCH,
    has_constraints: bool = False,
    needs_forced_decoding: bool = False,
) -> str | None:
    """What of all this CTranslate2 has no word for, if anything."""
    asked = {
        'model.norm = "literal"': model.norm == "literal",
        precision: precision in ("bf16", "fp16"),
        "sampling": search.sampling is not None,
        "no_repeat_ngram": search.no_repeat_ngram is not None,
        "to leave out unknown characters": not search.allow_unknown,
        "prefixes, required and forbidden phrases": has_constraints,
        "alignments and confidences": needs_forced_decoding,
    }
    missing = [words for words, is_asked in asked.items() if is_asked]
    return f"CTranslate2 cannot do this: {', '.join(missing)}" if missing else None


def _obstacle(gpu: bool) -> str | None:
    if gpu:
        return "a GPU computes"
    if find_spec("ctranslate2") is None:
        return "CTranslate2 is not installed (pip install 'regard[fast]')"
    return None
