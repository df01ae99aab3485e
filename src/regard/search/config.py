"""How to search for a translation; no torch, so that --help stays instant."""

import math
from dataclasses import dataclass

from regard.errors import require_setting


@dataclass(frozen=True)
class Sampling:
    """Translations drawn by chance: each token as often as the model holds it to be likely."""

    temperature: float = 1.0
    """Below 1 the likely becomes likelier, above 1 everything becomes more alike."""
    top_k: int | None = None
    """Only so many of the likeliest tokens may be drawn."""
    top_p: float | None = None
    """Only the likeliest tokens that together have this probability may be drawn."""
    seed: int = 0
    """The same seed draws the same for the same sentence, whatever is translated beside it."""

    def __post_init__(self) -> None:
        require_setting(
            0 < self.temperature < math.inf, "temperature", self.temperature, "it must be more than 0"
        )
        require_setting(self.top_k is None or self.top_k >= 1, "top_k", self.top_k, "it must be at least 1")
        require_setting(
            self.top_p is None or 0 < self.top_p <= 1, "top_p", self.top_p, "it lies above 0, up to 1"
        )
        require_setting(0 <= self.seed < 2**64, "seed", self.seed, "it is a whole number from 0 to 2^64 - 1")


MAX_ALPHA = 10
"""Beyond it scores are too small to be told apart."""


@dataclass(frozen=True)
class SearchConfig:
    """The defaults are the paper's (section 6.1)."""

    beam: int = 4
    """Hypotheses kept for each sentence; 1 is greedy search."""
    alpha: float = 0.6
    """How much longer translations are favoured; 0 compares plain log-probabilities."""
    n_best: int = 1
    """How many translations of each sentence come back, the best first."""
    min_length: int = 0
    """Tokens that a translation has at least, unless the model cannot write so many."""
    max_length: int | None = None
    """Tokens that a translation has at most; None: 50 more than its source."""
    sampling: Sampling | None = None
    """Draw translations instead of searching for the likeliest; then `beam` does not matter."""
    no_repeat_ngram: int | None = None
    """No run of so many tokens occurs twice in a translation."""
    allow_unknown: bool = True
    """Whether characters that the vocabulary lacks may be written, byte by byte."""

    def __post_init__(self) -> None:
        require_setting(self.beam >= 1, "beam", self.beam, "it must be at least 1")
        require_setting(0 <= self.alpha <= MAX_ALPHA, "alpha", self.alpha, f"it lies from 0 to {MAX_ALPHA}")
        require_setting(self.n_best >= 1, "n_best", self.n_best, "it must be at least 1")
        found = self.sampling is not None or self.n_best <= self.beam
        require_setting(
            found, "n_best", self.n_best, f"a beam of {self.beam} finds at most {self.beam}; widen it"
        )
        require_setting(self.min_length >= 0, "min_length", self.min_length, "it must be a number from 0 up")
        longest = self.max_length
        require_setting(longest is None or longest >= 1, "max_length", longest, "it must be at least 1")
        fits = longest is None or self.min_length <= longest
        require_setting(fits, "min_length", self.min_length, f"max_length is {longest}")
        ngram = self.no_repeat_ngram
        require_setting(ngram is None or ngram >= 1, "no_repeat_ngram", ngram, "it must be at least 1")


PAPER_SEARCH = SearchConfig()
GREEDY_SEARCH = SearchConfig(beam=1)
