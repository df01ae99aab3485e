"""How good a classifier is on labelled texts: all figures at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.classification.classifier import Classifier
from regard.metrics.classification import (
    Accuracy,
    Confusion,
    accuracy,
    calibration_error,
    confusion,
    negative_log_likelihood,
)


@dataclass(frozen=True, eq=False)
class LabelScores:
    """What came out, over all texts and for each label."""

    labels: tuple[str, ...]
    matrix: Confusion
    found: Accuracy
    loss: float
    """Nats a text, with the temperature."""
    calibration_error: float
    """As the model was trained; a share of 1."""
    calibrated_error: float
    """With the temperature that was fitted on validation."""
    temperature: float

    def as_document(self) -> dict[str, Any]:
        """As JSON has it; shares are of 1."""
        classes = zip(self.labels, self.found.classes, strict=True)
        return {
            "texts": int(self.matrix.sum()),
            "accuracy": self.found.accuracy,
            "macro_f1": self.found.macro_f1,
            "loss": self.loss,
            "calibration_error": self.calibration_error,
            "calibrated_error": self.calibrated_error,
            "temperature": self.temperature,
            "labels": {
                label: {"precision": one.precision, "recall": one.recall, "f1": one.f1, "texts": one.texts}
                for label, one in classes
            },
            "confusion": self.matrix.tolist(),
        }


def score_labels(classifier: Classifier, texts: Sequence[tuple[str, str]]) -> LabelScores:
    """On texts with labels that the model knows."""
    numbers = {label: number for number, label in enumerate(classifier.labels)}
    true = np.array([numbers[label] for _, label in texts], np.int64)
    scores = classifier.scores([text for text, _ in texts])
    matrix = confusion(true, scores.argmax(axis=1), len(numbers))
    temperature = classifier.temperature
    return LabelScores(
        classifier.labels,
        matrix,
        accuracy(matrix),
        negative_log_likelihood(scores, true, temperature),
        calibration_error(scores, true),
        calibration_error(scores, true, temperature),
        temperature,
    )
