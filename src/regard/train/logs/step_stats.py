"""What some steps did, left on the device until their end: asking sooner would make it wait."""

import math
from collections.abc import Iterator

import torch

from regard.train.device import peak_memory_mb
from regard.train.logs.training_log import LogInterval
from regard.train.step import StepResult
from regard.train.task import BatchCounts, DataPosition


class StepStats:
    """The steps between two lines of the log."""

    def __init__(self) -> None:
        self._steps: list[tuple[int, list[DataPosition], list[BatchCounts], StepResult]] = []
        self._figures: list[tuple[float, float, bool]] | None = None

    def add(
        self, step: int, starts: list[DataPosition], counts: list[BatchCounts], stepped: StepResult
    ) -> None:
        self._steps.append((step, starts, counts, stepped))

    def skipped_flags(self) -> Iterator[tuple[int, list[DataPosition], bool]]:
        """Each step, where its batches began, and whether it was skipped."""
        for (step, starts, _, _), (_, _, skipped) in zip(self._steps, self._fetch(), strict=True):
            yield step, starts, skipped

    def to_interval(self, epoch: int, rate: float, seconds: float) -> LogInterval:
        good = [
            (loss, norm, sum(count.target_tokens for count in counts))
            for (_, _, counts, _), (loss, norm, skipped) in zip(self._steps, self._fetch(), strict=True)
            if not skipped
        ]
        counts = [count for _, _, counts, _ in self._steps for count in counts]
        source, target = sum(c.source_tokens for c in counts), sum(c.target_tokens for c in counts)
        padding = sum(count.padding for count in counts)
        return LogInterval(
            step=self._steps[-1][0],
            epoch=epoch,
            loss=sum(loss for loss, _, _ in good) / sum(n for _, _, n in good) if good else math.nan,
            learning_rate=rate,
            grad_norm=sum(norm for _, norm, _ in good) / len(good) if good else math.nan,
            source_tokens=source,
            target_tokens=target,
            pad_fraction=padding / (source + target + padding),
            seconds=seconds,
            skipped_steps=len(self._steps) - len(good),
            memory_mb=peak_memory_mb(),
        )

    def _fetch(self) -> list[tuple[float, float, bool]]:
        """One wait for the device, however many steps."""
        if self._figures is None:
            done = [stepped for _, _, _, stepped in self._steps]
            rows = torch.stack(
                [torch.stack([d.loss.double(), d.grad_norm.double(), d.is_skipped.double()]) for d in done]
            )
            self._figures = [(loss, norm, bool(skipped)) for loss, norm, skipped in rows.tolist()]
        return self._figures
