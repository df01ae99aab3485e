"""The model folder of a forecaster: weights, settings, and the metadata of its series."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from regard.errors import CheckpointError
from regard.forecasting.series.calendar import CYCLES, Cycle
from regard.forecasting.series.config import SeriesDataConfig
from regard.forecasting.series.table import SeriesScaler
from regard.forecasting.series.time_axis import TIME_DTYPE, TimeAxis, TimeStep
from regard.model.transformer_forecaster import ForecasterConfig
from regard.train.model_files import open_model_folder, read_config_section, write_model_files

if TYPE_CHECKING:
    from regard.model.transformer_forecaster import TransformerForecaster

FORECASTING_TASK = "forecasting"
SERIES_FILE = "series.json"


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
    def from_json(text: str) -> "SeriesMetadata":
        document = json.loads(text)
        mean, std = (np.array(document[key], np.float64) for key in ("mean", "deviation"))
        return SeriesMetadata(
            document["time_column"],
            tuple(document["columns"]),
            TimeAxis(document["format"], TimeStep(**document["step"])),
            tuple(cycle for cycle in CYCLES if cycle in document["cycles"]),
            SeriesScaler(mean, std),
            document["longest_gap"],
            np.datetime64(document["learnt_until"]).astype(TIME_DTYPE),
        )


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


def load_forecaster(path: Path) -> LoadedForecaster:
    """Load a model after checking every file against the manifest; weights are fp32 on the CPU."""
    import torch

    from regard.model.transformer_forecaster import TransformerForecaster
    from regard.train.weights import load_weights

    folder, manifest = open_model_folder(path, FORECASTING_TASK, [SERIES_FILE])
    try:
        metadata = SeriesMetadata.from_json((folder / SERIES_FILE).read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{folder / SERIES_FILE} cannot be read: {error}") from None
    with torch.random.fork_rng(devices=[]):  # initial weights are drawn, then replaced: keep the random state
        network = TransformerForecaster(read_config_section(folder, ForecasterConfig, "model"))
    load_weights(folder, network)
    data = read_config_section(folder, SeriesDataConfig, "data")
    return LoadedForecaster(network.eval(), metadata, data, manifest)
