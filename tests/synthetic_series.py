"""Synthetic series: noisy sine waves that a small forecaster learns in seconds."""

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from regard.forecasting.run import ForecastingRun
from regard.forecasting.series.config import SeriesDataConfig
from regard.model.transformer_forecaster import ForecasterConfig
from regard.training.device import ComputeConfig
from regard.training.loop import TrainConfig
from regard.training.optimizer import OptimizerConfig

START = datetime(2024, 1, 1)
MODEL = ForecasterConfig(
    d_model=16, heads=2, d_ff=32, encoder_layers=1, history=48, horizon=12, patch=12, stride=12, dropout=0.0
)


def write_wave_series(path: Path, rows: int = 300, seed: int = 0) -> Path:
    """Write two hourly series with a daily sine wave, different scale and level, and a little noise."""
    noise = np.random.default_rng(seed).normal(size=(rows, 2))
    lines = ["date,load,heat"]
    for hour in range(rows):
        wave = np.sin(2 * np.pi * hour / 24)
        values = (100 + 10 * wave + 0.1 * noise[hour, 0], -3 + wave + 0.01 * noise[hour, 1])
        lines.append(f"{START + timedelta(hours=hour)},{values[0]:.6f},{values[1]:.6f}")
    path.write_text("\n".join(lines) + "\n")
    return path


def small_forecast_run(path: Path, steps: int = 4, **data: object) -> ForecastingRun:
    """Return a run of a few steps; `data` overrides settings of the section data."""
    return ForecastingRun(
        model=MODEL,
        data=SeriesDataConfig(series=str(path), batch_windows=32, **data),  # pyright: ignore[reportArgumentType]
        optimizer=OptimizerConfig(peak=0.01, warmup=5),
        train=TrainConfig(steps=steps, save_every=max(1, steps // 2), seed=5, log_every=1, clip=1.0),
        compute=ComputeConfig(device="cpu", precision="fp32"),
    )
