"""Continuations of a prefix: the most probable next tokens, each with its best translation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.inference.eager import EagerEngine
from regard.search.config import PAPER_SEARCH, SearchConfig
from regard.search.constraints import Constraints
from regard.search.hypothesis import Hypothesis, length_penalty
from regard.text.tokenizer import EOS


@dataclass(frozen=True)
class TokenContinuation:
    """A token that may follow a prefix."""

    token: int
    """The end mark if the translation could end here."""
    log_probability: float
    """Of the token, given the prefix."""
    best: Hypothesis
    """The best translation that begins with the prefix and this token."""


def find_continuations(
    engine: EagerEngine,
    source: Sequence[int],
    prefix: Sequence[int],
    count: int,
    config: SearchConfig = PAPER_SEARCH,
) -> list[TokenContinuation]:
    """Return the `count` most probable tokens after `prefix`, the most probable first."""
    prefix_log_probability, next_tokens = engine.top_next_tokens(source, prefix, count)
    tokens = [token for token, _ in next_tokens if token != EOS]
    constraints = [Constraints(prefix=(*prefix, token)) for token in tokens]
    results = engine.translate([source] * len(tokens), replace(config, n_best=1), constraints)
    best = dict(zip(tokens, (hypotheses[0] for hypotheses in results), strict=True))
    penalty = length_penalty(len(prefix) + 1, config.alpha)

    def ended(log_probability: float) -> Hypothesis:
        total = prefix_log_probability + log_probability
        return Hypothesis(tuple(prefix), total, total / penalty)

    return [
        TokenContinuation(token, log_probability, best.get(token) or ended(log_probability))
        for token, log_probability in next_tokens
    ]
