"""Trainable: all that the training loop asks of a task."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from torch import Tensor, nn

from regard.train.lines import Lines
from regard.train.validation import Validation

Batch = TypeVar("Batch")
Position = Mapping[str, int]
"""A place in the data, in the task's own words; empty is the beginning."""


@dataclass(frozen=True)
class Counts:
    """What a batch holds, known without asking the device."""

    source_tokens: int
    target_tokens: int
    """What the loss is divided by."""
    padding: int = 0


@runtime_checkable
class Trainable(Protocol[Batch]):
    """A model, data without end, and a way to say how good it is."""

    @property
    def model(self) -> nn.Module: ...

    def batches(self, start: Position) -> Iterator[tuple[Batch, Position]]:
        """From `start` on and without end: each batch, and where the one after it begins."""
        ...

    def counts(self, batch: Batch) -> Counts: ...

    def loss(self, batch: Batch) -> Tensor:
        """The sum over what counts, left on the device."""
        ...

    def where(self, batch: Batch) -> Sequence[Lines]:
        """The lines that it comes from."""
        ...

    def fingerprint(self) -> Mapping[str, str]:
        """The SHA-256 of each file of the data: one that changes makes it another training."""
        ...

    def validate(self) -> Validation: ...

    def save(self, folder: Path) -> dict[str, Any]:
        """Writes the model as it is now, its weights as `WEIGHTS`; says what the manifest should."""
        ...
