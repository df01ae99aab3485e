"""Attention beside a linear layer and a convolution over positions: whose weights follow the input.

A linear mixer has one weight for each pair of positions and a convolution one for each distance up to its
reach, the same for every sentence. The ones shown are those that come nearest to a head of the model over
two sentences, so that what they miss is what attention gains by computing its weights anew.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

REACH = 1
"""Positions to either side that a convolution of kernel size 3 sees."""


@dataclass(frozen=True, eq=False)
class Mixers:
    """The weights of each, and how they fare; distances are shares of a row's mass, from 0 to 1."""

    linear: Float[np.ndarray, "query key"]
    convolution: Float[np.ndarray, "query key"]
    kernel: Float[np.ndarray, " size"]
    changes: float
    """How far attention moved its weights from the one sentence to the other; the others cannot."""
    linear_misses: float
    convolution_misses: float


def mixers(first: Float[np.ndarray, "query key"], second: Float[np.ndarray, "query key"]) -> Mixers:
    """Least squares over both sentences: a mean for each pair of positions, and for each distance."""
    linear = (first + second) / 2
    kernel = np.array(
        [np.diagonal(linear, offset).mean() if abs(offset) < len(linear) else 0.0 for offset in _offsets()]
    )
    convolution = sum(
        (share * np.eye(len(linear), k=offset) for share, offset in zip(kernel, _offsets(), strict=True)),
        start=np.zeros_like(linear),
    )
    return Mixers(
        linear,
        convolution,
        kernel,
        _moved(first, second),
        (_moved(first, linear) + _moved(second, linear)) / 2,
        (_moved(first, convolution) + _moved(second, convolution)) / 2,
    )


def _offsets() -> range:
    return range(-REACH, REACH + 1)


def _moved(one: Float[np.ndarray, "query key"], other: Float[np.ndarray, "query key"]) -> float:
    """The mass that would have to be moved, on average over the rows."""
    return float(np.abs(one - other).sum(axis=1).mean() / 2)
