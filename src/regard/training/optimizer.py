"""Adam with the warm-up schedule of equation 3 (section 5.3), EMA and checkpoint averaging."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.checkpoint import WEIGHTS_FILE
from regard.config import check_ranges, setting
from regard.errors import require_setting
from regard.training.weights import load_tensors


@dataclass(frozen=True)
class OptimizerConfig:
    """Optimizer and learning rate schedule; the defaults are those of the paper."""

    warmup: int = setting(4000, at_least=1, at_most=10**9)
    """Steps over which the learning rate rises."""
    peak: float | None = setting(None, at_most=1000.0)
    """Learning rate at the end of the warm-up; none is that of the paper, 1 / sqrt(d_model * warmup)."""
    cooldown: int | None = setting(None, at_least=1, at_most=10**9)
    """Last steps, over which the learning rate falls linearly to zero; none, as in the paper: no cooldown."""
    beta1: float = 0.9
    beta2: float = 0.98
    epsilon: float = setting(1e-9, at_most=1.0)
    weight_decay: float = setting(0.0, at_least=0, at_most=1000.0)
    """Weight decay (AdamW) of matrices and embeddings; 0, as in the paper, is off."""

    def __post_init__(self) -> None:
        check_ranges(self, "optimizer")
        peak = self.peak
        positive = peak is None or 0 < peak < math.inf
        require_setting(positive, "optimizer.peak", peak, "it must be a number above 0, or none")
        for name in ("beta1", "beta2"):
            value = getattr(self, name)
            require_setting(
                0 <= value < 1, f"optimizer.{name}", value, "it must be at least 0 and less than 1"
            )
        require_setting(
            0 < self.epsilon < math.inf, "optimizer.epsilon", self.epsilon, "it must be a number above 0"
        )


def learning_rate(step: int, steps: int, d_model: int, config: OptimizerConfig) -> float:
    """Equation 3: rise linearly for `warmup` steps, then fall as 1 / sqrt(step); steps count from 1.

    Not in the paper: a cooldown, which reaches zero one step after the last of `steps`.
    """
    peak = (d_model * config.warmup) ** -0.5 if config.peak is None else config.peak
    cooldown = 1.0 if config.cooldown is None else min(1.0, (steps + 1 - step) / config.cooldown)
    return peak * min((config.warmup / step) ** 0.5, step / config.warmup) * cooldown


def build_optimizer(model: nn.Module, config: OptimizerConfig) -> torch.optim.Adam:
    """Return the Adam of the paper, or AdamW with weight decay; each step sets its learning rate."""
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
    """An exponential moving average of the weights of a model."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self._weights = dict(model.named_parameters())
        self.averages = {name: weight.detach().clone() for name, weight in self._weights.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Include the weights of a step; the decay is lower at first, so that the initial weights fade."""
        decay = min(self.decay, (1 + step) / (10 + step))
        averages, weights = tuple(self.averages.values()), tuple(self._weights.values())
        torch._foreach_lerp_(averages, weights, 1 - decay)  # pyright: ignore[reportPrivateImportUsage]

    @torch.no_grad()
    def swap(self) -> None:
        """Swap weights and averages in place."""
        for name, weight in self._weights.items():
            raw = weight.clone()
            weight.copy_(self.averages[name])
            self.averages[name].copy_(raw)


def average_weights(folders: Sequence[Path]) -> dict[str, Tensor]:
    """Return the mean of the weights of some checkpoints (section 6.1), whose files were checked."""
    total = load_tensors(folders[0] / WEIGHTS_FILE)
    for folder in folders[1:]:
        for name, weight in load_tensors(folder / WEIGHTS_FILE).items():
            total[name] += weight
    return {name: weight / len(folders) for name, weight in total.items()}
