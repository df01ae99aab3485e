"""A training step recorded once and played back: a GPU never waits to be told what comes next.

A small model's step is hundreds of kernels of a few microseconds each, and Python cannot ask for them
that fast. Here the layers are compiled, the way forward and back is captured as one CUDA graph and the
update as another, and a step is two replays. It asks for batches that all have one form.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

from regard.train.step import Learner, StepResult, batch_seed
from regard.train.task import Trainable

WARMUP_RUNS = 3
"""Runs before the capture, in which kernels are chosen and compiled."""


@runtime_checkable
class FixedShapeBatch(Protocol):
    """A batch whose tensors have the same shapes as every other's."""

    def tensors(self) -> tuple[Tensor, ...]: ...


FixedShapeBatchT = TypeVar("FixedShapeBatchT", bound=FixedShapeBatch)


class CudaGraphStep(Generic[FixedShapeBatchT]):
    """Forward, backward and update as two CUDA graphs."""

    def __init__(
        self,
        task: Trainable[FixedShapeBatchT],
        learner: Learner,
        seed: int,
        clip: float | None,
        example_batch: FixedShapeBatchT,
        accumulate: int,
        layers_to_compile: Iterable[nn.Module],
    ) -> None:
        """`example` lies on the GPU; every batch is copied over it. `layers` are compiled."""
        self._task, self._seed, self._ema = task, seed, learner.ema
        self._place, optimizer = example_batch.tensors(), learner.optimizer
        self._loss, self._share, self._rate, self._norm, self._skip = torch.zeros(5, device="cuda").unbind()
        weights = [weight for weight in learner.model.parameters() if weight.requires_grad]
        for group in optimizer.param_groups:
            group["lr"], group["capturable"] = self._rate, True
        optimizer.found_inf = self._skip  # pyright: ignore[reportAttributeAccessIssue]

        def forward_and_back() -> None:
            part = task.loss(example_batch)
            (part * self._share).backward()
            self._loss.add_(part.detach())

        def move() -> None:
            grads = [weight.grad for weight in weights if weight.grad is not None]
            norm = nn.utils.get_total_norm(grads)
            self._norm.copy_(norm)
            self._skip.copy_(~(norm.isfinite() & self._loss.isfinite()))
            if clip is not None:
                nn.utils.clip_grads_with_norm_(weights, clip, norm)
            optimizer.step()

        with _compiled_layers(layers_to_compile):
            with _side_stream():
                for _ in range(WARMUP_RUNS):
                    optimizer.zero_grad()
                    forward_and_back()
                self._loss.fill_(torch.nan)
                move()  # makes the optimizer's state, and moves nothing
            optimizer.zero_grad()
            self._first = _capture_graph(
                forward_and_back
            )  # its gradients are new, those of the others are added
            self._others = _capture_graph(forward_and_back) if accumulate > 1 else self._first
            self._move = _capture_graph(move)

    def __call__(self, step: int, batches: Sequence[FixedShapeBatchT], learning_rate: float) -> StepResult:
        self._loss.zero_()
        self._rate.fill_(learning_rate)
        self._share.fill_(1 / sum(self._task.batch_counts(batch).target_tokens for batch in batches))
        for micro, batch in enumerate(batches):
            torch.manual_seed(batch_seed(self._seed, step, micro))
            for place, tensor in zip(self._place, batch.tensors(), strict=True):
                place.copy_(tensor, non_blocking=True)
            (self._others if micro else self._first).replay()
        self._move.replay()
        if self._ema is not None:
            self._ema.update(step)
        return StepResult(self._loss.clone(), self._norm.clone(), self._skip.bool())


@contextmanager
def _compiled_layers(layers: Iterable[nn.Module]) -> Iterator[None]:
    """Within, the layers run compiled; afterwards they are as plain as before, for validation and search."""
    chosen = list(layers)
    for layer in chosen:
        layer.compile(dynamic=False)
    try:
        yield
    finally:
        for layer in chosen:
            layer._compiled_call_impl = None


@contextmanager
def _side_stream() -> Iterator[None]:
    """On a stream of its own, as captures ask of what goes before them."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream().wait_stream(stream)


def _capture_graph(work: Callable[[], None]) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph
