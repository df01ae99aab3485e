"""Evaluation of a classifier on labelled texts: accuracy, F1, confusion matrix and calibration."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.classification.label_predictor import LabelPredictor
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
    """The metrics of a classifier on a test set, over all texts and per label."""

    labels: tuple[str, ...]
    confusion_matrix: ConfusionMatrix
    scores: ClassificationMetrics
    loss: float
    """Nats per text, with the temperature."""
    calibration_error: float
    """Expected calibration error without the temperature, from 0 to 1."""
    calibrated_error: float
    """Expected calibration error with the temperature that was fitted on the validation texts."""
    temperature: float

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values; rates are from 0 to 1."""
        classes = zip(self.labels, self.scores.classes, strict=True)
        return {
            "texts": int(self.confusion_matrix.sum()),
            "accuracy": self.scores.accuracy,
            "macro_f1": self.scores.macro_f1,
            "loss": self.loss,
            "calibration_error": self.calibration_error,
            "calibrated_error": self.calibrated_error,
            "temperature": self.temperature,
            "labels": {
                label: {"precision": one.precision, "recall": one.recall, "f1": one.f1, "texts": one.texts}
                for label, one in classes
            },
            "confusion": self.confusion_matrix.tolist(),
        }


def evaluate_classifier(classifier: LabelPredictor, texts: Sequence[tuple[str, str]]) -> ClassificationReport:
    """Classify texts and compare with their labels, which the model must know."""
    class_ids = {label: number for number, label in enumerate(classifier.labels)}
    labels = np.array([class_ids[label] for _, label in texts], np.int64)
    logits = classifier.logits([text for text, _ in texts])
    matrix = confusion_matrix(labels, logits.argmax(axis=1), len(class_ids))
    temperature = classifier.temperature
    return ClassificationReport(
        classifier.labels,
        matrix,
        classification_metrics(matrix),
        negative_log_likelihood(logits, labels, temperature),
        expected_calibration_error(logits, labels),
        expected_calibration_error(logits, labels, temperature),
        temperature,
    )
