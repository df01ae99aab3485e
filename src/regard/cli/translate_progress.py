"""How far a translation is: a bar on a terminal, a line now and then elsewhere."""

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

FIRST_REPORT_SECONDS, REPORT_INTERVAL_SECONDS = 10.0, 30.0
"""Seconds until the first line, and between the others: what is done sooner says nothing."""


class TranslationProgress:
    """Counts what is done, and says how fast and how long still.

    `total` is the size of the input in bytes, None where that is not known; `shown` is false where
    a bar would lie among the answers.
    """

    def __init__(self, total: int | None, shown: bool) -> None:
        self._console = console = Console(stderr=True)
        self._total = total
        self._began = self._said = time.monotonic()
        self._lines = self._tokens = self._batched_lines = self._position = self._resumed_position = 0
        self._bar = Progress(
            TextColumn("  translating"),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not (shown and console.is_terminal),
        )
        self._task = self._bar.add_task("", total=total, speed="")
        self._plain = shown and not console.is_terminal

    def __enter__(self) -> "TranslationProgress":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def resume_at(self, position: int) -> None:
        """So much was done before; it counts for how far, not for how fast."""
        self._resumed_position = self._position = position
        self._show()

    def add_lines(self, count: int) -> None:
        """Lines that are done in a window that is not."""
        self._lines += count
        self._show()

    def add_batch(self, lines: int, tokens: int, position: int) -> None:
        """A window that is done."""
        self._batched_lines += lines
        self._lines = self._batched_lines
        self._tokens += tokens
        self._position = max(self._position, position)
        self._show()

    def _show(self) -> None:
        now = time.monotonic()
        speed = self._speed(now - self._began)
        self._bar.update(self._task, completed=self._position, speed=speed)
        if self._plain and now - self._said > (
            FIRST_REPORT_SECONDS if self._said == self._began else REPORT_INTERVAL_SECONDS
        ):
            self._said = now
            self._console.print(
                f"  {self._lines:,} lines, {speed}{self._remaining_time(now)}", highlight=False
            )

    def _speed(self, seconds: float) -> str:
        seconds = max(seconds, 1e-9)
        tokens = f", {self._tokens / seconds:,.0f} tokens/s" if self._tokens else ""  # counted by window
        return f"{self._lines / seconds:,.1f} sentences/s{tokens}"

    def _remaining_time(self, now: float) -> str:
        done = self._position - self._resumed_position
        if self._total is None or not done:
            return ""
        seconds = round((now - self._began) * (self._total - self._position) / done)
        return f", {seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02} left"
