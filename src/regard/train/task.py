"""Lines of files, for a person who must find the one that spoils a step."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from torch import Tensor, nn

MAX_SHOWN_LINES = 20


@dataclass(frozen=True)
class FileLines:
    """Lines of files that belong together: a source and its target, or one file of both."""

    files: tuple[str, ...]
    numbers: tuple[int, ...]
    """Counted from 1, each once and in order."""

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.numbers[:MAX_SHOWN_LINES]))
        more = (
            f" and {len(self.numbers) - MAX_SHOWN_LINES:,} more"
            if len(self.numbers) > MAX_SHOWN_LINES
            else ""
        )
        return f"{' and '.join(self.files)} line{'s' if len(self.numbers) > 1 else ''} {shown}{more}"


def merge_file_lines(some: Iterable[FileLines]) -> list[FileLines]:
    """All of them, each file named once."""
    numbers: dict[tuple[str, ...], set[int]] = {}
    for each in some:
        numbers.setdefault(each.files, set()).update(each.numbers)
    return [FileLines(files, tuple(sorted(found))) for files, found in numbers.items()]


@dataclass(frozen=True)
class ValidationSample:
    """One sentence that is watched through the whole training."""

    source: str
    reference: str
    hypothesis: str


@dataclass(frozen=True)
class ValidationResult:
    """How good the model is now: `metrics` has at least `loss`."""

    metrics: Mapping[str, float]
    details: Mapping[str, str] = field(default_factory=dict)
    """What the metrics need beside them to be compared with others."""
    samples: Sequence[ValidationSample] = ()
    """For a person to read; the same sentences each time."""
    sample_titles: tuple[str, str, str] = ("source", "reference", "hypothesis")
    """What their three texts are called."""
    chart_data: Mapping[str, object] = field(default_factory=dict)
    """What is drawn beside the metrics, as JSON has it; it stays in metrics.jsonl alone."""


BatchT = TypeVar("BatchT")
DataPosition = Mapping[str, int]
"""A place in the data, in the task's own words; empty is the beginning."""


@dataclass(frozen=True)
class BatchCounts:
    """What a batch holds, known without asking the device."""

    source_tokens: int
    target_tokens: int
    """What the loss is divided by."""
    padding: int = 0


@runtime_checkable
class Trainable(Protocol[BatchT]):
    """A model, data without end, and a way to say how good it is."""

    @property
    def model(self) -> nn.Module: ...

    def batches(self, start: DataPosition) -> Iterator[tuple[BatchT, DataPosition]]:
        """From `start` on and without end: each batch, and where the one after it begins."""
        ...

    def batch_counts(self, batch: BatchT) -> BatchCounts: ...

    def loss(self, batch: BatchT) -> Tensor:
        """The sum over what counts, left on the device."""
        ...

    def locate_lines(self, batch: BatchT) -> Sequence[FileLines]:
        """The lines that it comes from."""
        ...

    def fingerprint(self) -> Mapping[str, str]:
        """The SHA-256 of each file of the data: one that changes makes it another training."""
        ...

    def validate(self) -> ValidationResult: ...

    def save(self, folder: Path) -> dict[str, Any]:
        """Writes the model as it is now, its weights as `WEIGHTS`; says what the manifest should."""
        ...
