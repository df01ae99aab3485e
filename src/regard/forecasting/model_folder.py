"""A forecaster as a folder: weights, settings, and all it takes to read a file and answer in its units."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from regard.errors import CheckpointError
from regard.forecasting.series.calendar import CYCLES, Cycle
from regard.forecasting.series.scaling import SeriesScaler
from regard.forecasting.series.time_axis import TIME_DTYPE, TimeAxis, TimeStep
from regard.model.forecaster import ForecasterConfig
from regard.train.model_files import open_model_folder, read_config_section, write_model_files

if TYPE_CHECKING:
    from regard.model.forecaster import TransformerForecaster

TASK = "forecasting"
SERIES_FILE = "series.json"


@dataclass(frozen=True, eq=False)
class SeriesMetadata:
    """What a model knows of the series it learnt from."""

    time_column: str
    columns: tuple[str, ...]
    time_axis: TimeAxis
    cycles: tuple[Cycle, ...]
    """What it is told of each time."""
    scaler: SeriesScaler
    longest_gap: int
    """Missing values in a row that are filled in."""
    trained_until: np.datetime64
    """The last time that it learnt from or was judged on: what comes later is new to it."""

    def to_json(self) -> str:
        said = {
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
        return json.dumps(said, indent=2, ensure_ascii=False) + "\n"

    @staticmethod
    def from_json(text: str) -> "SeriesMetadata":
        said = json.loads(text)
        return SeriesMetadata(
            said["time_column"],
            tuple(said["columns"]),
            TimeAxis(said["format"], TimeStep(**said["step"])),
            tuple(cycle for cycle in CYCLES if cycle in said["cycles"]),
            SeriesScaler(np.array(said["mean"], np.float64), np.array(said["deviation"], np.float64)),
            said["longest_gap"],
            np.datetime64(said["learnt_until"]).astype(TIME_DTYPE),
        )


class LoadedForecaster(NamedTuple):
    """What a model folder holds."""

    network: "TransformerForecaster"
    metadata: SeriesMetadata
    manifest: Mapping[str, Any]


def write_forecaster_files(
    folder: Path,
    network: "TransformerForecaster",
    metadata: SeriesMetadata,
    settings: str,
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Writes the files into a folder that somebody else seals; gives back what its manifest should say."""
    (folder / SERIES_FILE).write_text(metadata.to_json(), encoding="utf-8")
    return write_model_files(folder, network, TASK, settings, facts)


def load_forecaster(path: Path) -> LoadedForecaster:
    """The model of a folder, every file checked against the manifest first; weights in fp32 on the CPU."""
    import torch

    from regard.model.forecaster import TransformerForecaster
    from regard.train.weights import load_weights

    folder, manifest = open_model_folder(path, TASK, [SERIES_FILE])
    try:
        known = SeriesMetadata.from_json((folder / SERIES_FILE).read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{folder / SERIES_FILE} cannot be read: {error}") from None
    with torch.random.fork_rng(devices=[]):  # weights are drawn and replaced; nobody else's luck changes
        network = TransformerForecaster(read_config_section(folder, ForecasterConfig, "model"))
    load_weights(folder, network)
    return LoadedForecaster(network.eval(), known, manifest)
