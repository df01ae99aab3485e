"""Alternatives at a position: what else could come next in a translation, and where each would lead."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.inference.eager import EagerEngine
from regard.search.config import PAPER, SearchConfig
from regard.search.constraints import Wish
from regard.search.hypothesis import Hypothesis, length_penalty
from regard.text.tokenizer import EOS


@dataclass(frozen=True)
class Alternative:
    """One way to go on."""

    token: int
    """What comes next; the end mark where the translation could end here."""
    log_probability: float
    """Of that token, after all before it."""
    best: Hypothesis
    """The best translation found that goes on so."""


def alternatives(
    engine: EagerEngine,
    source: Sequence[int],
    prefix: Sequence[int],
    count: int,
    config: SearchConfig = PAPER,
) -> list[Alternative]:
    """The likeliest tokens after `prefix`, the likeliest first, each with its best completion."""
    before, following = engine.following(source, prefix, count)
    words = [token for token, _ in following if token != EOS]
    wishes = [Wish(prefix=(*prefix, token)) for token in words]
    found = engine.translate([source] * len(words), replace(config, n_best=1), wishes)
    best = dict(zip(words, (answer[0] for answer in found), strict=True))
    penalty = length_penalty(len(prefix) + 1, config.alpha)
    return [
        Alternative(
            token,
            log,
            best.get(token) or Hypothesis(tuple(prefix), before + log, (before + log) / penalty),
        )
        for token, log in following
    ]
