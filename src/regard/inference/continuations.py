"""Alternatives at a position: what else could come next in a translation, and where each would lead."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.inference.eager import EagerEngine
from regard.search.config import PAPER_SEARCH, SearchConfig
from regard.search.constraints import Constraints
from regard.search.hypothesis import Hypothesis, length_penalty
from regard.text.tokenizer import EOS


@dataclass(frozen=True)
class TokenContinuation:
    """One way to go on."""

    token: int
    """What comes next; the end mark where the translation could end here."""
    log_probability: float
    """Of that token, after all before it."""
    best: Hypothesis
    """The best translation found that goes on so."""


def find_continuations(
    engine: EagerEngine,
    source: Sequence[int],
    prefix: Sequence[int],
    count: int,
    config: SearchConfig = PAPER_SEARCH,
) -> list[TokenContinuation]:
    """The likeliest tokens after `prefix`, the likeliest first, each with its best completion."""
    before, following = engine.top_next_tokens(source, prefix, count)
    words = [token for token, _ in following if token != EOS]
    wishes = [Constraints(prefix=(*prefix, token)) for token in words]
    found = engine.translate([source] * len(words), replace(config, n_best=1), wishes)
    best = dict(zip(words, (answer[0] for answer in found), strict=True))
    penalty = length_penalty(len(prefix) + 1, config.alpha)
    return [
        TokenContinuation(
            token,
            log,
            best.get(token) or Hypothesis(tuple(prefix), before + log, (before + log) / penalty),
        )
        for token, log in following
    ]
