"""One head of attention beside a linear layer and a convolution over words, whose weights stay the same."""

from typing import Any

import numpy as np
from jaxtyping import Float

from regard.errors import DataError
from regard.trace.trace import Trace

OFFSETS = (-2, -1, 0, 1, 2)
"""The words that the convolution sees, from each word's own place."""
DIGITS = 6
Weights = Float[np.ndarray, "length length"]


def mixers(first: Trace, second: Trace, layer: int, head: int) -> dict[str, Any]:
    """Where the head looks in two sentences, and the fixed weights that come nearest to both.

    Nearest in the sum of squares: the mean of both for a linear layer, whose weights are any matrix; the
    mean along each diagonal for a convolution, whose weights depend on the distance alone.
    """
    sides = [first, second]
    counts = [len(trace.source.tokens) for trace in sides]
    if counts[0] != counts[1]:
        raise DataError(
            f"the sentences have {counts[0]} and {counts[1]} tokens; "
            "a linear layer over words needs equally many, so choose others"
        )
    looks = [trace.attention["encoder"][layer - 1, head - 1].astype(np.float64) for trace in sides]
    linear = (looks[0] + looks[1]) / 2
    kernel = _kernel(linear)
    convolution = _spread(kernel, len(linear))
    return {
        "tokens": [[token.text for token in trace.source.tokens] for trace in sides],
        "layer": layer,
        "head": head,
        "attention": [_plain(each) for each in looks],
        "linear": _plain(linear),
        "convolution": {"offsets": list(OFFSETS), "kernel": _plain(kernel)},
        "convolved": _plain(convolution),
        "change": float(np.abs(looks[0] - looks[1]).max()),
        "miss": {
            "linear": [float(np.abs(each - linear).max()) for each in looks],
            "convolution": [float(np.abs(each - convolution).max()) for each in looks],
        },
    }


def _kernel(weights: Weights) -> Float[np.ndarray, " offsets"]:
    """One weight for each distance."""
    within = [offset if abs(offset) < len(weights) else None for offset in OFFSETS]
    return np.array([0.0 if each is None else np.diagonal(weights, each).mean() for each in within])


def _spread(kernel: Float[np.ndarray, " offsets"], length: int) -> Weights:
    places = zip(OFFSETS, kernel, strict=True)
    return np.sum([weight * np.eye(length, k=offset) for offset, weight in places], axis=0)


def _plain(array: np.ndarray) -> list[Any]:
    return array.round(DIGITS).tolist()
