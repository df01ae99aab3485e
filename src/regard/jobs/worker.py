"""What a file job asks of whoever answers its lines; the task implements it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from regard.jobs.line_batches import Window
from regard.jobs.line_report import Trouble


class Answered(NamedTuple):
    """A window's answer."""

    number: int
    lines: int
    tokens: int
    """Pieces that were written."""
    troubles: list[Trouble]
    text: str
    """The lines themselves."""
    position: int


@runtime_checkable
class Worker(Protocol):
    """Can be sent to another process."""

    def load(self) -> Any:
        """The model, ready."""
        ...

    def answer(
        self, translator: Any, window: Window, on_done: Callable[[int], None] | None = None
    ) -> Answered:
        """As many answers as lines, whatever is in them."""
        ...

    def models(self) -> list[Path]:
        """Every model folder that decides what is written."""
        ...

    def options(self) -> dict[str, str]:
        """By name, all else that decides it."""
        ...
