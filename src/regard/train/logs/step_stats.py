"""What some steps did, left on the device until their end: asking sooner would make it wait."""

import math
from collections.abc import Iterator

import torch

from regard.train.device import memory_mb
from regard.train.logs.training_log import Stretch
from regard.train.step import Stepped
from regard.train.task import Counts, Position


class Gathered:
    """The steps between two lines of the log."""

    def __init__(self) -> None:
        self._steps: list[tuple[int, list[Position], list[Counts], Stepped]] = []
        self._figures: list[tuple[float, float, bool]] | None = None

    def add(self, step: int, starts: list[Position], counts: list[Counts], stepped: Stepped) -> None:
        self._steps.append((step, starts, counts, stepped))

    def flags(self) -> Iterator[tuple[int, list[Position], bool]]:
        """Each step, where its batches began, and whether it was skipped."""
        for (step, starts, _, _), (_, _, skipped) in zip(self._steps, self._fetched(), strict=True):
            yield step, starts, skipped

    def stretch(self, epoch: int, rate: float, seconds: float) -> Stretch:
        good = [
            (loss, norm, sum(count.target_tokens for count in counts))
            for (_, _, counts, _), (loss, norm, skipped) in zip(self._steps, self._fetched(), strict=True)
            if not skipped
        ]
        counts = [count for _, _, counts, _ in self._steps for count in counts]
        source, target = sum(c.source_tokens for c in counts), sum(c.target_tokens for c in counts)
        padding = sum(count.padding for count in counts)
        return Stretch(
            step=self._steps[-1][0],
            epoch=epoch,
            loss=sum(loss for loss, _, _ in good) / sum(n for _, _, n in good) if good else math.nan,
            rate=rate,
            norm=sum(norm for _, norm, _ in good) / len(good) if good else math.nan,
            source_tokens=source,
            target_tokens=target,
            padding=padding / (source + target + padding),
            seconds=seconds,
            skipped=len(self._steps) - len(good),
            memory_mb=memory_mb(),
        )

    def _fetched(self) -> list[tuple[float, float, bool]]:
        """One wait for the device, however many steps."""
        if self._figures is None:
            done = [stepped for _, _, _, stepped in self._steps]
            rows = torch.stack(
                [torch.stack([d.loss.double(), d.norm.double(), d.skipped.double()]) for d in done]
            )
            self._figures = [(loss, norm, bool(skipped)) for loss, norm, skipped in rows.tolist()]
        return self._figures
