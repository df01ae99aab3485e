"""Captured CUDA graph steps against eager steps, on a GPU."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from regard.training.cuda_graph_step import CudaGraphStep
from regard.training.optimizer import Ema
from regard.training.step import EagerStep, Learner, StepResult
from regard.training.task import BatchCounts

pytestmark = pytest.mark.cuda


@dataclass(frozen=True)
class Numbers:
    x: Tensor

    def tensors(self) -> tuple[Tensor, ...]:
        return (self.x,)


class Task:
    """Learns small outputs; a batch of NaN gives a loss of NaN."""

    def __init__(self, dropout: float) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, 1)).cuda()

    def loss(self, batch: Numbers) -> Tensor:
        return self.model(batch.x).square().sum()

    def batch_counts(self, batch: Numbers) -> BatchCounts:
        return BatchCounts(len(batch.x), len(batch.x))


def make_batch(seed: int) -> Numbers:
    return Numbers(torch.randn(16, 8, generator=torch.Generator().manual_seed(seed)).cuda())


def train(mode: str, dropout: float, accumulate: int, steps: int = 6, nan_step: int | None = None):
    task = Task(dropout)
    optimizer = torch.optim.Adam(task.model.parameters(), fused=True)
    learner = Learner(task.model, optimizer, Ema(task.model, 0.9))
    step = (
        EagerStep(task, learner, 1, 0.5)
        if mode == "eager"
        else CudaGraphStep(task, learner, 1, 0.5, make_batch(99), accumulate, [task.model])
    )
    results = []
    for number in range(1, steps + 1):
        batches = [make_batch(100 * number + index) for index in range(accumulate)]
        if number == nan_step:
            batches[-1] = Numbers(torch.full((16, 8), torch.nan, device="cuda"))
        results.append(step(number, batches, 0.01 * number))
    weights = [weight.detach().clone() for weight in task.model.parameters()]
    return results, weights, list(learner.ema.averages.values())


def tensors_of(result: StepResult | Tensor) -> list[Tensor]:
    return [result.loss, result.grad_norm, result.is_skipped] if isinstance(result, StepResult) else [result]


@pytest.mark.parametrize("accumulate", [1, 3])
def test_captured_steps_equal_eager_steps(accumulate):
    for one, other in zip(*(train(mode, 0.0, accumulate) for mode in ("eager", "captured")), strict=True):
        for a, b in zip(one, other, strict=True):
            torch.testing.assert_close(tensors_of(a), tensors_of(b), rtol=1e-4, atol=1e-5)


def test_dropout_depends_on_the_step_and_not_on_earlier_replays():
    runs = [train("captured", 0.5, 1), train("captured", 0.5, 1)]
    assert all(torch.equal(a, b) for a, b in zip(runs[0][1], runs[1][1], strict=True))
    losses = [float(result.loss) for result in runs[0][0]]
    assert len(set(losses)) == len(losses)


def test_a_batch_with_nan_changes_no_weight_and_the_next_step_works():
    before = train("captured", 0.0, 2, steps=2)
    with_nan = train("captured", 0.0, 2, steps=3, nan_step=3)
    assert [bool(result.is_skipped) for result in with_nan[0]] == [False, False, True]
    assert all(torch.equal(a, b) for a, b in zip(before[1], with_nan[1], strict=True))
    after = train("captured", 0.0, 2, steps=4, nan_step=3)
    assert all(weight.isfinite().all() for weight in after[1])
    assert not all(torch.equal(a, b) for a, b in zip(before[1], after[1], strict=True))
