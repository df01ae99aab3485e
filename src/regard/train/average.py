"""Weights that are a mean: of the last checkpoints (section 6.1), or of all steps, the last ones most."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.checkpoint import WEIGHTS
from regard.train.weights import load_tensors


class Ema:
    """An exponential moving mean of a model's weights."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self._decay = decay
        self._weights = dict(model.named_parameters())
        self.mean = {name: weight.detach().clone() for name, weight in self._weights.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Takes a step's weights in. Early on the mean is short, or the first weights would stay in it."""
        decay = min(self._decay, (1 + step) / (10 + step))
        mean, weights = tuple(self.mean.values()), tuple(self._weights.values())
        torch._foreach_lerp_(mean, weights, 1 - decay)  # pyright: ignore[reportPrivateImportUsage]

    @torch.no_grad()
    def swap(self) -> None:
        """Weights and mean change places, in the tensors that are there."""
        for name, weight in self._weights.items():
            held = weight.clone()
            weight.copy_(self.mean[name])
            self.mean[name].copy_(held)


def mean_weights(checkpoints: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the weights of some checkpoints, which must be whole."""
    total = load_tensors(checkpoints[0] / WEIGHTS)
    for checkpoint in checkpoints[1:]:
        for name, weight in load_tensors(checkpoint / WEIGHTS).items():
            total[name] += weight
    return {name: weight / len(checkpoints) for name, weight in total.items()}
