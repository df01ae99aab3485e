"""Settings of a forecasting run: loss, data, and the sections shared with every task."""

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from regard.errors import require_setting
from regard.forecasting.model_folder import FORECASTING_TASK
from regard.forecasting.series.config import SeriesDataConfig
from regard.model.transformer_forecaster import ForecasterConfig
from regard.training.device import ComputeConfig
from regard.training.loop import TrainConfig
from regard.training.optimizer import OptimizerConfig

PointLoss = Literal["squared", "absolute", "huber"]


@dataclass(frozen=True)
class ForecastLossConfig:
    """The training loss of a forecaster: a point loss and the pinball loss of the quantiles."""

    point: PointLoss = "squared"
    """Loss of the point forecast. squared: it is the mean. absolute: the median. huber: in between."""
    pinball: float = 1.0
    """Weight of the quantiles' pinball loss; 0 leaves the quantiles untrained."""

    def __post_init__(self) -> None:
        weight = self.pinball
        require_setting(
            0 <= weight < math.inf, "loss.pinball", weight, "it must be a finite number, at least 0"
        )


@dataclass(frozen=True)
class ForecastingRun:
    """All settings of a forecasting run, one TOML section per field."""

    task: ClassVar[str] = FORECASTING_TASK
    model: ForecasterConfig = field(default_factory=ForecasterConfig)
    data: SeriesDataConfig = field(default_factory=SeriesDataConfig)
    optimizer: OptimizerConfig = field(
        default_factory=lambda: OptimizerConfig(warmup=100, peak=1e-3, cooldown=600, weight_decay=0.01)
    )
    loss: ForecastLossConfig = field(default_factory=ForecastLossConfig)
    train: TrainConfig = field(
        default_factory=lambda: TrainConfig(steps=800, save_every=50, clip=1.0, ema=0.99)
    )
    compute: ComputeConfig = field(default_factory=lambda: ComputeConfig(precision="fp32"))
    """fp32 by default: the digits of a series matter, and these models are small."""

    def __post_init__(self) -> None:
        judge = self.train.judge
        require_setting(judge == "loss", "train.judge", judge, "it must be loss for a forecaster")
