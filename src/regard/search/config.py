"""Search settings: beam, length penalty, sampling, length limits; no torch, so that --help stays instant."""

import math
from dataclasses import dataclass

from regard.errors import require_setting


@dataclass(frozen=True)
class Sampling:
    """Settings of sampling: each token is drawn with the probability the model gives it."""

    temperature: float = 1.0
    """Divides the logits: below 1 more conservative, above 1 more varied."""
    top_k: int | None = None
    """Sample from this many most probable tokens only."""
    top_p: float | None = None
    """Sample from the smallest set of most probable tokens whose probabilities add up to this."""
    seed: int = 0
    """The same seed gives the same samples of a sentence, whatever else is in its batch."""

    def __post_init__(self) -> None:
        require_setting(
            0 < self.temperature < math.inf, "temperature", self.temperature, "it must be above 0"
        )
        require_setting(self.top_k is None or self.top_k >= 1, "top_k", self.top_k, "it must be at least 1")
        require_setting(
            self.top_p is None or 0 < self.top_p <= 1, "top_p", self.top_p, "it must be above 0 and at most 1"
        )
        require_setting(0 <= self.seed < 2**64, "seed", self.seed, "it must be from 0 to 2^64 - 1")


MAX_ALPHA = 10
"""Above it scores underflow and can no longer be compared."""


@dataclass(frozen=True)
class SearchConfig:
    """Settings of one search; the defaults are the paper's (section 6.1)."""

    beam: int = 4
    """Hypotheses kept per sentence; 1 is greedy search."""
    alpha: float = 0.6
    """Exponent of the length penalty: higher favours longer translations, 0 compares log-probabilities."""
    n_best: int = 1
    """Translations returned per sentence, best first."""
    min_length: int = 0
    """Minimum number of tokens of a translation, capped by the model's own limit."""
    max_length: int | None = None
    """Maximum number of tokens of a translation; None: 50 more than its source."""
    sampling: Sampling | None = None
    """Sample translations instead of searching for the most probable one; `beam` is then ignored."""
    no_repeat_ngram: int | None = None
    """No sequence of this many tokens occurs twice in a translation."""
    allow_unknown: bool = True
    """Whether a translation may contain characters that the vocabulary lacks, written as byte tokens."""

    def __post_init__(self) -> None:
        require_setting(self.beam >= 1, "beam", self.beam, "it must be at least 1")
        require_setting(
            0 <= self.alpha <= MAX_ALPHA, "alpha", self.alpha, f"it must be from 0 to {MAX_ALPHA}"
        )
        require_setting(self.n_best >= 1, "n_best", self.n_best, "it must be at least 1")
        enough_slots = self.sampling is not None or self.n_best <= self.beam
        require_setting(
            enough_slots,
            "n_best",
            self.n_best,
            f"a beam of {self.beam} finds at most {self.beam}; raise beam",
        )
        require_setting(self.min_length >= 0, "min_length", self.min_length, "it must be at least 0")
        longest = self.max_length
        require_setting(longest is None or longest >= 1, "max_length", longest, "it must be at least 1")
        fits = longest is None or self.min_length <= longest
        require_setting(fits, "min_length", self.min_length, f"it must be at most max_length = {longest}")
        ngram = self.no_repeat_ngram
        require_setting(ngram is None or ngram >= 1, "no_repeat_ngram", ngram, "it must be at least 1")

    @property
    def is_plain(self) -> bool:
        """Whether this is beam or greedy search in which every token is always allowed."""
        has_rules = self.min_length > 0 or self.no_repeat_ngram is not None or not self.allow_unknown
        return self.sampling is None and not has_rules


PAPER_SEARCH = SearchConfig()
GREEDY_SEARCH = SearchConfig(beam=1)
