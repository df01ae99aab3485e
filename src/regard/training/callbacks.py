"""Callbacks: what a Python caller does at each log line and each validation of a training."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.training.loop import TrainingResult

Record = Mapping[str, Any]
"""A line of metrics.jsonl."""


class Callback:
    """Override the methods that you need; docs/python.md has examples for W&B, MLflow and TensorBoard.

    A method that returns True from `on_log` or `on_validation` stops the training: it is validated, and its
    best model is published, as at its planned end. An exception stops it, too, after a checkpoint is saved;
    the same call then resumes.
    """

    def on_start(self, settings: Mapping[str, object]) -> None:
        """Called before the first step, also of a resume, with all settings: `{"train.steps": 5000, ...}`."""

    def on_log(self, record: Record) -> bool | None:
        """Called every `train.log_every` steps, with the line of metrics.jsonl: step, loss, lr and others."""

    def on_validation(self, record: Record) -> bool | None:
        """Called after each validation and its checkpoint, with its line of metrics.jsonl: step, nll, ..."""

    def on_end(self, result: "TrainingResult") -> None:
        """Called when the training has ended or was interrupted; not after an error."""


def require_callbacks(callbacks: Iterable[object]) -> tuple[Callback, ...]:
    """Return the callbacks; raise an error for what is none."""
    instances = []
    for callback in callbacks:
        if isinstance(callback, type):
            raise ConfigError(f"callbacks has the class {callback.__name__}; give an instance of it")
        if not isinstance(callback, Callback):
            raise ConfigError(f"callbacks has a {type(callback).__name__}; it must be a regard.Callback")
        instances.append(callback)
    return tuple(instances)


def asks_to_stop(answer: object) -> bool:
    """Return whether a callback returned True, also as numpy has it."""
    return isinstance(answer, bool | np.bool_) and bool(answer)
