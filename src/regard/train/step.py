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
from regard.train.task import Batch, Trainable
from regard.train.weights import copy_into

Batch_contra = TypeVar("Batch_contra", contravariant=True)


RAW = "raw"


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
    def shown(self) -> Iterator[None]:
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

    def tensors(self) -> dict[str, Tensor]:
        """What the weights as shown do not say: moments and raw weights, as `name of the weight.what`."""
        found = {
            f"{name}.{kind}": value
            for name, parameter in self.model.named_parameters()
            for kind, value in self.optimizer.state[parameter].items()
            if isinstance(value, Tensor)
        }
        return found | {f"{name}.{RAW}": weight for name, weight in self._raw().items()}

    def restore(self, tensors: Mapping[str, Tensor], misfit: str) -> None:
        """Takes back what `tensors` gave; each must belong to a weight, and fit it, and none may be missing.

        They are copied: those of a file are the file itself, mapped into memory, and it is to be deleted.
        """
        parameters = dict(self.model.named_parameters())
        raw = {}
        for full, tensor in tensors.items():
            name, _, kind = full.rpartition(".")
            if name not in parameters or tensor.shape not in (parameters[name].shape, torch.Size()):
                raise CheckpointError(f"{misfit}: {full} belongs to no weight")
            if kind == RAW:
                raw[name] = tensor
            else:
                parameter = parameters[name]
                self.optimizer.state[parameter][kind] = tensor.to(parameter.device, copy=True)
        self._refuse_gaps(misfit)
        copy_into(self._raw(), raw, misfit)

    def _refuse_gaps(self, misfit: str) -> None:
        """A weight without the moments that others have would begin anew in the middle of a training."""
        state = self.optimizer.state
        kinds = {kind for parameter in self.model.parameters() for kind in state[parameter]}
        for name, parameter in self.model.named_parameters():
            if missing := kinds - state[parameter].keys():
                raise CheckpointError(f"{misfit}: {name}.{min(missing)} is missing")

    def _raw(self) -> dict[str, Tensor]:
        return {} if self.ema is None else self.ema.mean


@dataclass(frozen=True)
class Stepped:
    """What a step did, left on the device; the next step does not change these tensors."""

    loss: Float[Tensor, ""]
    """The sum over all batches of the step."""
    norm: Float[Tensor, ""]
    """Of the gradient, before clipping."""
    skipped: Bool[Tensor, ""]
    """Loss or gradient were not finite, and neither weights nor moments have moved."""


@runtime_checkable
class Step(Protocol[Batch_contra]):
    """All that touches weights, moments and mean at each step; never waits for the device."""

    def __call__(self, step: int, batches: Sequence[Batch_contra], rate: float) -> Stepped: ...


class EagerStep(Generic[Batch]):
    """The plain road: one operation after the other, on any device."""

    def __init__(self, task: Trainable[Batch], learner: Learner, seed: int, clip: float | None) -> None:
        self._task = task
        self._learner = learner
        self._seed = seed
        self._clip = clip

    def __call__(self, step: int, batches: Sequence[Batch], rate: float) -> Stepped:
        optimizer = self._learner.optimizer
        optimizer.zero_grad(set_to_none=True)
        loss = self._accumulate(step, batches)
        norm = self._clipped()
        skipped = ~(loss.isfinite() & norm.isfinite())
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.found_inf = skipped.float()  # pyright: ignore[reportAttributeAccessIssue]
        optimizer.step()
        if self._learner.ema is not None:
            self._learner.ema.update(step)
        return Stepped(loss, norm, skipped)

    def _accumulate(self, step: int, batches: Sequence[Batch]) -> Float[Tensor, ""]:
        """Gradients of the mean over all tokens of the step, however many batches they came in."""
        tokens = sum(self._task.counts(batch).target_tokens for batch in batches)
        losses = []
        for number, batch in enumerate(batches):
            torch.manual_seed(key(self._seed, step, number))
            loss = self._task.loss(batch)
            (loss / tokens).backward()
            losses.append(loss.detach())
        return torch.stack(losses).sum()

    def _clipped(self) -> Float[Tensor, ""]:
        parameters = [p for p in self._learner.model.parameters() if p.grad is not None]
        norm = nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
        if self._clip is not None:
            nn.utils.clip_grads_with_norm_(parameters, self._clip, norm)
        return norm


def key(seed: int, step: int, batch: int) -> int:
    """Randomness keyed by what is computed: dropout belongs to the data, not to how the process got here.

    A hash, since a CPU's generator takes no more than 32 bits of the key.
    """
    return int.from_bytes(hashlib.blake2b(f"{seed} {step} {batch}".encode(), digest_size=8).digest(), "big")
