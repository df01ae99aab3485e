"""How often a classifier is right, for all labels and for each: accuracy, precision, recall, F1."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

Labels = Int64[np.ndarray, " texts"]
Confusion = Int64[np.ndarray, "classes classes"]


@dataclass(frozen=True)
class ClassScore:
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
class Accuracy:
    """The figures of one set of predictions."""

    accuracy: float
    macro_f1: float
    """The mean over labels that occur, however rare: accuracy is what the frequent ones make it."""
    classes: tuple[ClassScore, ...]


def confusion(true: Labels, predicted: Labels, classes: int) -> Confusion:
    """How many texts of each label (rows) were given each label (columns)."""
    return np.bincount(true * classes + predicted, minlength=classes * classes).reshape(classes, classes)


def accuracy(matrix: Confusion) -> Accuracy:
    """All figures that follow from a confusion matrix; a label occurs if a text has it or was given it."""
    scores = tuple(_score(matrix, label) for label in range(len(matrix)))
    occurs = (matrix.sum(axis=0) + matrix.sum(axis=1)) > 0
    macro = float(np.mean([score.f1 for score in scores], where=occurs)) if occurs.any() else 0.0
    return Accuracy(_share(int(matrix.trace()), int(matrix.sum())), macro, scores)


def _score(matrix: Confusion, label: int) -> ClassScore:
    right, given, have = (int(n) for n in (matrix[label, label], matrix[:, label].sum(), matrix[label].sum()))
    return ClassScore(_share(right, given), _share(right, have), _share(2 * right, given + have), have)


def _share(part: int, of: int) -> float:
    return part / of if of else 0.0
