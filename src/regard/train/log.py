"""What a person sees of a training, and what stays of it: one live line, one JSON line per event."""

import json
import math
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

PLAIN_EVERY = 20.0
"""Seconds between plain lines where there is no terminal to keep a live one on."""


class Log:
    """Writes `metrics.jsonl` and keeps the screen up to date."""

    def __init__(self, path: Path, console: Console, steps: int) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._console = console
        self._steps = steps
        self._started = self._spoken = time.monotonic()
        self._progress = Progress(
            TextColumn("  step {task.completed:,.0f}/{task.total:,.0f}"),
            BarColumn(bar_width=20),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._line = self._progress.add_task("", total=steps)

    def __enter__(self) -> "Log":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
        self._file.close()

    @property
    def seconds(self) -> float:
        """Since the log was opened."""
        return time.monotonic() - self._started

    def stepped(self, step: int, loss: float, rate: float, tokens_per_second: float) -> None:
        """After some steps: the mean loss over them, and how fast they went."""
        said = f"loss {loss:.3f}  rate {rate:.1e}  {tokens_per_second:,.0f} tokens/s"
        self._progress.update(self._line, completed=step, description=said)
        if not self._console.is_terminal and time.monotonic() - self._spoken >= PLAIN_EVERY:
            self._spoken = time.monotonic()
            self._print(f"  step {step:,}/{self._steps:,}  {said}")
        self._write("step", step=step, loss=loss, rate=rate, tokens_per_second=round(tokens_per_second, 1))

    def validated(
        self, step: int, metrics: Mapping[str, float], details: Mapping[str, str], sample: str
    ) -> None:
        """A row that stays on the screen."""
        figures = "  ".join(f"{name} {value:.2f}" for name, value in metrics.items())
        self._print(f"  step {step:>6,}  {_clock(self.seconds)}  {figures}")
        if sample:
            self._print(f"               {sample}", style="dim")
        self._write("validation", step=step, **metrics, **details)

    def _print(self, text: str, style: str | None = None) -> None:
        """Goes quiet where nobody can hear any more: a dead pipe must not end a training."""
        try:
            self._console.print(text, style=style)
        except (OSError, SystemExit):  # the second is how rich says that the pipe is broken
            self._console = Console(quiet=True)

    def _write(self, event: str, **facts: object) -> None:
        line = {"event": event, "seconds": round(self.seconds, 2)}
        line |= {key: value if _is_json(value) else None for key, value in facts.items()}
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._file.flush()


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _is_json(value: object) -> bool:
    """Whether JSON has a word for it, as it has not for NaN and infinity."""
    return not isinstance(value, float) or math.isfinite(value)
