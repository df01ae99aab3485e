"""What a file job asks of whoever answers its lines; the task implements it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from regard.jobs.line_batches import LineBatch
from regard.jobs.line_report import LineIssue


class BatchResult(NamedTuple):
    """A window's answer."""

    number: int
    lines: int
    tokens: int
    """Pieces that were written."""
    issues: list[LineIssue]
    text: str
    """The lines themselves."""
    byte_offset: int


@runtime_checkable
class Worker(Protocol):
    """Can be sent to another process."""

    def load(self) -> Any:
        """The model, ready."""
        ...

    def process_batch(
        self, translator: Any, batch: LineBatch, on_done: Callable[[int], None] | None = None
    ) -> BatchResult:
        """As many answers as lines, whatever is in them."""
        ...

    def models(self) -> list[Path]:
        """Every model folder that decides what is written."""
        ...

    def output_settings(self) -> dict[str, str]:
        """By name, all else that decides it."""
        ...
