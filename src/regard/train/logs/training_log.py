"""What is said of a training and what stays of it: each event once to the screen, once to metrics.jsonl."""

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from rich.console import Console

from regard.train.logs.console import (
    SPARKLINE_WIDTH,
    TrainingConsole,
    format_elapsed,
    format_thousands,
    format_three_digits,
)
from regard.train.logs.metrics_file import MetricsWriter
from regard.train.logs.tensorboard import TensorBoardWriter
from regard.train.run_folder import TENSORBOARD_FOLDER
from regard.train.task import FileLines, ValidationResult

RECENT_INTERVALS = 20
"""Stretches that the speed is taken from."""
RECORDED_NAMES = {"perplexity": "ppl", "bleu_signature": "signature"}
SCREEN_DIGITS = {"loss": 3, "mse": 4, "mae": 4}
"""Behind the point of a figure on the screen; others have two."""
Number = int | float


@dataclass(frozen=True)
class LogInterval:
    """Some steps, up to `step`, as one line of metrics.jsonl."""

    step: int
    epoch: Number
    loss: Number
    """The mean over the target tokens of the stretch, in nats, as it was trained on: smoothed."""
    learning_rate: Number
    grad_norm: Number | None
    """The gradient's length before clipping."""
    source_tokens: int
    target_tokens: int
    pad_fraction: Number
    """The share of what was computed that was padding, 0 to 1."""
    seconds: Number
    """How long the steps took; validations are not in it."""
    skipped_steps: int = 0
    """Steps that moved nothing, because something in them was not finite."""
    memory_mb: Number | None = None
    """The most that was in use so far, on the device that computes."""
    nll: Number | None = None
    """The loss without label smoothing, where the step has it."""


