"""How often a classifier is right, for all labels and for each: accuracy, precision, recall, F1."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

Labels = Int64[np.ndarray, " texts"]
ConfusionMatrix = Int64[np.ndarray, "classes classes"]


@dataclass(frozen=True)
class ClassMetrics:
    """One label against all others; what has no instance to be measured on is 0."""

    precision: float
    """How many of the texts that were given this label have it."""
    recall: float
    """How many of the texts that have it were given it."""
    f1: float
    """The harmonic mean of the two."""
    texts: int
    """That have it."""


@dataclass(frozen=True)
class ClassificationMetrics:
    """The figures of one set of predictions."""

    accuracy: float
    macro_f1: float
    """The mean over labels that occur, however rare: accuracy is what the frequent ones make it."""
    classes: tuple[ClassMetrics, ...]


def confusion_matrix(true: Labels, predicted: Labels, classes: int) -> ConfusionMatrix:
    """How many texts of each label (rows) were given each label (columns)."""
    return np.bincount(true * classes + predicted, minlength=classes * classes).reshape(classes, classes)


def classification_metrics(matrix: ConfusionMatrix) -> ClassificationMetrics:
    """All figures that follow from a confusion matrix; a label occurs if a text has it or was given it."""
    scores = tuple(_score(matrix, label) for label in range(len(matrix)))
    occurs = (matrix.sum(axis=0) + matrix.sum(axis=1)) > 0
    macro = float(np.mean([score.f1 for score in scores], where=occurs)) if occurs.any() else 0.0
    return ClassificationMetrics(_ratio(int(matrix.trace()), int(matrix.sum())), macro, scores)


def _score(matrix: ConfusionMatrix, label: int) -> ClassMetrics:
    right, given, have = (int(n) for n in (matrix[label, label], matrix[:, label].sum(), matrix[label].sum()))
    return ClassMetrics(_ratio(right, given), _ratio(right, have), _ratio(2 * right, given + have), have)


def _ratio(part: int, of: int) -> float:
    return part / of if of else 0.0


ClassScores = Float64[np.ndarray, "texts classes"]

CALIBRATION_BINS = 15
"""Of equal width, as in the article."""
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.02, 50.0
"""Between which a temperature is looked for."""
TEMPERATURE_TOLERANCE = 1e-4
"""How far, as a share of it, the temperature found may be from the best."""
GOLDEN_RATIO = (math.sqrt(5) - 1) / 2


def class_probabilities(scores: ClassScores, temperature: float = 1.0) -> ClassScores:
    """The softmax of the scores divided by the temperature."""
    return np.exp(_log_probabilities(scores, temperature))


def negative_log_likelihood(scores: ClassScores, true: Labels, temperature: float = 1.0) -> float:
    """Of the true labels: the mean over texts, in nats."""
    chosen = np.take_along_axis(_log_probabilities(scores, temperature), true[:, None], axis=1)
    return -float(chosen.mean())


def expected_calibration_error(scores: ClassScores, true: Labels, temperature: float = 1.0) -> float:
    """How far confidence is from accuracy, on average over texts: the expected calibration error.

    Texts are put together by the probability of the likeliest label; of those that are said to be right
    eight times in ten, eight in ten should be.
    """
    found = class_probabilities(scores, temperature)
    sure, right = found.max(axis=1), found.argmax(axis=1) == true
    bins = np.clip(np.ceil(sure * CALIBRATION_BINS).astype(np.int64) - 1, 0, CALIBRATION_BINS - 1)
    apart = np.bincount(bins, weights=sure - right, minlength=CALIBRATION_BINS)
    return float(np.abs(apart).sum() / len(true))


def fit_temperature(scores: ClassScores, true: Labels) -> float:
    """The temperature under which the true labels are likeliest.

    It changes no ranking, only how sure the answers sound. The likelihood has a single peak over it, so
    golden-section search over its logarithm finds the best. Where every label is right there is no best,
    the colder the likelier: a few easy texts would make the model sure of everything, so it is left at 1.
    """
    if (scores.argmax(axis=1) == true).all():
        return 1.0

    def cost(log_temperature: float) -> float:
        return negative_log_likelihood(scores, true, math.exp(log_temperature))

    low, high = math.log(MIN_TEMPERATURE), math.log(MAX_TEMPERATURE)
    while high - low > TEMPERATURE_TOLERANCE:
        one, other = high - GOLDEN_RATIO * (high - low), low + GOLDEN_RATIO * (high - low)
        low, high = (low, other) if cost(one) <= cost(other) else (one, high)
    return math.exp((low + high) / 2)


def _log_probabilities(scores: ClassScores, temperature: float) -> ClassScores:
    scaled = scores / temperature
    scaled = scaled - scaled.max(axis=1, keepdims=True)
    return scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
