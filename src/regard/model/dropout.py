"""Dropout (section 5.4), with cheap dice on a CPU."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

RANDOM_LEVELS = 2**16


class Dropout(nn.Dropout):
    """nn.Dropout, except that a CPU draws 16 bits a number and not a float.

    torch's own draw took a twentieth of a training step. The share that is dropped is within
    1 / 65536 of p, and the scale follows it. For the way back one byte a number is kept.
    """

    def forward(self, input: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        if not self.training or self.p == 0.0:
            return input
        if input.device.type != "cpu" or torch.compiler.is_compiling():
            return functional.dropout(input, self.p, training=True)
        dropped = min(round(self.p * RANDOM_LEVELS), RANDOM_LEVELS - 1)
        return (input * _draw_keep_mask(input.shape, dropped)).mul_(RANDOM_LEVELS / (RANDOM_LEVELS - dropped))


def _draw_keep_mask(shape: torch.Size, dropped: int) -> Tensor:
    """True for what stays: each throw of 64 bits decides on four."""
    throws = torch.empty((shape.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    faces = throws.view(torch.int16)[: shape.numel()].view(shape)
    return faces >= dropped - RANDOM_LEVELS // 2
