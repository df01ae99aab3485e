"""Engine: ids in, hypotheses out; what every road from a model to its translations promises."""

import math
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from regard.search.config import SearchConfig
from regard.search.constraints import Wish
from regard.search.hypothesis import Hypothesis

EXTRA = 50
"""A translation may be this much longer than its source (section 6.1)."""
NO_ROOM = Hypothesis((), -math.inf, -math.inf)
"""What is found where nothing can keep to the wish."""


@runtime_checkable
class Engine(Protocol):
    """Translates ids in one batch; which others are in it changes no answer."""

    @property
    def longest(self) -> int:
        """Source tokens that it takes at most."""
        ...

    def translate(
        self,
        sources: Sequence[Sequence[int]],
        config: SearchConfig,
        wishes: Sequence[Wish] | None = None,
    ) -> list[list[Hypothesis]]:
        """For each source its `n_best` best translations, the best first; fewer if fewer were found.

        Each has at least one. Where nothing that can be written keeps to the wish, that one is
        empty, with a log-probability of minus infinity.
        """
        ...


def needed(wish: Wish) -> int:
    """Tokens that a translation has at least which keeps to the wish."""
    return len(wish.prefix) + sum(min(map(len, phrase)) for phrase in wish.required)


def allowed(longest: int, config: SearchConfig) -> int:
    """Tokens that any translation may have; `longest` is the model's own limit."""
    return longest if config.max_length is None else min(config.max_length, longest)


def limit(source_length: int, longest: int, config: SearchConfig, wish: Wish) -> int:
    """Tokens that the translation may have; what is asked and needs more room than is usual gets it."""
    usual = source_length + EXTRA if config.max_length is None else config.max_length
    return min(max(usual, needed(wish), config.min_length), allowed(longest, config))
