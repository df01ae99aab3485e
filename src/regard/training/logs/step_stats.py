"""Statistics of the steps between two log lines, fetched from the device once."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch

from regard.config import RealNumber
from regard.training.device import peak_memory_mb
from regard.training.step import StepResult
from regard.training.task import BatchCounts, DataPosition


@dataclass(frozen=True)
class LogInterval:
    """The steps up to `step` as one row of metrics.jsonl."""

    step: int
    epoch: RealNumber
    loss: RealNumber
    """The mean per target token in nats, with label smoothing as in training."""
    learning_rate: RealNumber
    grad_norm: RealNumber | None
    """The mean norm of the gradient before clipping."""
    source_tokens: int
    target_tokens: int
    pad_fraction: RealNumber
    """The share of padding in all computed positions, 0 to 1."""
    seconds: RealNumber
    """Duration of the steps, without validations."""
    skipped_steps: int = 0
    """Steps without an update, because their loss or gradient was not finite."""
    memory_mb: RealNumber | None = None
    """Peak memory so far on the computing device."""


class _StepRecord(NamedTuple):
    step: int
    positions: list[DataPosition]
    counts: list[BatchCounts]
    result: StepResult


class StepStats:
    """Collects the results of steps on the device: reading each at once would synchronize with the device."""

    def __init__(self) -> None:
        self._steps: list[_StepRecord] = []
        self._results: list[tuple[float, float, bool]] | None = None

    def add(
        self, step: int, positions: list[DataPosition], counts: list[BatchCounts], result: StepResult
    ) -> None:
        self._steps.append(_StepRecord(step, positions, counts, result))

    def skipped_flags(self) -> Iterator[tuple[int, list[DataPosition], bool]]:
        """Yield each step, the data positions of its batches, and whether it was skipped."""
        for record, (_, _, is_skipped) in zip(self._steps, self._fetch(), strict=True):
            yield record.step, record.positions, is_skipped

    def to_interval(self, epoch: int, learning_rate: float, seconds: float) -> LogInterval:
        """Sum up all steps; loss and norm are those of the steps that were not skipped."""
        finite = [
            (loss, norm, sum(count.target_tokens for count in record.counts))
            for record, (loss, norm, is_skipped) in zip(self._steps, self._fetch(), strict=True)
            if not is_skipped
        ]
        counts = [count for record in self._steps for count in record.counts]
        source, target = sum(c.source_tokens for c in counts), sum(c.target_tokens for c in counts)
        padding = sum(count.padding for count in counts)
        return LogInterval(
            step=self._steps[-1].step,
            epoch=epoch,
            loss=sum(loss for loss, _, _ in finite) / sum(n for _, _, n in finite) if finite else math.nan,
            learning_rate=learning_rate,
            grad_norm=sum(norm for _, norm, _ in finite) / len(finite) if finite else math.nan,
            source_tokens=source,
            target_tokens=target,
            pad_fraction=padding / (source + target + padding),
            seconds=seconds,
            skipped_steps=len(self._steps) - len(finite),
            memory_mb=peak_memory_mb(),
        )

    def _fetch(self) -> list[tuple[float, float, bool]]:
        """Return loss, gradient norm and skipped flag of each step, with one transfer from the device."""
        if self._results is None:
            results = [record.result for record in self._steps]
            rows = torch.stack(
                [torch.stack([r.loss.double(), r.grad_norm.double(), r.is_skipped.double()]) for r in results]
            )
            self._results = [(loss, norm, bool(skipped)) for loss, norm, skipped in rows.tolist()]
        return self._results
