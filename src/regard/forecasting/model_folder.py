"""The model folder of a forecaster: weights, settings, and the metadata of its series."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from regard.checkpoint import WEIGHTS_FILE, verify_file
from regard.errors import CheckpointError
from regard.forecasting.series.calendar import CYCLES, Cycle
from regard.forecasting.series.config import SeriesDataConfig
from regard.forecasting.series.table import SeriesScaler
from regard.forecasting.series.time_axis import TIME_FORMATS, TimeAxis, TimeStep
from regard.model.transformer_forecaster import ForecasterConfig, forecaster_weight_shapes
from regard.safetensors_file import check_weight_specs
from regard.strict_json import read_json
from regard.training.model_files import open_model_folder, read_config_section, write_model_files

if TYPE_CHECKING:
    from regard.model.transformer_forecaster import TransformerForecaster

FORECASTING_TASK = "forecasting"
SERIES_FILE = "series.json"
MAX_STEP, MAX_STEP_MONTHS = 10**15, 1200
"""Longest step: about 30 years in microseconds, or a century in months."""


@dataclass(frozen=True, eq=False)
class SeriesMetadata:
    """What a model stores about its training series, to read other files and to answer in their units."""

    time_column: str
    columns: tuple[str, ...]
    time_axis: TimeAxis
    cycles: tuple[Cycle, ...]
    """The calendar features that the model reads."""
    scaler: SeriesScaler
    longest_gap: int
    """Consecutive missing values that are interpolated."""
    trained_until: np.datetime64
    """The last training or validation time: later rows are new to the model."""

    def to_json(self) -> str:
        document = {
            "time_column": self.time_column,
            "columns": list(self.columns),
            "format": self.time_axis.format,
            "step": asdict(self.time_axis.step),
            "cycles": list(self.cycles),
            "mean": self.scaler.mean.tolist(),
            "deviation": self.scaler.std.tolist(),
            "longest_gap": self.longest_gap,
            "learnt_until": str(self.trained_until),
        }
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

    @staticmethod
    def from_json(document: Any) -> "SeriesMetadata":
        """Parse the output of `to_json`; raise ValueError, TypeError or KeyError for anything else."""
        time_column, columns, time_format = (document[key] for key in ("time_column", "columns", "format"))
        _require(isinstance(time_column, str), "time_column must be text")
        _require(_are_names(columns), "columns must be a list of different names")
        _require(time_format in TIME_FORMATS, "format must be a time format")
        cycles, gap = document["cycles"], document["longest_gap"]
        _require(isinstance(cycles, list), "cycles must be a list")
        _require(type(gap) is int and 1 <= gap <= MAX_STEP, "longest_gap must be a whole number")
        return SeriesMetadata(
            time_column,
            tuple(columns),
            TimeAxis(time_format, _parse_time_step(document["step"])),
            tuple(cycle for cycle in CYCLES if cycle in cycles),
            _parse_scaler(document["mean"], document["deviation"], len(columns)),
            gap,
            np.datetime64(datetime.fromisoformat(document["learnt_until"]), "us"),
        )


BuildForecaster = Callable[[ForecasterConfig], "TransformerForecaster"]
"""Builds a custom model from its settings."""


class LoadedForecaster(NamedTuple):
    """The contents of a model folder."""

    network: "TransformerForecaster"
    metadata: SeriesMetadata
    data: SeriesDataConfig
    """The settings of the training data."""
    manifest: Mapping[str, Any]


def write_forecaster_files(
    folder: Path,
    network: "TransformerForecaster",
    metadata: SeriesMetadata,
    settings: str,
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the files of a model into a folder under construction; return the entries for its manifest."""
    (folder / SERIES_FILE).write_text(metadata.to_json(), encoding="utf-8")
    return write_model_files(folder, network, FORECASTING_TASK, settings, facts)


def load_forecaster(path: Path, build_model: BuildForecaster | None = None) -> LoadedForecaster:
    """Load a model after checking every file against the manifest; weights are fp32 on the CPU.

    `build_model` builds a custom model.
    """
    import torch

    from regard.model.transformer_forecaster import TransformerForecaster
    from regard.training.customization import Customization
    from regard.training.weights import load_weights

    folder, manifest = open_model_folder(path, FORECASTING_TASK, [SERIES_FILE], [WEIGHTS_FILE], build_model)
    config = read_config_section(folder, ForecasterConfig, "model")
    metadata = _read_series_file(folder / SERIES_FILE, config)
    if build_model is None:
        check_weight_specs(folder / WEIGHTS_FILE, forecaster_weight_shapes(config))
    verify_file(folder, manifest, WEIGHTS_FILE)
    with torch.random.fork_rng(devices=[]):  # initial weights are drawn, then replaced: keep the random state
        network = Customization(build_model=build_model).build(TransformerForecaster, config)
    load_weights(folder, network)
    data = read_config_section(folder, SeriesDataConfig, "data")
    return LoadedForecaster(network.eval(), metadata, data, manifest)


def _read_series_file(path: Path, config: ForecasterConfig) -> SeriesMetadata:
    """Read the metadata of the series; they must be those of a model with this config."""
    try:
        metadata = SeriesMetadata.from_json(read_json(path))
        columns = len(metadata.columns)
        _require(config.channels in (1, columns), f"it has {columns} columns, the model {config.channels}")
        features = 2 * len(metadata.cycles)
        _require(config.calendar == features, f"its cycles have {features} features, not {config.calendar}")
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from None
    return metadata


def _parse_time_step(document: Any) -> TimeStep:
    step = TimeStep(**document)
    _require(type(step.microseconds) is int and 0 <= step.microseconds <= MAX_STEP, "step is too long")
    _require(type(step.months) is int and 0 <= step.months <= MAX_STEP_MONTHS, "step is too long")
    _require(isinstance(step.ends, bool), "step.ends must be true or false")
    _require((step.microseconds > 0) != (step.months > 0), "step must be a duration, or months")
    return step


def _parse_scaler(mean: Any, deviation: Any, columns: int) -> SeriesScaler:
    for values in (mean, deviation):
        _require(isinstance(values, list) and len(values) == columns, "mean and deviation must be per column")
        _require(all(type(value) in (int, float) for value in values), "mean and deviation must be numbers")
    scaler = SeriesScaler(np.array(mean, np.float64), np.array(deviation, np.float64))
    _require(bool((scaler.std > 0).all()), "each deviation must be above 0")
    return scaler


def _are_names(names: Any) -> bool:
    return (
        isinstance(names, list)
        and bool(names)
        and all(isinstance(name, str) for name in names)
        and len(set(names)) == len(names)
    )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)
