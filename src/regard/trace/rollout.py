"""Attention through several layers: pairs, then pairs of pairs."""

import numpy as np
from jaxtyping import Float


def rollout(
    weights: Float[np.ndarray, "layers heads length length"], kept: float = 0.5
) -> Float[np.ndarray, "layers length length"]:
    """How much of each token is in each other after each layer, rows summing to 1.

    Heads are averaged, and the share `kept` is what the residual carries past the attention: an
    estimate, since values differ in size and feed-forward layers do what they like.
    """
    so_far = np.eye(weights.shape[-1], dtype=weights.dtype)
    found = []
    for layer in weights.mean(axis=1):
        so_far = (kept * np.eye(len(layer), dtype=weights.dtype) + (1 - kept) * layer) @ so_far
        found.append(so_far)
    return np.stack(found)
