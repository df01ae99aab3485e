"""How hard to search for a translation; no torch, so that --help stays instant."""

import math
from dataclasses import dataclass

from regard.errors import require


@dataclass(frozen=True)
class SearchConfig:
    """The defaults are the paper's (section 6.1)."""

    beam: int = 4
    """Hypotheses kept for each sentence; 1 is greedy search."""
    alpha: float = 0.6
    """How much longer translations are favoured; 0 compares plain log-probabilities."""

    def __post_init__(self) -> None:
        require(self.beam >= 1, "beam", self.beam, "it must be at least 1")
        require(0 <= self.alpha < math.inf, "alpha", self.alpha, "it must be a number from 0 up")


PAPER = SearchConfig()
GREEDY = SearchConfig(beam=1)
