"""Training of a resolved run with the task it is for."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from regard.training.loop import TrainingResult
    from regard.training.setup import RunConfig


def train_task(run: "RunConfig", out: Path, console: "Console") -> "TrainingResult":
    from regard.classification.run import ClassificationRun
    from regard.classification.task import train_classification
    from regard.forecasting.run import ForecastingRun
    from regard.forecasting.task import train_forecasting
    from regard.plots.curves_page import render_model_card_svg
    from regard.translation.run import TranslationRun
    from regard.translation.task import train_translation

    match run:
        case TranslationRun():
            return train_translation(run, out, console, render_curves=render_model_card_svg)
        case ClassificationRun():
            return train_classification(run, out, console, render_curves=render_model_card_svg)
        case ForecastingRun():
            return train_forecasting(run, out, console, render_curves=render_model_card_svg)
        case _:
            raise TypeError(f"unknown task {run.task}")


def input_settings(run: "RunConfig") -> Iterator[tuple[str, Path]]:
    """Yield each setting that names an input, with its path: a run file may hold it instead of a flag."""
    from regard.config import run_traits

    for name, traits in run_traits(run).items():
        section, _, key = name.partition(".")
        value = getattr(getattr(run, section), key)
        if traits.is_path and traits.flag is not None and value is not None:
            yield from ((name, Path(path)) for path in ((value,) if isinstance(value, str) else value))
