"""Engine: the interface of everything that translates token ids, and its output length limits; no torch."""

import math
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from regard.search.config import SearchConfig
from regard.search.constraints import Constraints
from regard.search.hypothesis import Hypothesis
from regard.search.required_length import count_required_tokens

EXTRA_LENGTH = 50
"""Tokens by which a translation may exceed its source (section 6.1)."""
UNSATISFIABLE = Hypothesis((), -math.inf, -math.inf)
"""The result where no sequence satisfies the constraints."""


@runtime_checkable
class Engine(Protocol):
    """Translates a batch of token ids; the result of a source does not depend on the rest of the batch."""

    @property
    def max_tokens(self) -> int:
        """The maximum number of source tokens."""
        ...

    def translate(
        self,
        sources: Sequence[Sequence[int]],
        config: SearchConfig,
        constraints: Sequence[Constraints] | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the `n_best` translations of each source, best first, or fewer if the search found fewer.

        There is at least one: `UNSATISFIABLE` if no sequence satisfies the constraints.
        """
        ...


def constrained_min_length(constraints: Constraints) -> int:
    """Return the fewest tokens of a translation with this prefix and these required phrases."""
    return count_required_tokens(constraints.required, constraints.prefix)


def max_output_length(max_tokens: int, config: SearchConfig) -> int:
    """Return the maximum length of any translation; `max_tokens` is the model's own limit."""
    return max_tokens if config.max_length is None else min(config.max_length, max_tokens)


def output_length_limit(
    source_length: int, max_tokens: int, config: SearchConfig, constraints: Constraints
) -> int:
    """Return the maximum length of one translation, raised where its constraints need more tokens."""
    limit = source_length + EXTRA_LENGTH if config.max_length is None else config.max_length
    limit = max(limit, constrained_min_length(constraints), config.min_length)
    return min(limit, max_output_length(max_tokens, config))
