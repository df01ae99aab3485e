"""What a person sees of a training, and what stays of it: one live line, one JSON line per event."""

import json
import math
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from regard.checkpoint import write_file
from regard.train.validation import Validation

PLAIN_EVERY = 20.0
"""Seconds between plain lines where there is no terminal to keep a live one on."""


@dataclass(frozen=True)
class Stretch:
    """Some steps, up to `step`; what was skipped counts in neither the loss nor the norm."""

    step: int
    epoch: int
    loss: float
    """Mean over the target tokens."""
    rate: float
    norm: float
    source_tokens: int
    target_tokens: int
    padding: float
    """Its share of all places in the batches."""
    seconds: float
    skipped: int
    memory_mb: float


class Log:
    """Writes `metrics.jsonl` and keeps the screen up to date.

    `after` is the step that a training goes on from: what was recorded later happens again and is
    dropped. `seconds` is what it has taken so far.
    """

    def __init__(
        self, path: Path, console: Console, steps: int, after: int = 0, seconds: float = 0.0
    ) -> None:
        _keep(path, after)
        self._file = path.open("a", encoding="utf-8")
        self._console = console
        self._steps = steps
        self._spoken = time.monotonic()
        self._started = self._spoken - seconds
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
        with suppress(OSError):
            self._file.close()

    @property
    def seconds(self) -> float:
        """Spent on this training, before a resume too."""
        return time.monotonic() - self._started

    def stepped(self, stretch: Stretch) -> None:
        """After some steps."""
        speed = stretch.target_tokens / max(stretch.seconds, 1e-9)
        said = f"loss {stretch.loss:.3f}  rate {stretch.rate:.1e}  {speed:,.0f} tokens/s"
        self._progress.update(self._line, completed=stretch.step, description=said)
        if not self._console.is_terminal and time.monotonic() - self._spoken >= PLAIN_EVERY:
            self._spoken = time.monotonic()
            self._print(f"  step {stretch.step:,}/{self._steps:,}  {said}")
        self._write(
            "train",
            step=stretch.step,
            epoch=stretch.epoch,
            loss=stretch.loss,
            lr=stretch.rate,
            grad_norm=stretch.norm,
            source_tokens=stretch.source_tokens,
            target_tokens=stretch.target_tokens,
            tokens_per_s=round(speed, 1),
            pad_fraction=round(stretch.padding, 4),
            skipped=stretch.skipped,
            memory_mb=round(stretch.memory_mb, 1),
        )

    def validated(self, step: int, validation: Validation) -> None:
        """A row that stays on the screen."""
        figures = "  ".join(f"{name} {value:.2f}" for name, value in validation.metrics.items())
        self._print(f"  step {step:>6,}  {_clock(self.seconds)}  {figures}")
        for sample in validation.samples[:1]:
            self._print(f"               {_clip(sample.source)} -> {_clip(sample.hypothesis)}", style="dim")
        self._write("valid", step=step, **validation.metrics, **validation.details)

    def said(self, text: str) -> None:
        """A line that stays."""
        self._print(f"  {text}")

    def _print(self, text: str, style: str | None = None) -> None:
        """Goes quiet where nobody can hear any more: a dead pipe must not end a training."""
        try:
            self._console.print(text, style=style)
        except (OSError, SystemExit):  # the second is how rich says that the pipe is broken
            self._console = Console(quiet=True)

    def _write(self, kind: str, **facts: object) -> None:
        line = {"kind": kind, "time_s": round(self.seconds, 2)}
        line |= {key: value if _is_json(value) else None for key, value in facts.items()}
        with suppress(OSError):  # a full disk must not end a training
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._file.flush()


def _keep(path: Path, after: int) -> None:
    """Leaves the whole lines up to a step, in a file that is replaced at once."""
    if not path.exists():
        return
    lines = [
        line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")
    ]
    kept = [line for line in lines if json.loads(line)["step"] <= after]
    write_file(path, "".join(kept))


def _clip(text: str, length: int = 45) -> str:
    """Its beginning: a young model repeats itself without end."""
    return text if len(text) <= length else text[: length - 1] + "…"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _is_json(value: object) -> bool:
    """Whether JSON has a word for it, as it has not for NaN and infinity."""
    return not isinstance(value, float) or math.isfinite(value)
