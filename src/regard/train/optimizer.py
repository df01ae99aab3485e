"""Adam and the warm-up schedule: section 5.3, equation 3."""

from dataclasses import dataclass

import torch
from torch import nn

from regard.errors import ConfigError


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

    def __post_init__(self) -> None:
        if self.warmup < 1:
            raise ConfigError(f"optimizer.warmup = {self.warmup} cannot work; it must be at least 1")
        if self.peak is not None and self.peak <= 0:
            raise ConfigError(f"optimizer.peak = {self.peak} cannot work; it must be more than 0, or none")
        if self.cooldown is not None and self.cooldown < 1:
            raise ConfigError(
                f"optimizer.cooldown = {self.cooldown} cannot work; it must be at least 1, or none"
            )
        for name in ("beta1", "beta2"):
            value = getattr(self, name)
            if not 0 <= value < 1:
                raise ConfigError(f"optimizer.{name} = {value} cannot work; it must be at least 0, below 1")


def learning_rate(step: int, steps: int, d_model: int, config: OptimizerConfig) -> float:
    """Equation 3: up in a straight line for `warmup` steps, then down as 1 / sqrt(step), from step 1.

    Not in the paper: a cooldown, which ends at zero just after the last of `steps`.
    """
    peak = (d_model * config.warmup) ** -0.5 if config.peak is None else config.peak
    left = 1.0 if config.cooldown is None else min(1.0, (steps + 1 - step) / config.cooldown)
    return peak * min((config.warmup / step) ** 0.5, step / config.warmup) * left


def adam(model: nn.Module, config: OptimizerConfig) -> torch.optim.Adam:
    """The paper's Adam; the loop sets the rate before each step."""
    return torch.optim.Adam(
        model.parameters(), lr=0.0, betas=(config.beta1, config.beta2), eps=config.epsilon, fused=True
    )
