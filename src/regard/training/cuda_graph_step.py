"""Training step captured as CUDA graphs, for batches that all have the same shapes.

A step of a small model is hundreds of kernels of a few microseconds, which Python cannot launch that fast.
Here the layers are compiled, forward and backward pass are captured as one CUDA graph and the update as
another, and a step is two replays.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

from regard.training.step import Learner, StepResult, batch_seed, rescale_gradients
from regard.training.task import Trainable

WARMUP_RUNS = 3
"""Runs before the capture, in which kernels are selected and compiled."""


@runtime_checkable
class FixedShapeBatch(Protocol):
    """A batch whose tensors have the same shapes as those of every other batch."""

    def tensors(self) -> tuple[Tensor, ...]: ...


FixedShapeBatchT = TypeVar("FixedShapeBatchT", bound=FixedShapeBatch)


class CudaGraphStep(Generic[FixedShapeBatchT]):
    """A step as two CUDA graphs: forward and backward pass, and update."""

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
        """Capture the step; `example_batch` is on the GPU, and every batch is copied into its tensors."""
        self._task, self._seed, self._ema = task, seed, learner.ema
        self._batch_tensors, optimizer = example_batch.tensors(), learner.optimizer
        scalars = torch.zeros(5, device="cuda").unbind()
        self._loss, self._loss_scale, self._learning_rate, self._norm, self._is_skipped = scalars
        weights = [weight for weight in learner.model.parameters() if weight.requires_grad]
        self._weights = weights
        for group in optimizer.param_groups:
            group["lr"], group["capturable"] = self._learning_rate, True
        optimizer.found_inf = self._is_skipped  # pyright: ignore[reportAttributeAccessIssue]

        def forward_and_backward() -> None:
            loss = task.loss(example_batch)
            (loss * self._loss_scale).backward()
            self._loss.add_(loss.detach())

        def update() -> None:
            grads = [weight.grad for weight in weights if weight.grad is not None]
            norm = nn.utils.get_total_norm(grads)
            self._norm.copy_(norm)
            self._is_skipped.copy_(~(norm.isfinite() & self._loss.isfinite()))
            if clip is not None:
                nn.utils.clip_grads_with_norm_(weights, clip, norm)
            optimizer.step()

        with _compiled_layers(layers_to_compile):
            with _side_stream():
                for _ in range(WARMUP_RUNS):
                    optimizer.zero_grad()
                    forward_and_backward()
                self._loss.fill_(torch.nan)
                update()  # creates the optimizer state and changes no weight
            optimizer.zero_grad()
            self._first_batch = _capture_graph(forward_and_backward)  # overwrites the gradients
            self._next_batch = self._first_batch  # adds to the gradients
            if accumulate > 1:
                self._next_batch = _capture_graph(forward_and_backward)
            self._update = _capture_graph(update)

    def __call__(self, step: int, batches: Iterable[FixedShapeBatchT], learning_rate: float) -> StepResult:
        self._loss.zero_()
        self._learning_rate.fill_(learning_rate)
        tokens = []
        for index, batch in enumerate(batches):
            tokens.append(self._task.batch_counts(batch).target_tokens)
            self._loss_scale.fill_(1 / tokens[0])
            torch.manual_seed(batch_seed(self._seed, step, index))
            for buffer, tensor in zip(self._batch_tensors, batch.tensors(), strict=True):
                buffer.copy_(tensor, non_blocking=True)
            (self._next_batch if index else self._first_batch).replay()
        rescale_gradients(self._weights, tokens)
        self._update.replay()
        if self._ema is not None:
            self._ema.update(step)
        return StepResult(self._loss.clone(), self._norm.clone(), self._is_skipped.bool())


@contextmanager
def _compiled_layers(layers: Iterable[nn.Module]) -> Iterator[None]:
    """Compile the layers while entered; afterwards they run eagerly, for validation and search."""
    compiled = list(layers)
    for layer in compiled:
        layer.compile(dynamic=False)
    try:
        yield
    finally:
        for layer in compiled:
            layer._compiled_call_impl = None


@contextmanager
def _side_stream() -> Iterator[None]:
    """Use another stream while entered, as CUDA requires of warm-up runs before a capture."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream().wait_stream(stream)


def _capture_graph(function: Callable[[], None]) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    return graph
