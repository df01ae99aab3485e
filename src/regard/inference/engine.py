"""Engine: ids in, hypotheses out; what every road from a model to its translations promises."""

import math
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from regard.search.config import SearchConfig
from regard.search.constraints import Constraints
from regard.search.hypothesis import Hypothesis

EXTRA_LENGTH = 50
"""A translation may be this much longer than its source (section 6.1)."""
UNSATISFIABLE = Hypothesis((), -math.inf, -math.inf)
"""What is found where nothing can keep to the wish."""


@runtime_checkable
class Engine(Protocol):
    """Translates ids in one batch; which others are in it changes no answer."""

    @property
    def max_tokens(self) -> int:
        """Source tokens that it takes at most."""
        ...

    def translate(
        self,
        sources: Sequence[Sequence[int]],
        config: SearchConfig,
        constraints: Sequence[Constraints] | None = None,
    ) -> list[list[Hypothesis]]:
        """For each source its `n_best` best translations, the best first; fewer if fewer were found.

        Each has at least one. Where nothing that can be written keeps to the wish, that one is
        empty, with a log-probability of minus infinity.
        """
        ...


def constrained_min_length(constraints: Constraints) -> int:
    """Tokens that a translation has at least which keeps to the wish."""
    return len(constraints.prefix) + sum(min(map(len, phrase)) for phrase in constraints.required)


def max_output_length(max_tokens: int, config: SearchConfig) -> int:
    """Tokens that any translation may have; `longest` is the model's own limit."""
    return max_tokens if config.max_length is None else min(config.max_length, max_tokens)


def output_length_limit(
    source_length: int, max_tokens: int, config: SearchConfig, constraints: Constraints
) -> int:
    """Tokens that the translation may have; what is asked and needs more room than is usual gets it."""
    usual = source_length + EXTRA_LENGTH if config.max_length is None else config.max_length
    return min(
        max(usual, constrained_min_length(constraints), config.min_length),
        max_output_length(max_tokens, config),
    )
