"""Cross-entropy with label smoothing (section 5.4); padding never counts."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from regard.errors import require


@dataclass(frozen=True)
class LossConfig:
    """What is asked of a prediction."""

    label_smoothing: float = 0.1
    """Probability that is taken from the true token and spread over all."""

    def __post_init__(self) -> None:
        smoothing = self.label_smoothing
        require(
            0 <= smoothing < 1, "loss.label_smoothing", smoothing, "it must be at least 0 and less than 1"
        )


def smoothed_cross_entropy(
    logits: Float[Tensor, "batch target vocab"],
    target: Int[Tensor, "batch target"],
    smoothing: float,
    pad: int,
) -> Float[Tensor, ""]:
    """The sum over real tokens, in nats: 1 - smoothing on the true token, the rest spread evenly."""
    return functional.cross_entropy(
        logits.flatten(0, 1).float(),
        target.flatten(),
        ignore_index=pad,
        label_smoothing=smoothing,
        reduction="sum",
    )
