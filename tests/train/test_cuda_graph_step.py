"""Steps played back against steps taken one by one, on a GPU."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from regard.train.cuda_graph_step import CudaGraphStep
from regard.train.optimizer import Ema
from regard.train.step import EagerStep, Learner, StepResult
from regard.train.task import BatchCounts

pytestmark = pytest.mark.cuda


@dataclass(frozen=True)
class Numbers:
    x: Tensor

    def tensors(self) -> tuple[Tensor, ...]:
        return (self.x,)


class Task:
    """Learns to make its numbers small; a batch of NaN spoils the loss."""

    def __init__(self, dropout: float) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, 1)).cuda()

    def loss(self, batch: Numbers) -> Tensor:
        return self.model(batch.x).square().sum()

    def batch_counts(self, batch: Numbers) -> BatchCounts:
        return BatchCounts(len(batch.x), len(batch.x))


def batch(seed: int) -> Numbers:
    return Numbers(torch.randn(16, 8, generator=torch.Generator().manual_seed(seed)).cuda())


def learnt(road: str, dropout: float, accumulate: int, steps: int = 6, spoilt: int | None = None):
    task = Task(dropout)
    optimizer = torch.optim.Adam(task.model.parameters(), fused=True)
    learner = Learner(task.model, optimizer, Ema(task.model, 0.9))
    step = (
        EagerStep(task, learner, 1, 0.5)
        if road == "eager"
        else CudaGraphStep(task, learner, 1, 0.5, batch(99), accumulate, [task.model])
    )
    done = []
    for number in range(1, steps + 1):
        batches = [batch(100 * number + micro) for micro in range(accumulate)]
        if number == spoilt:
            batches[-1] = Numbers(torch.full((16, 8), torch.nan, device="cuda"))
        done.append(step(number, batches, 0.01 * number))
    weights = [weight.detach().clone() for weight in task.model.parameters()]
    return done, weights, list(learner.ema.averages.values())


def numbers(found: StepResult | Tensor) -> list[Tensor]:
    return [found.loss, found.grad_norm, found.is_skipped] if isinstance(found, StepResult) else [found]


@pytest.mark.parametrize("accumulate", [1, 3])
def test_played_back_steps_are_the_steps_taken_one_by_one(accumulate):
    for one, other in zip(*(learnt(road, 0.0, accumulate) for road in ("eager", "captured")), strict=True):
        for a, b in zip(one, other, strict=True):
            torch.testing.assert_close(numbers(a), numbers(b), rtol=1e-4, atol=1e-5)


def test_dropout_is_keyed_by_the_step_and_not_by_what_was_played_before():
    runs = [learnt("captured", 0.5, 1), learnt("captured", 0.5, 1)]
    assert all(torch.equal(a, b) for a, b in zip(runs[0][1], runs[1][1], strict=True))
    losses = [float(stepped.loss) for stepped in runs[0][0]]
    assert len(set(losses)) == len(losses)


def test_a_spoilt_batch_moves_nothing_and_the_next_step_goes_on():
    before = learnt("captured", 0.0, 2, steps=2)
    with_it = learnt("captured", 0.0, 2, steps=3, spoilt=3)
    assert [bool(stepped.skipped) for stepped in with_it[0]] == [False, False, True]
    assert all(torch.equal(a, b) for a, b in zip(before[1], with_it[1], strict=True))
    after = learnt("captured", 0.0, 2, steps=4, spoilt=3)
    assert all(weight.isfinite().all() for weight in after[1])
    assert not all(torch.equal(a, b) for a, b in zip(before[1], after[1], strict=True))
