"""Hypothesis: what a search answers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """A sequence that was found, and how likely the model holds it to be."""

    tokens: tuple[int, ...]
    """Without marks."""
    log_probability: float
    """Of the tokens and the end mark after them."""
    score: float
    """By which hypotheses are compared: the log-probability over the length penalty."""


def length_penalty(tokens: int, alpha: float) -> float:
    """What the log-probability of so many tokens, the end mark among them, is divided by.

    Section 6.1 takes it from Wu et al. (2016), equation 14.
    """
    return ((5 + tokens) / 6) ** alpha
