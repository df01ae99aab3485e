"""Whether a probability means what it says, and the temperature that makes it so (Guo et al. 2017)."""

import math

import numpy as np
from jaxtyping import Float64, Int64

Scores = Float64[np.ndarray, "texts classes"]
Labels = Int64[np.ndarray, " texts"]

BINS = 15
"""Of equal width, as in the article."""
COLDEST, HOTTEST = 0.02, 50.0
"""Between which a temperature is looked for."""
CLOSE = 1e-4
"""How far, as a share of it, the temperature found may be from the best."""
GOLDEN = (math.sqrt(5) - 1) / 2


def probabilities(scores: Scores, temperature: float = 1.0) -> Scores:
    """The softmax of the scores divided by the temperature."""
    return np.exp(_log_probabilities(scores, temperature))


def negative_log_likelihood(scores: Scores, true: Labels, temperature: float = 1.0) -> float:
    """Of the true labels: the mean over texts, in nats."""
    chosen = np.take_along_axis(_log_probabilities(scores, temperature), true[:, None], axis=1)
    return -float(chosen.mean())


def calibration_error(scores: Scores, true: Labels, temperature: float = 1.0) -> float:
    """How far confidence is from accuracy, on average over texts: the expected calibration error.

    Texts are put together by the probability of the likeliest label; of those that are said to be right
    eight times in ten, eight in ten should be.
    """
    found = probabilities(scores, temperature)
    sure, right = found.max(axis=1), found.argmax(axis=1) == true
    bins = np.clip(np.ceil(sure * BINS).astype(np.int64) - 1, 0, BINS - 1)
    apart = np.bincount(bins, weights=sure - right, minlength=BINS)
    return float(np.abs(apart).sum() / len(true))


def fit_temperature(scores: Scores, true: Labels) -> float:
    """The temperature under which the true labels are likeliest.

    It changes no ranking, only how sure the answers sound. The likelihood has a single peak over it, so
    golden-section search over its logarithm finds the best. Where every label is right there is no best,
    the colder the likelier: a few easy texts would make the model sure of everything, so it is left at 1.
    """
    if (scores.argmax(axis=1) == true).all():
        return 1.0

    def cost(log_temperature: float) -> float:
        return negative_log_likelihood(scores, true, math.exp(log_temperature))

    low, high = math.log(COLDEST), math.log(HOTTEST)
    while high - low > CLOSE:
        one, other = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        low, high = (low, other) if cost(one) <= cost(other) else (one, high)
    return math.exp((low + high) / 2)


def _log_probabilities(scores: Scores, temperature: float) -> Scores:
    scaled = scores / temperature
    scaled = scaled - scaled.max(axis=1, keepdims=True)
    return scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
