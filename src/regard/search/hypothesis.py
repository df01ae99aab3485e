"""Hypothesis: the result of a search, and its length penalty; no torch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """A finished sequence with its score."""

    tokens: tuple[int, ...]
    """Without begin and end marks."""
    log_probability: float
    """Of the tokens and the end mark after them."""
    score: float
    """What hypotheses are ranked by: the log-probability divided by the length penalty."""


def length_penalty(tokens: int, alpha: float) -> float:
    """Return the divisor of the log-probability of this many tokens, end mark included.

    Section 6.1 takes it from Wu et al. (2016), equation 14.
    """
    return ((5 + tokens) / 6) ** alpha
