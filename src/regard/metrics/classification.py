"""Classification metrics: accuracy, precision, recall, F1, calibration error and temperature scaling."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

Labels = Int64[np.ndarray, " texts"]
ConfusionMatrix = Int64[np.ndarray, "classes classes"]


@dataclass(frozen=True)
class ClassMetrics:
    """Metrics of one label against all others; 0 where they are undefined."""

    precision: float
    """The share of the texts with this prediction whose true label it is."""
    recall: float
    """The share of the texts with this true label whose prediction it is."""
    f1: float
    """The harmonic mean of precision and recall."""
    texts: int
    """Texts with this true label."""


@dataclass(frozen=True)
class ClassificationMetrics:
    """Metrics of a set of predictions."""

    accuracy: float
    macro_f1: float
    """The mean F1 over the labels that occur, which counts rare labels as much as frequent ones."""
    classes: tuple[ClassMetrics, ...]


def confusion_matrix(true: Labels, predicted: Labels, classes: int) -> ConfusionMatrix:
    """Count the texts by true label (rows) and predicted label (columns)."""
    return np.bincount(true * classes + predicted, minlength=classes * classes).reshape(classes, classes)


def classification_metrics(matrix: ConfusionMatrix) -> ClassificationMetrics:
    """Return the metrics of a confusion matrix; a label occurs if it is a true or a predicted one."""
    scores = tuple(_score(matrix, label) for label in range(len(matrix)))
    occurs = (matrix.sum(axis=0) + matrix.sum(axis=1)) > 0
    macro = float(np.mean([score.f1 for score in scores], where=occurs)) if occurs.any() else 0.0
    return ClassificationMetrics(_ratio(int(matrix.trace()), int(matrix.sum())), macro, scores)


def _score(matrix: ConfusionMatrix, label: int) -> ClassMetrics:
    counts = (matrix[label, label], matrix[:, label].sum(), matrix[label].sum())
    correct, predicted, true = (int(count) for count in counts)
    f1 = _ratio(2 * correct, predicted + true)
    return ClassMetrics(_ratio(correct, predicted), _ratio(correct, true), f1, true)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


ClassScores = Float64[np.ndarray, "texts classes"]

CALIBRATION_BINS = 15
"""Bins of equal width, as in Guo et al. (2017)."""
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.02, 50.0
"""Range in which a temperature is fitted."""
TEMPERATURE_TOLERANCE = 1e-4
"""Relative tolerance of a fitted temperature."""
INVERSE_GOLDEN_RATIO = (math.sqrt(5) - 1) / 2


def class_probabilities(scores: ClassScores, temperature: float = 1.0) -> ClassScores:
    """Return the softmax of the scores divided by the temperature."""
    return np.exp(_log_probabilities(scores, temperature))


def negative_log_likelihood(scores: ClassScores, true: Labels, temperature: float = 1.0) -> float:
    """Return the mean negative log-likelihood of the true labels, in nats."""
    log_likelihood = np.take_along_axis(_log_probabilities(scores, temperature), true[:, None], axis=1)
    return -float(log_likelihood.mean())


def expected_calibration_error(scores: ClassScores, true: Labels, temperature: float = 1.0) -> float:
    """Return the expected calibration error: the mean distance between confidence and accuracy.

    Texts are binned by the probability of their predicted label: of those with 80 % confidence, 80 % should
    be correct.
    """
    probabilities = class_probabilities(scores, temperature)
    confidence, is_correct = probabilities.max(axis=1), probabilities.argmax(axis=1) == true
    bins = np.clip(np.ceil(confidence * CALIBRATION_BINS).astype(np.int64) - 1, 0, CALIBRATION_BINS - 1)
    gaps = np.bincount(bins, weights=confidence - is_correct, minlength=CALIBRATION_BINS)
    return float(np.abs(gaps).sum() / len(true))


def fit_temperature(scores: ClassScores, true: Labels) -> float:
    """Return the temperature that maximizes the likelihood of the true labels (Guo et al., 2017).

    It changes the confidence but no prediction. The likelihood has one maximum over the logarithm of the
    temperature, which golden-section search finds. Where every prediction is correct there is no maximum,
    and a few easy texts would make the model overconfident: the temperature is 1.
    """
    if (scores.argmax(axis=1) == true).all():
        return 1.0

    def cost(log_temperature: float) -> float:
        return negative_log_likelihood(scores, true, math.exp(log_temperature))

    low, high = math.log(MIN_TEMPERATURE), math.log(MAX_TEMPERATURE)
    while high - low > TEMPERATURE_TOLERANCE:
        width = INVERSE_GOLDEN_RATIO * (high - low)
        left, right = high - width, low + width
        low, high = (low, right) if cost(left) <= cost(right) else (left, high)
    return math.exp((low + high) / 2)


def _log_probabilities(scores: ClassScores, temperature: float) -> ClassScores:
    scaled = scores / temperature
    scaled = scaled - scaled.max(axis=1, keepdims=True)
    return scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
