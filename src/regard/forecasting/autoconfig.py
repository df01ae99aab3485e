"""A plan for a table: how much is seen and foretold, which model, how long, when nobody says."""

import math
from dataclasses import dataclass, replace
from pathlib import Path

from regard.config import Settings
from regard.errors import DataError
from regard.forecasting.dataset import hash_series_file
from regard.forecasting.run import ForecastingRun
from regard.forecasting.series.calendar import season_length
from regard.forecasting.series.read_table import read_series_table
from regard.forecasting.series.time_axis import TimeStep
from regard.model.forecaster import ForecasterConfig
from regard.train.device import choose_device

MICROSECONDS_PER_DAY = 86_400_000_000
MIN_FORECASTING_STEPS, MAX_FORECASTING_STEPS = 300, 1500
CPU_VALID_WINDOWS = 1000
"""Validation windows there, and in all about ten minutes' work on two cores."""
EPOCHS = 3
"""Windows overlap, so that an epoch shows each value as often as a window is long."""
MAX_PATCH = 96
"""Steps; a patch is a season, so that all patches begin at the same time of the day, or of the week."""


@dataclass(frozen=True)
class ForecasterPreset:
    """What suits tables of up to so many training values."""

    name: str
    max_values: float
    d_model: int
    heads: int
    encoder_layers: int


FORECASTER_PRESETS = (
    ForecasterPreset("tiny", 3e3, d_model=16, heads=2, encoder_layers=1),
    ForecasterPreset("small", 2e4, d_model=32, heads=4, encoder_layers=2),
    ForecasterPreset("usual", math.inf, d_model=64, heads=4, encoder_layers=2),
)
FORECASTING_AUTO_SETTINGS = {
    "data": ("batch_windows", "valid_windows"),
    "optimizer": ("peak", "warmup", "cooldown"),
    "train": ("steps", "save_every", "ema"),
}
"""The settings that a plan decides, beside those of the model."""


@dataclass(frozen=True)
class ForecastingAutoconfig:
    """Settings to begin with, and why."""

    run: ForecastingRun
    preset: ForecasterPreset
    rows: int
    series: int
    step: TimeStep

    def explain(self, run: ForecastingRun) -> str:
        """What was found and what is done about it; `run` is the plan with what else was asked for."""
        model, seen = run.model, run.train.steps * run.train.accumulate * run.data.batch_windows
        epochs = seen / max(1, (self.rows - model.history - model.horizon + 1) * self.series)
        return (
            f"{self.rows:,} rows of {self.series} series to learn from, {self.step} apart, a season of "
            f"{season_length(self.step)}: a {self.preset.name} model that sees {model.history} steps and foretells "
            f"{model.horizon}, {epochs:.{int(epochs < 10)}f} epochs"
        )


def autoconfigure_forecasting(run: ForecastingRun, settings: Settings) -> ForecastingAutoconfig:
    """For the table as it is; `settings` are those that somebody asked for."""
    hash_series_file(run.data)  # says what is wrong with the path
    table = read_series_table(
        Path(run.data.series_path), run.data.time, run.data.columns, run.data.longest_gap
    )
    parts = run.data.split_rows(table.times)
    named = settings.get("model", {})
    horizon = run.model.horizon if "horizon" in named else None
    history = run.model.history if "history" in named else None
    steps = run.train.steps if "steps" in settings.get("train", {}) else None
    gpu = choose_device(run.compute.device).type == "cuda"
    series = len(table.columns)
    found = choose_forecasting_settings(
        len(parts.train), len(parts.valid), series, table.time_axis.step, horizon, history, gpu, steps
    )
    if found.run.model.history + found.run.model.horizon > len(parts.train):
        model = found.run.model
        raise DataError(
            f"{table.name} has {len(parts.train):,} training rows; a window of {model.history} steps seen "
            f"and {model.horizon} foretold does not fit: give more rows, or a smaller --horizon"
        )
    return found


def choose_forecasting_settings(
    rows: int,
    valid_rows: int,
    series: int,
    step: TimeStep,
    horizon: int | None = None,
    history: int | None = None,
    uses_gpu: bool = False,
    steps: int | None = None,
) -> ForecastingAutoconfig:
    """The plan for so many training and validation rows of so many series."""
    size = next(size for size in FORECASTER_PRESETS if rows * series <= size.max_values)
    cycle, long = season_length(step), bool(step.months) or step.microseconds >= MICROSECONDS_PER_DAY
    if horizon is None:
        horizon = max(1, min(cycle if step.months else 4 * cycle, valid_rows // 2, rows // 4))
    if history is None:
        history = max(2, min((4 if step.months else 12 if long else 14) * cycle, rows // 3))
    patch = max(1, min(cycle if cycle > 1 else history // 8, MAX_PATCH, history // 3))
    default = ForecastingRun()
    windows = max(1, rows - history - horizon + 1) * series
    batch = max(16, min(default.data.batch_windows, windows // 20))
    if steps is None:
        steps = min(
            max(round(EPOCHS * windows / batch / 50) * 50, MIN_FORECASTING_STEPS), MAX_FORECASTING_STEPS
        )
    model = ForecasterConfig(
        d_model=size.d_model,
        heads=size.heads,
        d_ff=2 * size.d_model,
        encoder_layers=size.encoder_layers,
        history=history,
        horizon=horizon,
        patch=patch,
        stride=patch,
    )
    run = replace(
        default,
        model=model,
        data=replace(
            default.data, batch_windows=batch, valid_windows=None if uses_gpu else CPU_VALID_WINDOWS
        ),
        optimizer=replace(
            default.optimizer, warmup=max(1, min(100, steps // 5)), cooldown=max(1, steps * 3 // 4)
        ),
        train=replace(default.train, steps=steps, save_every=max(1, steps // 10), ema=0.99),
    )
    return ForecastingAutoconfig(run, size, rows, series, step)


def select_forecasting_auto_settings(settings: Settings) -> Settings:
    """Those of a run's settings that a plan decides: it is made once, however the file or regard changes."""
    found = {
        section: {name: value for name, value in settings.get(section, {}).items() if name in names}
        for section, names in FORECASTING_AUTO_SETTINGS.items()
    }
    return {"model": settings.get("model", {}), **found}
