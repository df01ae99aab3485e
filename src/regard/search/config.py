"""Search settings: beam, length penalty, sampling, length limits; no torch, so that --help stays instant."""

from dataclasses import dataclass

from regard.config import check_ranges, setting
from regard.errors import require_setting


@dataclass(frozen=True)
class Sampling:
    """Settings of sampling: each token is drawn with the probability the model gives it."""

    temperature: float = setting(1.0, at_least=0.001, at_most=1000.0)
    """Divides the logits: below 1 more conservative, above 1 more varied."""
    top_k: int | None = setting(None, at_least=1, at_most=10**6)
    """Sample from this many most probable tokens only."""
    top_p: float | None = None
    """Sample from the smallest set of most probable tokens whose probabilities add up to this."""
    seed: int = setting(0, at_least=0, at_most=2**64 - 1)
    """The same seed gives the same samples of a sentence, whatever else is in its batch."""

    def __post_init__(self) -> None:
        check_ranges(self)
        require_setting(
            self.top_p is None or 0 < self.top_p <= 1, "top_p", self.top_p, "it must be above 0 and at most 1"
        )


MAX_ALPHA = 10
"""Above it scores underflow and can no longer be compared."""
MAX_BEAM = 1000
"""Memory and time of a search grow with the beam."""


@dataclass(frozen=True)
class SearchConfig:
    """Settings of one search; the defaults are the paper's (section 6.1)."""

    beam: int = setting(4, at_least=1, at_most=MAX_BEAM)
    """Hypotheses kept per sentence; 1 is greedy search."""
    alpha: float = setting(0.6, at_least=0, at_most=MAX_ALPHA)
    """Exponent of the length penalty: higher favours longer translations, 0 compares log-probabilities."""
    n_best: int = setting(1, at_least=1, at_most=MAX_BEAM)
    """Translations returned per sentence, best first."""
    min_length: int = setting(0, at_least=0, at_most=10**6)
    """Minimum number of tokens of a translation, capped by the model's own limit."""
    max_length: int | None = setting(None, at_least=1, at_most=10**6)
    """Maximum number of tokens of a translation; None: 50 more than its source."""
    sampling: Sampling | None = None
    """Sample translations instead of searching for the most probable one; `beam` is then ignored."""
    no_repeat_ngram: int | None = setting(None, at_least=1, at_most=10**6)
    """No sequence of this many tokens occurs twice in a translation."""
    allow_unknown: bool = True
    """Whether a translation may contain characters that the vocabulary lacks, written as byte tokens."""

    def __post_init__(self) -> None:
        check_ranges(self)
        enough_slots = self.sampling is not None or self.n_best <= self.beam
        require_setting(
            enough_slots,
            "n_best",
            self.n_best,
            f"a beam of {self.beam} finds at most {self.beam}; raise beam",
        )
        longest = self.max_length
        fits = longest is None or self.min_length <= longest
        require_setting(fits, "min_length", self.min_length, f"it must be at most max_length = {longest}")

    @property
    def is_plain(self) -> bool:
        """Whether this is beam or greedy search in which every token is always allowed."""
        has_rules = self.min_length > 0 or self.no_repeat_ngram is not None or not self.allow_unknown
        return self.sampling is None and not has_rules


PAPER_SEARCH = SearchConfig()
GREEDY_SEARCH = SearchConfig(beam=1)
