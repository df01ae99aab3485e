"""A running translation: batches through the engine or the worker pool, with progress and report."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import BinaryIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from regard.cli.output import write_line_report
from regard.jobs.line_batches import LineBatch, LineBatchLimits
from regard.jobs.line_report import JobReport, LineIssue
from regard.jobs.worker import BatchResult, Worker
from regard.jobs.worker_pool import run_in_worker_pool, run_sequentially

FIRST_REPORT_SECONDS, REPORT_INTERVAL_SECONDS = 10.0, 30.0
"""Time until the first progress line and between lines; a shorter translation prints none."""


class TranslationProgress:
    """Progress with speed and remaining time: a bar on a terminal, a line now and then elsewhere.

    `total` is the size of the input in bytes, None if it is unknown; `shown` is false if a bar would mix
    with the translations.
    """

    def __init__(self, total: int | None, shown: bool) -> None:
        self._console = console = Console(stderr=True)
        self._total = total
        self._start = self._last_line = time.monotonic()
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
        """Start from a position of an earlier run; it counts as progress but not for the speed."""
        self._resumed_position = self._position = position
        self._show()

    def add_lines(self, count: int) -> None:
        """Count lines of an unfinished batch."""
        self._lines += count
        self._show()

    def add_batch(self, lines: int, tokens: int, position: int) -> None:
        """Count a finished batch; its lines replace those counted by `add_lines`."""
        self._batched_lines += lines
        self._lines = self._batched_lines
        self._tokens += tokens
        self._position = max(self._position, position)
        self._show()

    def _show(self) -> None:
        now = time.monotonic()
        speed = self._speed(now - self._start)
        self._bar.update(self._task, completed=self._position, speed=speed)
        if self._plain and now - self._last_line > (
            FIRST_REPORT_SECONDS if self._last_line == self._start else REPORT_INTERVAL_SECONDS
        ):
            self._last_line = now
            self._console.print(
                f"  {self._lines:,} lines, {speed}{self._remaining_time(now)}", highlight=False
            )

    def _speed(self, seconds: float) -> str:
        seconds = max(seconds, 1e-9)
        tokens = f", {self._tokens / seconds:,.0f} tokens/s" if self._tokens else ""  # counted per batch
        return f"{self._lines / seconds:,.1f} sentences/s{tokens}"

    def _remaining_time(self, now: float) -> str:
        done = self._position - self._resumed_position
        if self._total is None or not done:
            return ""
        seconds = round((now - self._start) * (self._total - self._position) / done)
        return f", {seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02} left"


@dataclass(frozen=True)
class TranslateSession:
    """The worker of a command with its batch limits, processes, progress and report."""

    worker: Worker
    limits: LineBatchLimits
    workers: int
    progress: TranslationProgress
    report: JobReport

    def translate_batches(self, batches: Iterator[LineBatch]) -> Iterator[BatchResult]:
        """Translate batches in order, in this process or in a pool of workers."""
        if self.workers > 1:
            return run_in_worker_pool(self.worker, batches, self.workers)
        return run_sequentially(self.worker, batches, on_done=self.progress.add_lines)

    def record(self, result: BatchResult, issues: Sequence[LineIssue], report_file: BinaryIO | None) -> None:
        """Add a result to the report and the progress."""
        self.report.add(result.lines, issues)
        self.progress.add_batch(result.lines, result.tokens, result.byte_offset)
        if report_file is not None:
            write_line_report(issues, report_file)
