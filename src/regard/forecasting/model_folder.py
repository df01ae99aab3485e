"""A forecaster as a folder: weights, settings, and all it takes to read a file and answer in its units."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from regard.errors import CheckpointError
from regard.forecasting.series.calendar import CYCLES, Cycle
from regard.forecasting.series.scaling import Scaling
from regard.forecasting.series.time_axis import UNIT, Clock, Step
from regard.model.forecaster import ForecasterConfig
from regard.train.model_files import fill_folder, open_folder, read_section

if TYPE_CHECKING:
    from regard.model.forecaster import Forecaster

TASK = "forecasting"
SERIES = "series.json"


@dataclass(frozen=True, eq=False)
class Known:
    """What a model knows of the series it learnt from."""

    time_column: str
    columns: tuple[str, ...]
    clock: Clock
    cycles: tuple[Cycle, ...]
    """What it is told of each time."""
    scaling: Scaling
    longest_gap: int
    """Missing values in a row that are filled in."""
    learnt_until: np.datetime64
    """The last time that it learnt from or was judged on: what comes later is new to it."""

    def to_json(self) -> str:
        said = {
            "time_column": self.time_column,
            "columns": list(self.columns),
            "format": self.clock.format,
            "step": asdict(self.clock.step),
            "cycles": list(self.cycles),
            "mean": self.scaling.mean.tolist(),
            "deviation": self.scaling.deviation.tolist(),
            "longest_gap": self.longest_gap,
            "learnt_until": str(self.learnt_until),
        }
        return json.dumps(said, indent=2, ensure_ascii=False) + "\n"

    @staticmethod
    def from_json(text: str) -> "Known":
        said = json.loads(text)
        return Known(
            said["time_column"],
            tuple(said["columns"]),
            Clock(said["format"], Step(**said["step"])),
            tuple(cycle for cycle in CYCLES if cycle in said["cycles"]),
            Scaling(np.array(said["mean"], np.float64), np.array(said["deviation"], np.float64)),
            said["longest_gap"],
            np.datetime64(said["learnt_until"]).astype(UNIT),
        )


class ForecastModel(NamedTuple):
    """What a model folder holds."""

    network: "Forecaster"
    known: Known
    manifest: Mapping[str, Any]


def fill_forecaster(
    place: Path, network: "Forecaster", known: Known, settings: str, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Writes the files into a folder that somebody else seals; gives back what its manifest should say."""
    (place / SERIES).write_text(known.to_json(), encoding="utf-8")
    return fill_folder(place, network, TASK, settings, facts)


def load_forecaster(path: Path) -> ForecastModel:
    """The model of a folder, every file checked against the manifest first; weights in fp32 on the CPU."""
    import torch

    from regard.model.forecaster import Forecaster
    from regard.train.weights import load_weights

    folder, manifest = open_folder(path, TASK, [SERIES])
    try:
        known = Known.from_json((folder / SERIES).read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{folder / SERIES} cannot be read: {error}") from None
    with torch.random.fork_rng(devices=[]):  # weights are drawn and replaced; nobody else's luck changes
        network = Forecaster(read_section(folder, ForecasterConfig, "model"))
    load_weights(folder, network)
    return ForecastModel(network.eval(), known, manifest)