class TrainingLog:
    """Writes `metrics.jsonl` and keeps the screen up to date.

    `after` is the step that the training resumes from, and `seconds` the time spent before it. `unit` is
    what the speed is counted in; `perplexity` is for losses that it says something of.
    """

    def __init__(
        self,
        path: Path,
        console: Console,
        steps: int,
        resumed_step: int = 0,
        seconds_before: float = 0.0,
        *,
        minutes: float | None = None,
        tensorboard: bool = False,
        speed_unit: str = "tok",
        has_perplexity: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._started = clock()
        self._seconds_before = seconds_before
        self._steps, self._minutes = steps, minutes
        self._unit, self._perplexity = speed_unit, has_perplexity
        self._after = self._step = resumed_step
        self._paused, self._last = 0.0, math.inf
        self._recent: deque[tuple[int, LogInterval]] = deque(maxlen=RECENT_INTERVALS)
        self._losses: deque[float] = deque(maxlen=SPARKLINE_WIDTH)
        self._screen = TrainingConsole(console, clock)
        self._board = (
            TensorBoardWriter(path.with_name(TENSORBOARD_FOLDER), self.log_message, resumed_step)
            if tensorboard
            else None
        )
        self._record = MetricsWriter(path, self.log_message, resumed_step)

    def __enter__(self) -> "TrainingLog":
        self._screen.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._screen.stop()
        self._record.close()
        if self._board:
            self._board.close()

    @property
    def elapsed_seconds(self) -> float:
        """How long the training has taken, what came before it was resumed included."""
        return self._seconds_before + self._clock() - self._started

    @property
    def step(self) -> int:
        """The last step that was logged."""
        return self._step

    def log_run_metadata(self, facts: Mapping[str, object]) -> None:
        """What the curves are to be compared with: the plan, and whatever else stays the same."""
        self._record.write_once({"kind": "run", **facts})

    def log_message(self, text: str) -> None:
        """A line that stays on the screen."""
        self._screen.print_message(text)

    def log_skipped_step(self, step: int, lines: Sequence[FileLines]) -> None:
        """A step that moved nothing: some of its lines on the screen, all of them in metrics.jsonl."""
        where = "; ".join(map(str, lines))
        self.log_message(f"step {step:,} skipped: the loss or its gradient is not finite ({where})")
        for each in lines:
            self._write({"kind": "skip", "step": step, "files": each.files, "lines": each.numbers})

    def log_interval(self, stretch: LogInterval) -> None:
        """After some steps: how they went."""
        now = self._clock()
        self._paused += max(0.0, now - self._last - stretch.seconds)
        self._last = now
        self._recent.append((stretch.step - self._step, stretch))
        self._losses.append(stretch.loss)
        self._step = stretch.step
        self._screen.update_status(self._status_parts(stretch), list(self._losses))
        self._write(
            {
                "kind": "train",
                "step": stretch.step,
                "epoch": stretch.epoch,
                "time_s": round(self.elapsed_seconds, 2),
                "loss": stretch.loss,
                "nll": stretch.nll,
                "ppl": _perplexity(stretch) if self._perplexity else None,
                "lr": stretch.learning_rate,
                "grad_norm": stretch.grad_norm,
                "source_tokens": stretch.source_tokens,
                "target_tokens": stretch.target_tokens,
                "tokens_per_s": round(_tokens_per_second(stretch), 1),
                "pad_fraction": stretch.pad_fraction,
                "memory_mb": stretch.memory_mb,
                "skipped": stretch.skipped_steps,
            }
        )

    def log_validation(self, step: int, validation: ValidationResult, best: bool = False) -> None:
        """A row that stays on the screen, and the first sample under it."""
        metrics = validation.metrics
        figures = {name: f"{value:,.{SCREEN_DIGITS.get(name, 2)}f}" for name, value in metrics.items()}
        self._screen.print_validation(
            {"step": f"{step:,}", "time": format_elapsed(self.elapsed_seconds), **figures}, best
        )
        for sample in validation.samples[:1]:
            self._screen.print_sample(sample, validation.sample_titles)
        samples = [asdict(sample) for sample in validation.samples]
        self._write(
            {"kind": "valid", **self._validation_record(step, validation), "best": best, "samples": samples}
        )

    def log_averaged_checkpoints(
        self, step: int, count: int, judge: str, validation: ValidationResult
    ) -> None:
        """How good the mean of the last checkpoints is: a line on the screen, and a mark in the curves."""
        self.log_message(f"mean of the last {count} checkpoints: {judge} {validation.metrics[judge]:.4f}")
        self._write({"kind": "mean", **self._validation_record(step, validation), "checkpoints": count})

    def _validation_record(self, step: int, validation: ValidationResult) -> dict[str, object]:
        facts = {**validation.metrics, **validation.details, **validation.chart_data}
        named = {RECORDED_NAMES.get(name, name): value for name, value in facts.items()}
        return {
            "step": step,
            "time_s": round(self.elapsed_seconds, 2),
            "nll": validation.metrics["loss"],
            **named,
        }

    def _status_parts(self, stretch: LogInterval) -> dict[str, str]:
        seconds = sum(stretch.seconds for _, stretch in self._recent)
        tokens = sum(stretch.source_tokens + stretch.target_tokens for _, stretch in self._recent)
        ppl = {"ppl": f"ppl {format_three_digits(_perplexity(stretch))}"} if self._perplexity else {}
        return {
            "step": f"step {stretch.step:,}/{self._steps:,}",
            "loss": f"loss {format_three_digits(stretch.loss)}",
            **ppl,
            "lr": f"lr {stretch.learning_rate:.1e}".replace("e-0", "e-"),
            "speed": f"{format_thousands(tokens / max(seconds, 1e-9))} {self._unit}/s",
            "pad": f"pad {stretch.pad_fraction:.0%}",
            "eta": f"ETA {format_elapsed(self._remaining_seconds())}",
        }

    def _remaining_seconds(self) -> float:
        """Seconds to go: at the speed of late, and with as much time between stretches as so far.

        That time is spent on validations, which are too seldom to be in every recent stretch.
        """
        steps = max(1, sum(steps for steps, _ in self._recent))
        recent = sum(stretch.seconds for _, stretch in self._recent) / steps
        pauses = self._paused / max(1, self._step - self._after)
        left = max(0, self._steps - self._step) * (recent + pauses)
        return (
            left if self._minutes is None else max(0.0, min(left, self._minutes * 60 - self.elapsed_seconds))
        )

    def _write(self, facts: Mapping[str, object]) -> None:
        self._record.write(facts)
        if self._board:
            self._board.write(facts)


def _tokens_per_second(stretch: LogInterval) -> float:
    """Tokens of both sides a second, padding not counted."""
    return (stretch.source_tokens + stretch.target_tokens) / max(stretch.seconds, 1e-9)


def _perplexity(stretch: LogInterval) -> float:
    loss = stretch.loss if stretch.nll is None else stretch.nll
    return float(f"{math.exp(min(loss, 50)):.6g}") if math.isfinite(loss) else math.nan
