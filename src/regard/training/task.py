"""Task protocol of the training loop: batches, loss, validation, and the data lines of a batch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from torch import Tensor, nn

from regard.text.corpus_files import FileLines


@dataclass(frozen=True)
class ValidationSample:
    """A validation example that is shown at each validation."""

    source: str
    reference: str
    hypothesis: str


@dataclass(frozen=True)
class ValidationResult:
    """Metrics of a validation, at least `loss`, and examples."""

    metrics: Mapping[str, float]
    details: Mapping[str, str] = field(default_factory=dict)
    """Signatures that a comparison of the metrics needs."""
    samples: Sequence[ValidationSample] = ()
    """The same examples at each validation."""
    sample_titles: tuple[str, str, str] = ("source", "reference", "hypothesis")
    """Titles of the three texts of a sample."""
    chart_data: Mapping[str, object] = field(default_factory=dict)
    """Further data for charts, as JSON; it is stored in metrics.jsonl alone."""


BatchT = TypeVar("BatchT")
DataPosition = Mapping[str, int]
"""A position in the training data, with keys of the task; an empty one is the start."""


@dataclass(frozen=True)
class BatchCounts:
    """Token counts of a batch, known without synchronizing with the device."""

    source_tokens: int
    target_tokens: int
    """The number the summed loss is divided by."""
    padding: int = 0


@runtime_checkable
class Trainable(Protocol[BatchT]):
    """A model with an endless stream of batches, a loss and a validation."""

    @property
    def model(self) -> nn.Module: ...

    def batches(self, start: DataPosition) -> Iterator[tuple[BatchT, DataPosition]]:
        """Yield batches from `start` without end, each with the position of the next."""
        ...

    def batch_counts(self, batch: BatchT) -> BatchCounts: ...

    def loss(self, batch: BatchT) -> Tensor:
        """Return the summed loss, on the device."""
        ...

    def locate_lines(self, batch: BatchT) -> Sequence[FileLines]:
        """Return the lines of the data files that the batch comes from."""
        ...

    def fingerprint(self) -> Mapping[str, str]:
        """Return the SHA-256 of each data file; a resume requires that none has changed."""
        ...

    def validate(self) -> ValidationResult: ...

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the files of the current model; return the metadata for the manifest."""
        ...
