"""A plan for a table: how much is seen and foretold, which model, how long, when nobody says."""

import math
from dataclasses import dataclass, replace
from pathlib import Path

from regard.config import Settings
from regard.errors import DataError
from regard.forecasting.dataset import fingerprints
from regard.forecasting.run import ForecastRun
from regard.forecasting.series.calendar import season
from regard.forecasting.series.read_table import read_table
from regard.forecasting.series.time_axis import Step
from regard.model.forecaster import ForecasterConfig
from regard.train.device import choose_device

DAY = 86_400_000_000
FEWEST_STEPS, MOST_STEPS = 300, 1500
CPU_WINDOWS = 1000
"""Validation windows there, and in all about ten minutes' work on two cores."""
EPOCHS = 3
"""Windows overlap, so that an epoch shows each value as often as a window is long."""
LONGEST_PATCH = 96
"""Steps; a patch is a season, so that all patches begin at the same time of the day, or of the week."""


@dataclass(frozen=True)
class Size:
    """What suits tables of up to so many training values."""

    name: str
    upto: float
    d_model: int
    heads: int
    encoder_layers: int


SIZES = (
    Size("tiny", 3e3, d_model=16, heads=2, encoder_layers=1),
    Size("small", 2e4, d_model=32, heads=4, encoder_layers=2),
    Size("usual", math.inf, d_model=64, heads=4, encoder_layers=2),
)
CHOSEN = {
    "data": ("batch_windows", "valid_windows"),
    "optimizer": ("peak", "warmup", "cooldown"),
    "train": ("steps", "save_every", "ema"),
}
"""The settings that a plan decides, beside those of the model."""


@dataclass(frozen=True)
class ForecastPlan:
    """Settings to begin with, and why."""

    run: ForecastRun
    size: Size
    rows: int
    series: int
    step: Step

    def why(self, run: ForecastRun) -> str:
        """What was found and what is done about it; `run` is the plan with what else was asked for."""
        model, seen = run.model, run.train.steps * run.train.accumulate * run.data.batch_windows
        epochs = seen / max(1, (self.rows - model.history - model.horizon + 1) * self.series)
        return (
            f"{self.rows:,} rows of {self.series} series to learn from, {self.step} apart, a season of "
            f"{season(self.step)}: a {self.size.name} model that sees {model.history} steps and foretells "
            f"{model.horizon}, {epochs:.{int(epochs < 10)}f} epochs"
        )


def plan(asked: ForecastRun, settings: Settings) -> ForecastPlan:
    """For the table as it is; `settings` are those that somebody asked for."""
    fingerprints(asked.data)  # says what is wrong with the path
    table = read_table(Path(asked.data.path), asked.data.time, asked.data.columns, asked.data.longest_gap)
    parts = asked.data.parts(table.times)
    named = settings.get("model", {})
    horizon = asked.model.horizon if "horizon" in named else None
    history = asked.model.history if "history" in named else None
    steps = asked.train.steps if "steps" in settings.get("train", {}) else None
    gpu = choose_device(asked.compute.device).type == "cuda"
    series = len(table.columns)
    found = plan_for(
        len(parts.train), len(parts.valid), series, table.clock.step, horizon, history, gpu, steps
    )
    if found.run.model.history + found.run.model.horizon > len(parts.train):
        model = found.run.model
        raise DataError(
            f"{table.name} has {len(parts.train):,} training rows; a window of {model.history} steps seen "
            f"and {model.horizon} foretold does not fit: give more rows, or a smaller --horizon"
        )
    return found


def plan_for(
    rows: int,
    valid: int,
    series: int,
    step: Step,
    horizon: int | None = None,
    history: int | None = None,
    gpu: bool = False,
    steps: int | None = None,
) -> ForecastPlan:
    """The plan for so many training and validation rows of so many series."""
    size = next(size for size in SIZES if rows * series <= size.upto)
    cycle, long = season(step), bool(step.months) or step.microseconds >= DAY
    if horizon is None:
        horizon = max(1, min(cycle if step.months else 4 * cycle, valid // 2, rows // 4))
    if history is None:
        history = max(2, min((4 if step.months else 12 if long else 14) * cycle, rows // 3))
    patch = max(1, min(cycle if cycle > 1 else history // 8, LONGEST_PATCH, history // 3))
    default = ForecastRun()
    windows = max(1, rows - history - horizon + 1) * series
    batch = max(16, min(default.data.batch_windows, windows // 20))
    if steps is None:
        steps = min(max(round(EPOCHS * windows / batch / 50) * 50, FEWEST_STEPS), MOST_STEPS)
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
        data=replace(default.data, batch_windows=batch, valid_windows=None if gpu else CPU_WINDOWS),
        optimizer=replace(
            default.optimizer, warmup=max(1, min(100, steps // 5)), cooldown=max(1, steps * 3 // 4)
        ),
        train=replace(default.train, steps=steps, save_every=max(1, steps // 10), ema=0.99),
    )
    return ForecastPlan(run, size, rows, series, step)


def chosen(settings: Settings) -> Settings:
    """Those of a run's settings that a plan decides: it is made once, however the file or regard changes."""
    found = {
        section: {name: value for name, value in settings.get(section, {}).items() if name in names}
        for section, names in CHOSEN.items()
    }
    return {"model": settings.get("model", {}), **found}
