"""Engine selection: torch or CTranslate2, with the reason; imports neither, so that it costs no time."""

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
    """An engine and the reason for choosing it."""

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
    has_glossary: bool = False,
) -> EngineChoice:
    """Select CTranslate2 on a CPU if it is installed and supports the options; torch in all other cases.

    With a glossary it still translates the texts that have no glossary phrase; torch translates the others.
    An engine requested by name is used, or refused with a `ConfigError` if it does not support the options.
    """
    if requested == "torch":
        return EngineChoice("torch", "requested")
    reason_against = _ctranslate2_obstacle(has_gpu) or unsupported_by_ctranslate2(
        model,
        precision,
        search,
        has_constraints,
        needs_forced_decoding,
        has_glossary=has_glossary and requested == "ctranslate2",
    )
    if requested == "ctranslate2" and reason_against:
        raise ConfigError(f"the engine ctranslate2 cannot be used: {reason_against}; choose torch or auto")
    if reason_against:
        return EngineChoice("torch", reason_against)
    return EngineChoice("ctranslate2", "requested" if requested == "ctranslate2" else "the fastest on a CPU")


def unsupported_by_ctranslate2(
    model: ModelConfig,
    precision: RequestedPrecision = "auto",
    search: SearchConfig = PAPER_SEARCH,
    has_constraints: bool = False,
    needs_forced_decoding: bool = False,
    has_glossary: bool = False,
) -> str | None:
    """Return which of these options CTranslate2 does not support, or None."""
    is_used = {
        'model.norm = "literal"': model.norm == "literal",
        f"precision {precision}": precision in ("bf16", "fp16"),
        "sampling": search.sampling is not None,
        "no_repeat_ngram": search.no_repeat_ngram is not None,
        "allow_unknown = False": not search.allow_unknown,
        "prefixes, required and forbidden phrases": has_constraints,
        "alignments and confidences": needs_forced_decoding,
        "glossaries": has_glossary,
    }
    unsupported = [option for option, used in is_used.items() if used]
    return f"CTranslate2 does not support {', '.join(unsupported)}" if unsupported else None


def _ctranslate2_obstacle(has_gpu: bool) -> str | None:
    """Return why CTranslate2 cannot run on this machine, or None."""
    if has_gpu:
        return "the device is a GPU"
    if find_spec("ctranslate2") is None:
        return "CTranslate2 is not installed (pip install 'regard[fast]')"
    return None
