"""Any of the models as the training loop sees it, and a short training through that very loop."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from jaxtyping import Int
from rich.console import Console
from torch import Tensor, nn
from torch.nn import functional

from regard.text.tokenizer import PAD
from regard.train.interrupt import InterruptHandler
from regard.train.logs.training_log import TrainingLog
from regard.train.loop import TrainConfig, TrainingLoop
from regard.train.optimizer import OptimizerConfig, build_optimizer, learning_rate
from regard.train.step import EagerStep, Learner
from regard.train.task import BatchCounts, DataPosition, FileLines, ValidationResult
from regard.train.weights import save_weights

CLIP = 1.0


@dataclass(frozen=True)
class PaddedPairs:
    """Pairs in rows: all sources of one length, targets padded on the right where they differ."""

    source: Int[Tensor, "batch source"]
    target_in: Int[Tensor, "batch target"]
    target_out: Int[Tensor, "batch target"]

    @property
    def target_tokens(self) -> int:
        return int((self.target_out != PAD).sum())

    def to(self, device: torch.device) -> "PaddedPairs":
        return PaddedPairs(*(each.to(device) for each in (self.source, self.target_in, self.target_out)))


class ClaimTask:
    """A model and rows to learn from; satisfies `train.trainable.Trainable`."""

    def __init__(
        self,
        model: nn.Module,
        make_batch: Callable[[int], PaddedPairs],
        valid: Sequence[PaddedPairs],
        device: torch.device,
    ) -> None:
        """`draw` makes batch number n, the same each time."""
        self.model = model.to(device)
        self._draw, self._valid, self._device = make_batch, valid, device

    def batches(self, start: DataPosition) -> Iterator[tuple[PaddedPairs, DataPosition]]:
        for number in count(start.get("batch", 0)):
            yield self._draw(number), {"batch": number + 1}

    def batch_counts(self, batch: PaddedPairs) -> BatchCounts:
        return BatchCounts(
            batch.source.numel(), batch.target_tokens, batch.target_out.numel() - batch.target_tokens
        )

    def loss(self, batch: PaddedPairs) -> Tensor:
        return self._judged(batch)[0]

    def locate_lines(self, batch: PaddedPairs) -> list[FileLines]:
        return [FileLines(("drawn",), tuple(range(1, len(batch.source) + 1)))]

    def fingerprint(self) -> Mapping[str, str]:
        return {}

    @torch.no_grad()
    def validate(self) -> ValidationResult:
        self.model.eval()
        judged = [(*self._judged(rows), rows.target_tokens) for rows in self._valid]
        tokens = sum(each for _, _, each in judged)
        loss, right = (sum(float(part[place]) for part in judged) / tokens for place in (0, 1))
        return ValidationResult({"loss": loss, "accuracy": right})

    def save(self, folder: Path) -> dict[str, Any]:
        save_weights(folder, self.model)
        return {}

    def _judged(self, batch: PaddedPairs) -> tuple[Tensor, Tensor]:
        """The summed loss, and how many tokens were the likeliest."""
        batch = batch.to(self._device)
        scores, true = self.model(batch.source, batch.target_in).flatten(0, 1), batch.target_out.flatten()
        loss = functional.cross_entropy(scores, true, ignore_index=PAD, reduction="sum")
        return loss, ((scores.argmax(dim=-1) == true) & (true != PAD)).sum()


@dataclass(frozen=True)
class ClaimTrainingResult:
    """How a training went."""

    loss: float
    """On what it has not seen, at the end."""
    accuracy: float

    curve: list[tuple[int, float]]
    """The training loss, at some steps."""


def train_claim_model(
    task: ClaimTask, steps: int, peak: float = 2e-3, seed: int = 1, points: int = 25
) -> ClaimTrainingResult:
    """Trains by `regard.train.loop.TrainingLoop`: Adam, warm-up and cooldown, gradients clipped at 1."""
    config = TrainConfig(
        steps=steps, save_every=steps, log_every=max(1, steps // points), clip=CLIP, seed=seed
    )
    optimizer = OptimizerConfig(peak=peak, warmup=max(1, steps // 10), cooldown=max(1, steps // 3))
    learner = Learner(task.model, build_optimizer(task.model, optimizer))
    step = EagerStep(task, learner, seed, CLIP)
    with TemporaryDirectory() as place:
        record = Path(place) / "metrics.jsonl"
        with TrainingLog(record, Console(quiet=True), steps) as log, InterruptHandler() as interrupt:
            outcome = TrainingLoop(
                task=task,
                folder=Path(place),
                config=config,
                learner=learner,
                step=step,
                schedule=lambda number: learning_rate(number, steps, 1, optimizer),
                log=log,
                interrupt=interrupt,
            ).run()
        if outcome.stop_reason == "interrupt":
            raise KeyboardInterrupt
        rows = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    trained = [row for row in rows if row["kind"] == "train"]
    return ClaimTrainingResult(
        loss=outcome.metrics["loss"],
        accuracy=outcome.metrics["accuracy"],
        curve=[(row["step"], row["loss"]) for row in trained],
    )
