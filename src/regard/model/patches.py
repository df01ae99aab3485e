"""A series in patches: short stretches that a linear map makes one vector each, in place of tokens."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional


def patch_count(time: int, patch: int, stride: int) -> int:
    """How many patches cover so many steps."""
    return -(-max(time - patch, 0) // stride) + 1


def patches(
    values: Float[Tensor, "batch time channels"], patch: int, stride: int
) -> Float[Tensor, "batch patches width"]:
    """Stretches of `patch` steps, `stride` apart, each as one row of numbers, channel after channel.

    The last one ends with the series, since what is newest says most; where the first one would begin
    before the series does, the first value is repeated.
    """
    time = values.shape[1]
    before = (patch_count(time, patch, stride) - 1) * stride + patch - time
    longer = functional.pad(values.transpose(1, 2), (before, 0), mode="replicate")
    return longer.unfold(2, patch, stride).transpose(1, 2).flatten(2)


def first_steps(time: int, patch: int, stride: int, device: torch.device) -> Int[Tensor, " patches"]:
    """The step at which each patch begins: as the steps are regular, it tells when the others are."""
    count = patch_count(time, patch, stride)
    after = torch.arange(count - 1, -1, -1, device=device)
    return (time - patch - stride * after).clamp(min=0)
