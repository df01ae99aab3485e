"""Adam and the warm-up schedule: section 5.3, equation 3."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.checkpoint import WEIGHTS_FILE
from regard.errors import require_setting
from regard.train.weights import load_tensors


@dataclass(frozen=True)
class OptimizerConfig:
    """How the weights move; the defaults are the paper's."""

    warmup: int = 4000
    """Steps over which the rate rises."""
    peak: float | None = None
    """The rate at the end of the warm-up; none is the paper's, 1 / sqrt(d_model * warmup)."""
    cooldown: int | None = None
    """The last steps, over which the rate goes to zero; none, as in the paper, is no such end."""
    beta1: float = 0.9
    beta2: float = 0.98
    epsilon: float = 1e-9
    weight_decay: float = 0.0
    """AdamW's, on matrices and embeddings alone; 0, as in the paper, is none."""

    def __post_init__(self) -> None:
        require_setting(self.warmup >= 1, "optimizer.warmup", self.warmup, "it must be at least 1")
        peak, cooldown = self.peak, self.cooldown
        positive = peak is None or 0 < peak < math.inf
        require_setting(positive, "optimizer.peak", peak, "it must be a number above 0, or none")
        require_setting(
            cooldown is None or cooldown >= 1, "optimizer.cooldown", cooldown, "it must be 1 or more, or none"
        )
        for name in ("beta1", "beta2"):
            value = getattr(self, name)
            require_setting(
                0 <= value < 1, f"optimizer.{name}", value, "it must be at least 0 and less than 1"
            )
        require_setting(
            0 < self.epsilon < math.inf, "optimizer.epsilon", self.epsilon, "it must be a number above 0"
        )
        decay = self.weight_decay
        require_setting(
            0 <= decay < math.inf, "optimizer.weight_decay", decay, "it must be a number, 0 or above"
        )


def learning_rate(step: int, steps: int, d_model: int, config: OptimizerConfig) -> float:
    """Equation 3: up in a straight line for `warmup` steps, then down as 1 / sqrt(step), from step 1.

    Not in the paper: a cooldown, which ends at zero just after the last of `steps`.
    """
    peak = (d_model * config.warmup) ** -0.5 if config.peak is None else config.peak
    left = 1.0 if config.cooldown is None else min(1.0, (steps + 1 - step) / config.cooldown)
    return peak * min((config.warmup / step) ** 0.5, step / config.warmup) * left


def build_optimizer(model: nn.Module, config: OptimizerConfig) -> torch.optim.Adam:
    """The paper's Adam, or AdamW where weights are to decay; the loop sets the rate before each step."""
    betas = (config.beta1, config.beta2)
    if not config.weight_decay:
        return torch.optim.Adam(model.parameters(), lr=0.0, betas=betas, eps=config.epsilon, fused=True)
    matrices = [parameter for parameter in model.parameters() if parameter.ndim > 1]
    others = [parameter for parameter in model.parameters() if parameter.ndim <= 1]
    groups = [
        {"params": matrices, "weight_decay": config.weight_decay},
        {"params": others, "weight_decay": 0.0},  # biases and norms
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=betas, eps=config.epsilon, fused=True)


class Ema:
    """An exponential moving mean of a model's weights."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self._decay = decay
        self._weights = dict(model.named_parameters())
        self.averages = {name: weight.detach().clone() for name, weight in self._weights.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Takes a step's weights in. Early on the mean is short, or the first weights would stay in it."""
        decay = min(self._decay, (1 + step) / (10 + step))
        mean, weights = tuple(self.averages.values()), tuple(self._weights.values())
        torch._foreach_lerp_(mean, weights, 1 - decay)  # pyright: ignore[reportPrivateImportUsage]

    @torch.no_grad()
    def swap(self) -> None:
        """Weights and mean change places, in the tensors that are there."""
        for name, weight in self._weights.items():
            held = weight.clone()
            weight.copy_(self.averages[name])
            self.averages[name].copy_(held)


def average_weights(folders: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the weights of some checkpoints, which must be whole."""
    total = load_tensors(folders[0] / WEIGHTS_FILE)
    for checkpoint in folders[1:]:
        for name, weight in load_tensors(checkpoint / WEIGHTS_FILE).items():
            total[name] += weight
    return {name: weight / len(folders) for name, weight in total.items()}
