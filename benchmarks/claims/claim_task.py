"""A claim's model as a training task, and a short training with regard's own training loop."""

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

from regard.text.corpus_files import FileLines
from regard.text.tokenizer import PAD
from regard.training.interrupt import InterruptHandler
from regard.training.logs.metrics_file import METRICS_FILE, read_metrics
from regard.training.logs.training_log import TrainingLog
from regard.training.loop import TrainConfig, TrainingLoop
from regard.training.optimizer import OptimizerConfig, build_optimizer, learning_rate
from regard.training.step import EagerStep, Learner
from regard.training.task import BatchCounts, DataPosition, ValidationResult
from regard.training.weights import save_weights

CLIP = 1.0


@dataclass(frozen=True)
class PaddedPairs:
    """A batch of pairs: sources of one length, targets padded on the right."""

    source: Int[Tensor, "batch source"]
    target_in: Int[Tensor, "batch target"]
    target_out: Int[Tensor, "batch target"]

    @property
    def target_tokens(self) -> int:
        return int((self.target_out != PAD).sum())

    def to(self, device: torch.device) -> "PaddedPairs":
        return PaddedPairs(*(each.to(device) for each in (self.source, self.target_in, self.target_out)))


class ClaimTask:
    """A model and its batches; implements `train.task.Trainable`."""

    def __init__(
        self,
        model: nn.Module,
        make_batch: Callable[[int], PaddedPairs],
        valid: Sequence[PaddedPairs],
        device: torch.device,
    ) -> None:
        """Create the task; `make_batch` returns the batch with a number, always the same one."""
        self.model = model.to(device)
        self._make_batch, self._valid, self._device = make_batch, valid, device

    def batches(self, start: DataPosition) -> Iterator[tuple[PaddedPairs, DataPosition]]:
        for number in count(start.get("batch", 0)):
            yield self._make_batch(number), {"batch": number + 1}

    def batch_counts(self, batch: PaddedPairs) -> BatchCounts:
        return BatchCounts(
            batch.source.numel(), batch.target_tokens, batch.target_out.numel() - batch.target_tokens
        )

    def loss(self, batch: PaddedPairs) -> Tensor:
        return self._loss_and_correct(batch)[0]

    def locate_lines(self, batch: PaddedPairs) -> list[FileLines]:
        return [FileLines(("synthetic",), tuple(range(1, len(batch.source) + 1)))]

    def fingerprint(self) -> Mapping[str, str]:
        return {}

    @torch.no_grad()
    def validate(self) -> ValidationResult:
        self.model.eval()
        results = [self._loss_and_correct(batch) for batch in self._valid]
        tokens = sum(batch.target_tokens for batch in self._valid)
        loss, accuracy = (sum(float(result[index]) for result in results) / tokens for index in (0, 1))
        return ValidationResult({"loss": loss, "accuracy": accuracy})

    def save(self, folder: Path) -> dict[str, Any]:
        save_weights(folder, self.model)
        return {}

    def _loss_and_correct(self, batch: PaddedPairs) -> tuple[Tensor, Tensor]:
        """Return the summed loss, and the number of correctly predicted tokens."""
        batch = batch.to(self._device)
        logits = self.model(batch.source, batch.target_in).flatten(0, 1)
        target = batch.target_out.flatten()
        loss = functional.cross_entropy(logits, target, ignore_index=PAD, reduction="sum")
        return loss, ((logits.argmax(dim=-1) == target) & (target != PAD)).sum()


@dataclass(frozen=True)
class ClaimTrainingResult:
    """The validation metrics and the loss curve of a training."""

    loss: float
    """Validation loss at the end."""
    accuracy: float
    """Validation accuracy at the end."""
    curve: list[tuple[int, float]]
    """Steps with their training loss."""


def train_claim_model(
    task: ClaimTask, steps: int, peak: float = 2e-3, seed: int = 1, points: int = 25
) -> ClaimTrainingResult:
    """Train with `regard.training.loop.TrainingLoop`: Adam, warm-up and cooldown, gradients clipped at 1."""
    config = TrainConfig(
        steps=steps, save_every=steps, log_every=max(1, steps // points), clip=CLIP, seed=seed
    )
    optimizer = OptimizerConfig(peak=peak, warmup=max(1, steps // 10), cooldown=max(1, steps // 3))
    learner = Learner(task.model, build_optimizer(task.model, optimizer))
    step = EagerStep(task, learner, seed, CLIP)
    with TemporaryDirectory() as folder:
        metrics_file = Path(folder) / METRICS_FILE
        with TrainingLog(metrics_file, Console(quiet=True), steps) as log, InterruptHandler() as interrupt:
            result = TrainingLoop(
                task=task,
                folder=Path(folder),
                config=config,
                learner=learner,
                step=step,
                schedule=lambda number: learning_rate(number, steps, 1, optimizer),
                log=log,
                interrupt=interrupt,
            ).run()
        if result.stop_reason == "interrupt":
            raise KeyboardInterrupt
        rows = [row for row in read_metrics(metrics_file) if row["kind"] == "train"]
    return ClaimTrainingResult(
        loss=result.metrics["loss"],
        accuracy=result.metrics["accuracy"],
        curve=[(row["step"], row["loss"]) for row in rows],
    )
