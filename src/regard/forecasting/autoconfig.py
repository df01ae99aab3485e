"""Automatic settings of a forecaster: history, horizon, model size and steps from the table.

docs/forecasting.md has the reasons.
"""

import math
from dataclasses import dataclass, replace

from regard.config import Settings
from regard.errors import DataError
from regard.forecasting.dataset import read_training_table
from regard.forecasting.run import ForecastingRun
from regard.forecasting.series.calendar import season_length
from regard.forecasting.series.time_axis import MICROSECONDS_PER_DAY, TimeStep
from regard.model.transformer_forecaster import ForecasterConfig
from regard.training.device import choose_device
from regard.training.schedule import VALIDATIONS

MIN_FORECASTING_STEPS, MAX_FORECASTING_STEPS = 300, 1500
CPU_VALID_WINDOWS = 1000
"""Validation windows on a CPU, where a training takes about ten minutes on two cores."""
EPOCHS = 3
"""Few, because windows overlap: one epoch shows each value as often as a window is long."""
MAX_PATCH = 96
"""Steps per patch at most; a patch is one season, so that all patches start at the same time of it."""


@dataclass(frozen=True)
class ForecasterPreset:
    """Model size for tables of up to `max_values` training values."""

    name: str
    max_values: float
    d_model: int
    heads: int
    encoder_layers: int


FORECASTER_PRESETS = (
    ForecasterPreset("tiny", 3e3, d_model=16, heads=2, encoder_layers=1),
    ForecasterPreset("small", 2e4, d_model=32, heads=4, encoder_layers=2),
    ForecasterPreset("medium", math.inf, d_model=64, heads=4, encoder_layers=2),
)


@dataclass(frozen=True)
class ForecastingAutoconfig:
    """The settings chosen for a table, and the facts they were chosen by."""

    run: ForecastingRun
    preset: ForecasterPreset
    rows: int
    series: int
    step: TimeStep

    def explain(self, run: ForecastingRun) -> str:
        """Describe the choice; `run` is the final run, with the user's own settings applied."""
        model = run.model
        windows = max(1, self.rows - model.history - model.horizon + 1) * self.series
        epochs = run.train.steps * run.train.accumulate * run.data.batch_windows / windows
        return (
            f"{self.rows:,} training rows of {self.series} series, step {self.step}, season "
            f"{season_length(self.step)} steps: a {self.preset.name} model with history {model.history} and "
            f"horizon {model.horizon}, {epochs:.{int(epochs < 10)}f} epochs"
        )


def autoconfigure_forecasting(run: ForecastingRun, settings: Settings) -> ForecastingAutoconfig:
    """Choose settings for the table of `run`; `settings` are the ones that the user has set."""
    table = read_training_table(run.data)
    split = run.data.split_rows(table.times)
    user_model = settings.get("model", {})
    config = choose_forecasting_settings(
        len(split.train),
        len(split.valid),
        len(table.columns),
        table.time_axis.step,
        run.model.horizon if "horizon" in user_model else None,
        run.model.history if "history" in user_model else None,
        choose_device(run.compute.device).type == "cuda",
        run.train.steps if "steps" in settings.get("train", {}) else None,
        run.train.epochs,
    )
    model = config.run.model
    if model.history + model.horizon > len(split.train):
        raise DataError(
            f"{table.name} has {len(split.train):,} training rows; a window of {model.history} history and "
            f"{model.horizon} forecast steps does not fit: give more rows, or a smaller --horizon"
        )
    return config


def choose_forecasting_settings(
    rows: int,
    valid_rows: int,
    series: int,
    step: TimeStep,
    horizon: int | None = None,
    history: int | None = None,
    uses_gpu: bool = False,
    steps: int | None = None,
    epochs: float | None = None,
) -> ForecastingAutoconfig:
    """Choose settings for a table with `rows` training and `valid_rows` validation rows."""
    preset = next(preset for preset in FORECASTER_PRESETS if rows * series <= preset.max_values)
    season, daily_or_longer = (
        season_length(step),
        bool(step.months) or step.microseconds >= MICROSECONDS_PER_DAY,
    )
    if horizon is None:
        room = max(valid_rows // 2, min(season, valid_rows * 4 // 5))  # a season, if a few windows have one
        horizon = max(1, min(season if step.months else 4 * season, room, rows // 4))
    if history is None:
        seasons = 4 if step.months else 12 if daily_or_longer else 14
        history = max(2, min(seasons * season, rows // 3))
    patch = max(1, min(season if season > 1 else history // 8, MAX_PATCH, history // 3))
    default = ForecastingRun()
    windows = max(1, rows - history - horizon + 1) * series
    batch = max(16, min(default.data.batch_windows, windows // 20))
    if steps is None and epochs is not None:
        steps = max(1, round(epochs * windows / batch))
    elif steps is None:
        steps = max(round(EPOCHS * windows / batch / 50) * 50, MIN_FORECASTING_STEPS)
        steps = min(steps, MAX_FORECASTING_STEPS)
    model = ForecasterConfig(
        d_model=preset.d_model,
        heads=preset.heads,
        d_ff=2 * preset.d_model,
        encoder_layers=preset.encoder_layers,
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
        train=replace(default.train, steps=steps, save_every=-(-steps // VALIDATIONS), ema=0.99),
    )
    return ForecastingAutoconfig(run, preset, rows, series, step)
