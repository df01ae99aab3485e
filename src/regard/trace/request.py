"""Trace requests: text, search settings, prefix or forced target, interventions, and the trace id.

The same request to the same model gives the same trace.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from regard.errors import ConfigError, DataError, require_setting
from regard.inference.engine import EXTRA_LENGTH
from regard.search.config import PAPER_SEARCH, SearchConfig
from regard.trace.interventions import Intervention, intervention_from_json, intervention_to_json

MAX_TRACE_TOKENS = 256
"""Tokens per side, end of sentence included: all weights of a longer text take many megabytes."""


class TraceLengthError(DataError):
    """A text with more tokens than can be traced; it can still be translated.

    `setting` raises the limit; None: the model itself can read no more.
    """

    def __init__(self, what: str, tokens: int, limit: int, setting: str | None) -> None:
        message = f"{what} has {tokens} tokens, and "
        if setting is None:
            super().__init__(f"{message}this model reads at most {limit}; shorten it")
        else:
            super().__init__(f"{message}at most {limit} can be traced; shorten it, or raise {setting}")
        self.limit = limit
        self._what, self._tokens, self._setting = what, tokens, setting

    def with_setting(self, setting: str) -> "TraceLengthError":
        """Return this error with another name for the setting that raises the limit."""
        return TraceLengthError(self._what, self._tokens, self.limit, self._setting and setting)


@dataclass(frozen=True)
class TraceRequest:
    """One translation to trace."""

    text: str
    beam: int = PAPER_SEARCH.beam
    alpha: float = PAPER_SEARCH.alpha
    max_extra: int = EXTRA_LENGTH
    """How many tokens longer than the source the translation may be."""
    top_k: int = 10
    prefix: tuple[int, ...] = ()
    """Token ids that the translation starts with."""
    target: tuple[int, ...] | None = None
    """Token ids of a given translation, without special tokens; None: search for one."""
    interventions: tuple[Intervention, ...] = ()

    def __post_init__(self) -> None:
        SearchConfig(self.beam, self.alpha)  # validates both
        require_setting(self.top_k >= 1, "top_k", self.top_k, "it must be at least 1")
        require_setting(self.max_extra >= 0, "max_extra", self.max_extra, "it must be at least 0")
        if self.target is not None and self.prefix:
            raise ConfigError("prefix and target exclude each other; give one of them")

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "beam": self.beam,
            "alpha": self.alpha,
            "max_extra": self.max_extra,
            "top_k": self.top_k,
            "prefix": list(self.prefix),
            "target": None if self.target is None else list(self.target),
            "interventions": [intervention_to_json(each) for each in self.interventions],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "TraceRequest":
        """Parse the output of `to_json`."""
        target = data["target"]
        return TraceRequest(
            data["text"],
            data["beam"],
            data["alpha"],
            data["max_extra"],
            data["top_k"],
            tuple(data["prefix"]),
            None if target is None else tuple(target),
            tuple(intervention_from_json(each) for each in data["interventions"]),
        )


def trace_id(model_id: str, request: TraceRequest) -> str:
    """Return the SHA-256 of model id and request."""
    identity = json.dumps([model_id, request.to_json()], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
