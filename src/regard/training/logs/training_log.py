"""Training log: each event goes to the console, to metrics.jsonl and, if wanted, to TensorBoard."""

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType

from rich.console import Console

from regard.text.corpus_files import FileLines
from regard.training.logs.console import (
    SPARKLINE_WIDTH,
    TrainingConsole,
    format_elapsed,
    format_thousands,
    format_three_digits,
)
from regard.training.logs.metrics_file import MetricsRow, MetricsWriter
from regard.training.logs.step_stats import LogInterval
from regard.training.logs.tensorboard import TensorBoardWriter
from regard.training.run_folder import TENSORBOARD_FOLDER
from regard.training.task import ValidationResult

RECENT_INTERVALS = 20
"""Log intervals that speed and ETA are averaged over."""
RECORDED_NAMES = {"perplexity": "ppl", "bleu_signature": "signature"}
"""Keys in metrics.jsonl of metrics that have another name in the code."""
SCREEN_DIGITS = {"loss": 3, "mse": 4, "mae": 4}
"""Digits after the decimal point of a metric on the console; other metrics have two."""


class TrainingLog:
    """Writes metrics.jsonl and updates the console.

    `resumed_step` is the step that the training resumes from, `seconds_before` the time spent before it.
    `speed_unit` is the unit of the speed per second; `has_perplexity` says whether the loss is per token.
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
        self._resumed_step = self._step = resumed_step
        self._paused_seconds, self._last_time = 0.0, math.inf
        self._recent: deque[tuple[int, LogInterval]] = deque(maxlen=RECENT_INTERVALS)
        self._losses: deque[float] = deque(maxlen=SPARKLINE_WIDTH)
        self._console = TrainingConsole(console, clock)
        self._tensorboard = (
            TensorBoardWriter(path.with_name(TENSORBOARD_FOLDER), self.log_message, resumed_step)
            if tensorboard
            else None
        )
        self._metrics = MetricsWriter(path, self.log_message, resumed_step)

    def __enter__(self) -> "TrainingLog":
        self._console.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._console.stop()
        self._metrics.close()
        if self._tensorboard:
            self._tensorboard.close()

    @property
    def elapsed_seconds(self) -> float:
        """Training time, including the time before a resume."""
        return self._seconds_before + self._clock() - self._started

    @property
    def step(self) -> int:
        """The last logged step."""
        return self._step

    def log_run_metadata(self, metadata: Mapping[str, object]) -> None:
        """Record constants of the run, such as the planned learning rate; once per run."""
        self._metrics.write_once({"kind": "run", **metadata})

    def log_message(self, text: str) -> None:
        """Print a line."""
        self._console.print_message(text)

    def log_skipped_step(self, step: int, lines: Sequence[FileLines]) -> None:
        """Print some of the data lines of a skipped step, and record all of them."""
        locations = "; ".join(map(str, lines))
        self.log_message(f"step {step:,} skipped: the loss or its gradient is not finite ({locations})")
        for part in lines:
            self._write({"kind": "skip", "step": step, "files": part.files, "lines": part.numbers})

    def log_interval(self, interval: LogInterval) -> MetricsRow:
        """Update the status line and record the statistics of some steps; return the record."""
        now = self._clock()
        self._paused_seconds += max(0.0, now - self._last_time - interval.seconds)
        self._last_time = now
        self._recent.append((interval.step - self._step, interval))
        self._losses.append(interval.loss)
        self._step = interval.step
        self._console.update_status(self._status_parts(interval), list(self._losses))
        return self._write(
            {
                "kind": "train",
                "step": interval.step,
                "epoch": interval.epoch,
                "time_s": round(self.elapsed_seconds, 2),
                "loss": interval.loss,
                "ppl": _perplexity(interval) if self._perplexity else None,
                "lr": interval.learning_rate,
                "grad_norm": interval.grad_norm,
                "source_tokens": interval.source_tokens,
                "target_tokens": interval.target_tokens,
                "tokens_per_s": round(_tokens_per_second(interval), 1),
                "pad_fraction": interval.pad_fraction,
                "memory_mb": interval.memory_mb,
                "skipped": interval.skipped_steps,
            }
        )

    def log_validation(self, step: int, validation: ValidationResult, best: bool = False) -> MetricsRow:
        """Print a row of metrics with the first sample under it, and record both; return the record."""
        metrics = validation.metrics
        cells = {name: f"{value:,.{SCREEN_DIGITS.get(name, 2)}f}" for name, value in metrics.items()}
        self._console.print_validation(
            {"step": f"{step:,}", "time": format_elapsed(self.elapsed_seconds), **cells}, best
        )
        for sample in validation.samples[:1]:
            self._console.print_sample(sample, validation.sample_titles)
        samples = [asdict(sample) for sample in validation.samples]
        return self._write(
            {"kind": "valid", **self._validation_record(step, validation), "best": best, "samples": samples}
        )

    def log_averaged_checkpoints(
        self, step: int, count: int, judge: str, validation: ValidationResult
    ) -> None:
        """Print and record the validation of the averaged checkpoints."""
        self.log_message(f"mean of the last {count} checkpoints: {judge} {validation.metrics[judge]:.4f}")
        self._write({"kind": "mean", **self._validation_record(step, validation), "checkpoints": count})

    def _validation_record(self, step: int, validation: ValidationResult) -> dict[str, object]:
        values = {**validation.metrics, **validation.details, **validation.chart_data}
        renamed = {RECORDED_NAMES.get(name, name): value for name, value in values.items()}
        return {
            "step": step,
            "time_s": round(self.elapsed_seconds, 2),
            "nll": validation.metrics["loss"],
            **renamed,
        }

    def _status_parts(self, interval: LogInterval) -> dict[str, str]:
        seconds = sum(interval.seconds for _, interval in self._recent)
        tokens = sum(interval.source_tokens + interval.target_tokens for _, interval in self._recent)
        ppl = {"ppl": f"ppl {format_three_digits(_perplexity(interval))}"} if self._perplexity else {}
        return {
            "step": f"step {interval.step:,}/{self._steps:,}",
            "loss": f"loss {format_three_digits(interval.loss)}",
            **ppl,
            "lr": f"lr {interval.learning_rate:.1e}".replace("e-0", "e-"),
            "speed": f"{format_thousands(tokens / max(seconds, 1e-9))} {self._unit}/s",
            "pad": f"pad {interval.pad_fraction:.0%}",
            "eta": f"ETA {format_elapsed(self._remaining_seconds())}",
        }

    def _remaining_seconds(self) -> float:
        """Estimate the remaining time from the speed of the recent steps and the pauses between all of them.

        The pauses are validations, which are too rare to occur among the recent intervals.
        """
        steps = max(1, sum(steps for steps, _ in self._recent))
        recent = sum(interval.seconds for _, interval in self._recent) / steps
        pauses = self._paused_seconds / max(1, self._step - self._resumed_step)
        remaining = max(0, self._steps - self._step) * (recent + pauses)
        if self._minutes is None:
            return remaining
        return max(0.0, min(remaining, self._minutes * 60 - self.elapsed_seconds))

    def _write(self, row: MetricsRow) -> MetricsRow:
        self._metrics.write(row)
        if self._tensorboard:
            self._tensorboard.write(row)
        return row


def _tokens_per_second(interval: LogInterval) -> float:
    """Return the tokens of both sides per second, without padding."""
    return (interval.source_tokens + interval.target_tokens) / max(interval.seconds, 1e-9)


def _perplexity(interval: LogInterval) -> float:
    loss = interval.loss
    return float(f"{math.exp(min(loss, 50)):.6g}") if math.isfinite(loss) else math.nan
