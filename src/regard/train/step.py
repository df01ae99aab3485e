"""One training step."""

from typing import NamedTuple

from torch import Tensor


class Stepped(NamedTuple):
    """What a step came to, still on the device."""

    loss: Tensor
    norm: Tensor
    skipped: Tensor


def key(seed: int, step: int, micro: int) -> int:
    """Randomness keyed by seed, step and micro-batch: dropout belongs to the data, not to the process."""
    return (seed * 1_000_003 + step) * 1009 + micro
