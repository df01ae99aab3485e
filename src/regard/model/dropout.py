"""Dropout (section 5.4), with 16 random bits per number on a CPU."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

RANDOM_LEVELS = 2**16


class Dropout(nn.Dropout):
    """nn.Dropout, except that a CPU draws 16 random bits per number and not a float.

    torch's own random numbers took a twentieth of a training step. The dropped share is within
    1 / 65536 of p, and the scale follows it. The backward pass keeps one byte per number.
    """

    def forward(self, input: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        if not self.training or self.p == 0.0:
            return input
        if input.device.type != "cpu" or torch.compiler.is_compiling():
            return functional.dropout(input, self.p, training=True)
        dropped = min(round(self.p * RANDOM_LEVELS), RANDOM_LEVELS - 1)
        return (input * _draw_keep_mask(input.shape, dropped)).mul_(RANDOM_LEVELS / (RANDOM_LEVELS - dropped))


def _draw_keep_mask(shape: torch.Size, dropped: int) -> Tensor:
    """Return True for numbers that stay; 64 random bits decide on four of them."""
    bits = torch.empty((shape.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    levels = bits.view(torch.int16)[: shape.numel()].view(shape)
    return levels >= dropped - RANDOM_LEVELS // 2
