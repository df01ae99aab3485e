"""How good a classifier is on labelled texts: all figures at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.classification.classifier import Classifier
from regard.metrics.classification import (
    ClassificationMetrics,
    ConfusionMatrix,
    classification_metrics,
    confusion_matrix,
    expected_calibration_error,
    negative_log_likelihood,
)


@dataclass(frozen=True, eq=False)
class ClassificationReport:
    """What came out, over all texts and for each label."""

    labels: tuple[str, ...]
    confusion_matrix: ConfusionMatrix
    accuracy: ClassificationMetrics
    loss: float
    """Nats a text, with the temperature."""
    calibration_error: float
    """As the model was trained; a share of 1."""
    calibrated_calibration_error: float
    """With the temperature that was fitted on validation."""
    temperature: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it; shares are of 1."""
        classes = zip(self.labels, self.accuracy.classes, strict=True)
        return {
            "texts": int(self.confusion_matrix.sum()),
            "accuracy": self.accuracy.accuracy,
            "macro_f1": self.accuracy.macro_f1,
            "loss": self.loss,
            "calibration_error": self.calibration_error,
            "calibrated_error": self.calibrated_calibration_error,
            "temperature": self.temperature,
            "labels": {
                label: {"precision": one.precision, "recall": one.recall, "f1": one.f1, "texts": one.texts}
                for label, one in classes
            },
            "confusion": self.confusion_matrix.tolist(),
        }


def evaluate_classifier(classifier: Classifier, texts: Sequence[tuple[str, str]]) -> ClassificationReport:
    """On texts with labels that the model knows."""
    numbers = {label: number for number, label in enumerate(classifier.labels)}
    true = np.array([numbers[label] for _, label in texts], np.int64)
    scores = classifier.logits([text for text, _ in texts])
    matrix = confusion_matrix(true, scores.argmax(axis=1), len(numbers))
    temperature = classifier.temperature
    return ClassificationReport(
        classifier.labels,
        matrix,
        classification_metrics(matrix),
        negative_log_likelihood(scores, true, temperature),
        expected_calibration_error(scores, true),
        expected_calibration_error(scores, true, temperature),
        temperature,
    )
