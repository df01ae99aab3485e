"""What is asked of a forecast: a mean that is near, and quantiles that lie where they say."""

import math
from dataclasses import dataclass
from typing import Literal, assert_never

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from regard.errors import require_setting

PointLoss = Literal["squared", "absolute", "huber"]


@dataclass(frozen=True)
class ForecastLossConfig:
    """How far is too far."""

    point: PointLoss = "squared"
    """Of the first number foretold. squared: it is the mean. absolute: the median. huber: in between."""
    pinball: float = 1.0
    """How much the quantiles weigh beside it; 0 leaves them as they are."""

    def __post_init__(self) -> None:
        weight = self.pinball
        require_setting(0 <= weight < math.inf, "loss.pinball", weight, "it must be a number, at least 0")


def forecast_loss(
    prediction: Float[Tensor, "batch horizon channels outputs"],
    target: Float[Tensor, "batch horizon channels"],
    quantiles: tuple[float, ...],
    config: ForecastLossConfig,
) -> Float[Tensor, ""]:
    """The sum over values of the point's error and of the quantiles' mean pinball loss."""
    loss = _point_loss(prediction[..., 0], target, config.point)
    if quantiles and config.pinball:
        loss = loss + config.pinball * pinball_loss(prediction[..., 1:], target, quantiles) / len(quantiles)
    return loss


def pinball_loss(
    prediction: Float[Tensor, "batch horizon channels quantiles"],
    target: Float[Tensor, "batch horizon channels"],
    quantiles: tuple[float, ...],
) -> Float[Tensor, ""]:
    """The sum over values and quantiles; least where each share of the values lies below its quantile."""
    losses = []
    for share, quantile in zip(quantiles, prediction.unbind(-1), strict=True):
        error = target - quantile
        losses.append(torch.maximum(share * error, (share - 1) * error).sum())
    return torch.stack(losses).sum()


def _point_loss(foretold: Tensor, target: Tensor, kind: PointLoss) -> Tensor:
    match kind:
        case "squared":
            return functional.mse_loss(foretold, target, reduction="sum")
        case "absolute":
            return functional.l1_loss(foretold, target, reduction="sum")
        case "huber":
            return functional.huber_loss(foretold, target, reduction="sum")
        case _:
            assert_never(kind)
