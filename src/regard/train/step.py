"""One step: gradients of some batches, their norm, a guard, and the move of the weights."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.errors import CheckpointError
from regard.train.optimizer import Ema
from regard.train.task import BatchT, Trainable
from regard.train.weights import copy_tensors

Batch_contra = TypeVar("Batch_contra", contravariant=True)


RAW_SUFFIX = "raw"


@dataclass(frozen=True)
class Learner:
    """The weights, the optimizer's moments and the mean that trails the weights.

    The optimizer must be a fused one: its kernels heed `found_inf`, and leave everything as it was
    where that is 1.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    ema: Ema | None = None

    @contextmanager
    def ema_weights(self) -> Iterator[None]:
        """While entered, the model has the weights that are judged and saved: the mean, if there is one.

        Checkpoints are written and read in here, so that the mean's own place holds the raw weights.
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
        """What the weights as shown do not say: moments and raw weights, as `name of the weight.what`."""
        found = {
            f"{name}.{kind}": value
            for name, parameter in self.model.named_parameters()
            for kind, value in self.optimizer.state[parameter].items()
            if isinstance(value, Tensor)
        }
        return found | {f"{name}.{RAW_SUFFIX}": weight for name, weight in self._raw_weights().items()}

    def load_state_tensors(self, tensors: Mapping[str, Tensor], error_prefix: str) -> None:
        """Takes back what `tensors` gave; each must belong to a weight, and fit it, and none may be missing.

        They are copied: those of a file are the file itself, mapped into memory, and it is to be deleted.
        """
        parameters = dict(self.model.named_parameters())
        raw = {}
        for full, tensor in tensors.items():
            name, _, kind = full.rpartition(".")
            if name not in parameters or tensor.shape not in (parameters[name].shape, torch.Size()):
                raise CheckpointError(f"{error_prefix}: {full} belongs to no weight")
            if kind == RAW_SUFFIX:
                raw[name] = tensor
            else:
                parameter = parameters[name]
                self.optimizer.state[parameter][kind] = tensor.to(parameter.device, copy=True)
        self._reject_missing_moments(error_prefix)
        copy_tensors(self._raw_weights(), raw, error_prefix)

    def _reject_missing_moments(self, misfit: str) -> None:
        """A weight without the moments that others have would begin anew in the middle of a training."""
        state = self.optimizer.state
        kinds = {kind for parameter in self.model.parameters() for kind in state[parameter]}
        for name, parameter in self.model.named_parameters():
            if missing := kinds - state[parameter].keys():
                raise CheckpointError(f"{misfit}: {name}.{min(missing)} is missing")

    def _raw_weights(self) -> dict[str, Tensor]:
        return {} if self.ema is None else self.ema.averages


@dataclass(frozen=True)
class StepResult:
    """What a step did, left on the device; the next step does not change these tensors."""

    loss: Float[Tensor, ""]
    """The sum over all batches of the step."""
    grad_norm: Float[Tensor, ""]
    """Of the gradient, before clipping."""
    is_skipped: Bool[Tensor, ""]
    """Loss or gradient were not finite, and neither weights nor moments have moved."""


@runtime_checkable
class TrainStep(Protocol[Batch_contra]):
    """All that touches weights, moments and mean at each step; never waits for the device."""

    def __call__(self, step: int, batches: Sequence[Batch_contra], learning_rate: float) -> StepResult: ...


class EagerStep(Generic[BatchT]):
    """The plain road: one operation after the other, on any device."""

    def __init__(self, task: Trainable[BatchT], learner: Learner, seed: int, clip: float | None) -> None:
        self._task = task
        self._learner = learner
        self._seed = seed
        self._clip = clip

    def __call__(self, step: int, batches: Sequence[BatchT], learning_rate: float) -> StepResult:
        optimizer = self._learner.optimizer
        optimizer.zero_grad(set_to_none=True)
        loss = self._accumulate_gradients(step, batches)
        norm = self._clip_gradients()
        skipped = ~(loss.isfinite() & norm.isfinite())
        for group in optimizer.param_groups:
            group["lr"] = learning_rate
        optimizer.found_inf = skipped.float()  # pyright: ignore[reportAttributeAccessIssue]
        optimizer.step()
        if self._learner.ema is not None:
            self._learner.ema.update(step)
        return StepResult(loss, norm, skipped)

    def _accumulate_gradients(self, step: int, batches: Sequence[BatchT]) -> Float[Tensor, ""]:
        """Gradients of the mean over all tokens of the step, however many batches they came in."""
        tokens = sum(self._task.batch_counts(batch).target_tokens for batch in batches)
        losses = []
        for number, batch in enumerate(batches):
            torch.manual_seed(batch_seed(self._seed, step, number))
            loss = self._task.loss(batch)
            (loss / tokens).backward()
            losses.append(loss.detach())
        return torch.stack(losses).sum()

    def _clip_gradients(self) -> Float[Tensor, ""]:
        parameters = [p for p in self._learner.model.parameters() if p.grad is not None]
        norm = nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
        if self._clip is not None:
            nn.utils.clip_grads_with_norm_(parameters, self._clip, norm)
        return norm


def batch_seed(seed: int, step: int, batch: int) -> int:
    """Randomness keyed by what is computed: dropout belongs to the data, not to how the process got here.

    A hash, since a CPU's generator takes no more than 32 bits of the key.
    """
    return int.from_bytes(hashlib.blake2b(f"{seed} {step} {batch}".encode(), digest_size=8).digest(), "big")
