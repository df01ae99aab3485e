"""One training: its settings are resolved, its inputs checked, and its task trains."""

from pathlib import Path
from typing import TYPE_CHECKING

from regard.api.training_request import TrainingRequest

if TYPE_CHECKING:
    from rich.console import Console

    from regard.training.customization import Customization
    from regard.training.loop import TrainingResult
    from regard.training.setup import RunConfig


def train_request(
    request: TrainingRequest, out: Path, console: "Console", custom: "Customization | None" = None
) -> "tuple[RunConfig, TrainingResult]":
    """Train what is asked for into the run folder `out`, or resume it; return its settings and result."""
    from regard.training.run_folder import reject_unusable_folder

    reject_unusable_folder(out)  # before files are read
    from regard.api.run_inputs import input_settings, reject_inputs_in_run_folder
    from regard.api.run_settings import resolve_settings
    from regard.runtime import keep_freed_memory

    run = resolve_settings(request, console, out)
    reject_inputs_in_run_folder(out, input_settings(run))
    keep_freed_memory()
    return run, train_task(run, out, console, custom)


def train_task(
    run: "RunConfig", out: Path, console: "Console", custom: "Customization | None" = None
) -> "TrainingResult":
    """Train the task that the settings are for."""
    from regard.classification.run import ClassificationRun
    from regard.classification.task import train_classification
    from regard.forecasting.run import ForecastingRun
    from regard.forecasting.task import train_forecasting
    from regard.plots.curves_page import render_model_card_svg
    from regard.training.customization import NO_CUSTOMIZATION
    from regard.translation.run import TranslationRun
    from regard.translation.task import train_translation

    custom = custom or NO_CUSTOMIZATION
    match run:
        case TranslationRun():
            return train_translation(run, out, console, render_model_card_svg, custom)
        case ClassificationRun():
            return train_classification(run, out, console, render_model_card_svg, custom)
        case ForecastingRun():
            return train_forecasting(run, out, console, render_model_card_svg, custom)
        case _:
            raise TypeError(f"unknown task {run.task}")
