"""What is to be traced, and how: the same request to the same model gives the same trace."""

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
"""Tokens of either side, the end mark among them: all weights of a longer one fill many megabytes."""


class TraceLengthError(DataError):
    """A text with more tokens than may be traced; it can be translated all the same.

    `setting` is what raises the limit; None: the model can read no more.
    """

    def __init__(self, what: str, tokens: int, limit: int, setting: str | None) -> None:
        said = f"{what} has {tokens} tokens, and "
        if setting is None:
            super().__init__(f"{said}this model reads at most {limit}; shorten it")
        else:
            super().__init__(f"{said}at most {limit} can be traced; shorten it, or raise {setting}")
        self.limit = limit
        self._what, self._tokens, self._setting = what, tokens, setting

    def with_setting(self, setting: str) -> "TraceLengthError":
        """The same for whoever raises the limit by another name."""
        return TraceLengthError(self._what, self._tokens, self.limit, self._setting and setting)


@dataclass(frozen=True)
class TraceRequest:
    """One translation to be looked into."""

    text: str
    beam: int = PAPER_SEARCH.beam
    alpha: float = PAPER_SEARCH.alpha
    max_extra: int = EXTRA_LENGTH
    """Tokens that the translation may be longer than its source."""
    top_k: int = 10
    prefix: tuple[int, ...] = ()
    """The token ids it begins with."""
    target: tuple[int, ...] | None = None
    """The token ids of the whole translation, without marks; None: it is searched for."""
    interventions: tuple[Intervention, ...] = ()

    def __post_init__(self) -> None:
        SearchConfig(self.beam, self.alpha)  # refuses what cannot work
        require_setting(self.top_k >= 1, "top_k", self.top_k, "it must be at least 1")
        require_setting(self.max_extra >= 0, "max_extra", self.max_extra, "it must be a number from 0 up")
        if self.target is not None and self.prefix:
            raise ConfigError("a beginning and a whole translation cannot both be given; leave one out")

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
    def from_json(said: Mapping[str, Any]) -> "TraceRequest":
        """What `to_json` wrote."""
        target = said["target"]
        return TraceRequest(
            said["text"],
            said["beam"],
            said["alpha"],
            said["max_extra"],
            said["top_k"],
            tuple(said["prefix"]),
            None if target is None else tuple(target),
            tuple(intervention_from_json(each) for each in said["interventions"]),
        )


def trace_id(model_id: str, request: TraceRequest) -> str:
    """The SHA-256 of both."""
    said = json.dumps([model_id, request.to_json()], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
