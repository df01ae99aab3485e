"""Worker protocol of file and stream jobs: the task that processes batches of lines implements it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from regard.jobs.line_batches import LineBatch
from regard.jobs.line_report import LineIssue


class BatchResult(NamedTuple):
    """The output of one batch of lines."""

    number: int
    """Of the batch, from 0."""
    lines: int
    tokens: int
    """Tokens of the output."""
    issues: list[LineIssue]
    text: str
    """The output lines."""
    byte_offset: int
    """How much of the input has been read, in bytes on disk."""


@runtime_checkable
class Worker(Protocol):
    """Processes batches of lines; can be pickled and sent to another process."""

    def load(self) -> Any:
        """Return the loaded model, which `process_batch` gets."""
        ...

    def process_batch(
        self, model: Any, batch: LineBatch, on_done: Callable[[int], None] | None = None
    ) -> BatchResult:
        """Return one result line or more for every input line, also for lines that cannot be processed."""
        ...

    def job_facts(self) -> dict[str, Any]:
        """Return everything besides the input that the output depends on, by name, as JSON values."""
        ...


@dataclass
class KeepLoaded:
    """A worker that loads its model once, for several jobs in this process."""

    worker: Worker
    _model: Any = field(default=None, repr=False)

    def load(self) -> Any:
        self._model = self.worker.load() if self._model is None else self._model
        return self._model

    def process_batch(
        self, model: Any, batch: LineBatch, on_done: Callable[[int], None] | None = None
    ) -> BatchResult:
        return self.worker.process_batch(model, batch, on_done)

    def job_facts(self) -> dict[str, Any]:
        return self.worker.job_facts()
