"""Positions to be looked at: the tables in use, and how long they are remembered."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.model.position import get_timing_signal_1d, halves, paper
from regard.trace.capture import Passed


def tables(length: int, d_model: int) -> dict[str, Float[np.ndarray, "length d_model"]]:
    """Every sinusoid found under the name of positional encoding."""
    return {
        "paper": paper(length, d_model).numpy(),
        "tensor2tensor": get_timing_signal_1d(length, d_model)[0].numpy(),
        "halves": halves(length, d_model).numpy(),
    }


class Survival(NamedTuple):
    """How much of the positions is left in what passes through a stack."""

    points: tuple[str, ...]
    cosine: Float[np.ndarray, "points length"]
    """Of the vector and its position's, both less their mean over the sentence."""
    projection: Float[np.ndarray, "points length"]
    """How many times the position's vector is in it; 1 where it was added."""


@torch.inference_mode()
def survival(
    table: Float[Tensor, "positions d_model"],
    embedded: Float[Tensor, "length d_model"],
    passed: tuple[Passed, ...],
) -> Survival:
    """Point by point. Means are taken away because they tell no position from another."""
    own = _centred(table[: len(embedded)].float())
    size = own.norm(dim=1)
    cosine, projection = [], []
    for stream in (embedded, *(each.stream for each in passed)):
        vectors = _centred(stream.float())
        shared = (vectors * own).sum(dim=1)
        cosine.append(_share(shared, vectors.norm(dim=1) * size))
        projection.append(_share(shared, size**2))
    names = ("embed", *(each.name for each in passed))
    return Survival(names, torch.stack(cosine).cpu().numpy(), torch.stack(projection).cpu().numpy())


def _centred(vectors: Float[Tensor, "length d_model"]) -> Float[Tensor, "length d_model"]:
    return vectors - vectors.mean(dim=0)


def _share(part: Float[Tensor, " length"], whole: Float[Tensor, " length"]) -> Float[Tensor, " length"]:
    """Nothing of nothing is nothing."""
    return torch.where(whole > 1e-12, part / whole.clamp(min=1e-12), 0.0)
