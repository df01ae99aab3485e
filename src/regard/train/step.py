"""One step: gradients of some batches, their norm, a guard, and the move of the weights."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.train.learner import Learner
from regard.train.trainable import Batch, Trainable

Batch_contra = TypeVar("Batch_contra", contravariant=True)


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
