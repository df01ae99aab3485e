"""Training step: gradients, clipping, skipping of non-finite steps, and the optimizer update."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.errors import CheckpointError
from regard.training.optimizer import Ema
from regard.training.task import BatchT, Trainable
from regard.training.weights import copy_tensors

Batch_contra = TypeVar("Batch_contra", contravariant=True)

RAW_SUFFIX = "raw"
"""Name of the raw weights among the state tensors, where the model holds averaged ones."""


@dataclass(frozen=True)
class Learner:
    """Model, optimizer and moving average of the weights.

    The optimizer must be fused: its kernels honour `found_inf` and change nothing where that is 1.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    ema: Ema | None = None

    @contextmanager
    def ema_weights(self) -> Iterator[None]:
        """Give the model its averaged weights while entered, if there are any, to validate and save them.

        The raw weights are swapped into the average, where checkpoints find them.
        """
        if self.ema is None:
            yield
            return
        self.ema.swap()
        try:
            yield
        finally:
            self.ema.swap()

    def state_tensors(self) -> dict[str, Tensor]:
        """Return the optimizer's moments and, if there is an average, the raw weights, as `weight.kind`."""
        moments = {
            f"{name}.{kind}": value
            for name, parameter in self.model.named_parameters()
            for kind, value in self.optimizer.state[parameter].items()
            if isinstance(value, Tensor)
        }
        return moments | {f"{name}.{RAW_SUFFIX}": weight for name, weight in self._raw_weights().items()}

    def load_state_tensors(self, tensors: Mapping[str, Tensor], error_prefix: str) -> None:
        """Restore what `state_tensors` returned: every tensor must fit a weight, and none may be missing.

        They are copied, since those of a file are mapped memory, and the file may be deleted.
        """
        parameters = dict(self.model.named_parameters())
        raw = {}
        for key, tensor in tensors.items():
            name, _, kind = key.rpartition(".")
            if name not in parameters or tensor.shape not in (parameters[name].shape, torch.Size()):
                raise CheckpointError(f"{error_prefix}: {key} belongs to no weight")
            if kind == RAW_SUFFIX:
                raw[name] = tensor
            else:
                parameter = parameters[name]
                self.optimizer.state[parameter][kind] = tensor.to(parameter.device, copy=True)
        self._reject_missing_moments(error_prefix)
        copy_tensors(self._raw_weights(), raw, error_prefix)

    def reset_optimizer(self) -> None:
        """Set the moments to zero, in place, since a captured step refers to them."""
        for state in self.optimizer.state.values():
            for value in state.values():
                value.zero_()

    def _reject_missing_moments(self, error_prefix: str) -> None:
        """Refuse a weight without moments that others have: its moments would start from zero.

        A frozen weight of a custom model has none.
        """
        state = self.optimizer.state
        kinds = {kind for parameter in self.model.parameters() for kind in state[parameter]}
        for name, parameter in self.model.named_parameters():
            if not parameter.requires_grad:
                continue
            if missing := kinds - state[parameter].keys():
                raise CheckpointError(f"{error_prefix}: {name}.{min(missing)} is missing")

    def _raw_weights(self) -> dict[str, Tensor]:
        return {} if self.ema is None else self.ema.averages


@dataclass(frozen=True)
class StepResult:
    """The result of a step, on the device; later steps do not change these tensors."""

    loss: Float[Tensor, ""]
    """The sum over all tokens of the step."""
    grad_norm: Float[Tensor, ""]
    """The norm of the gradient before clipping."""
    is_skipped: Bool[Tensor, ""]
    """Whether loss or gradient were not finite, so that neither weights nor moments changed."""


@runtime_checkable
class TrainStep(Protocol[Batch_contra]):
    """Updates weights, moments and average; never synchronizes with the device.

    It takes one batch at a time, and updates nothing if the batches end with an exception.
    """

    def __call__(self, step: int, batches: Iterable[Batch_contra], learning_rate: float) -> StepResult: ...


class EagerStep(Generic[BatchT]):
    """A step in eager mode, on any device."""

    def __init__(self, task: Trainable[BatchT], learner: Learner, seed: int, clip: float | None) -> None:
        self._task = task
        self._learner = learner
        self._seed = seed
        self._clip = clip

    def __call__(self, step: int, batches: Iterable[BatchT], learning_rate: float) -> StepResult:
        optimizer = self._learner.optimizer
        optimizer.zero_grad(set_to_none=True)
        loss = self._accumulate_gradients(step, batches)
        norm = self._clip_gradients()
        is_skipped = ~(loss.isfinite() & norm.isfinite())
        for group in optimizer.param_groups:
            group["lr"] = learning_rate
        optimizer.found_inf = is_skipped.float()  # pyright: ignore[reportAttributeAccessIssue]
        optimizer.step()
        if self._learner.ema is not None:
            self._learner.ema.update(step)
        return StepResult(loss, norm, is_skipped)

    def _accumulate_gradients(self, step: int, batches: Iterable[BatchT]) -> Float[Tensor, ""]:
        """Accumulate the gradient of the mean over all tokens of the step; return the summed loss."""
        tokens, losses = [], []
        for index, batch in enumerate(batches):
            tokens.append(self._task.batch_counts(batch).target_tokens)
            torch.manual_seed(batch_seed(self._seed, step, index))
            loss = self._task.loss(batch)
            (loss / tokens[0]).backward()
            losses.append(loss.detach())
        rescale_gradients(self._learner.model.parameters(), tokens)
        return torch.stack(losses).sum()

    def _clip_gradients(self) -> Float[Tensor, ""]:
        parameters = [p for p in self._learner.model.parameters() if p.grad is not None]
        norm = nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
        if self._clip is not None:
            nn.utils.clip_grads_with_norm_(parameters, self._clip, norm)
        return norm


def rescale_gradients(parameters: Iterable[nn.Parameter], tokens: Sequence[int]) -> None:
    """Turn the gradient per token of the first batch into that per token of all batches.

    The number of tokens of a step is known only after its last batch; of a step of one batch, at once.
    """
    if len(tokens) > 1:
        grads = [parameter.grad for parameter in parameters if parameter.grad is not None]
        torch._foreach_mul_(grads, tokens[0] / sum(tokens))  # pyright: ignore[reportPrivateImportUsage]


def batch_seed(seed: int, step: int, batch: int) -> int:
    """Return the seed of the dropout in a batch, which so does not depend on what was computed before.

    A hash, since the generator of a CPU uses no more than 32 bits of it.
    """
    return int.from_bytes(hashlib.blake2b(f"{seed} {step} {batch}".encode(), digest_size=8).digest(), "big")
