"""Training histories: metrics.jsonl and data.json of a run as columns for plotting.

Both files are read leniently: the training may still be running, and another version may write less.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float64

from regard.checkpoint import list_seed_runs
from regard.errors import DataError
from regard.plots.downsample import PlotSeries
from regard.strict_json import read_json
from regard.training.logs.metrics_file import METRICS_FILE, MetricsRow, find_metrics_folder, read_metrics
from regard.training.run_folder import DATA_REPORT_FILE

CurveAxis = Literal["step", "tokens", "hours"]
EventColumn = Float64[np.ndarray, " events"]
MAX_REPORT_BYTES = 2**26
EMPTY_SERIES = np.zeros(0)


@dataclass(frozen=True)
class EventTable:
    """Metrics rows of one kind, read by column."""

    rows: Sequence[MetricsRow]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> EventColumn:
        """Return a column as numbers; NaN where a row has none."""
        values = [row.get(name) for row in self.rows]
        return np.array([value if isinstance(value, int | float) else np.nan for value in values], np.float64)


@dataclass(frozen=True)
class TrainingHistory:
    """One training run: its settings, steps and validations."""

    name: str
    run_event: Mapping[str, Any]
    """The row of kind `run`: model, device, schedule."""
    train: EventTable
    valid: EventTable
    data: Mapping[str, Any] = field(default_factory=dict)
    """The content of data.json: sentence lengths and excluded pairs."""
    checkpoint_averages: EventTable = EventTable(())
    """Scores of the averaged checkpoints, if the training averaged any."""

    def x_values(self, axis: CurveAxis, events: EventTable) -> EventColumn:
        """Return the position of events on an axis; a validation has seen the tokens of all steps before."""
        if axis == "hours":
            return events["time_s"] / 3600
        if axis == "step":
            return events["step"]
        tokens = np.cumsum(np.nan_to_num(self.train["target_tokens"]))
        steps_before = np.searchsorted(self.train["step"], events["step"], side="right")
        return np.concatenate([[0.0], tokens])[steps_before]

    @property
    def best_validation(self) -> int | None:
        """The index of the last validation marked as best, else of the lowest validation loss."""
        if marked := [index for index, row in enumerate(self.valid.rows) if row.get("best") is True]:
            return marked[-1]
        losses = self.valid["loss"]
        return int(np.nanargmin(losses)) if np.isfinite(losses).any() else None


def read_histories(paths: Sequence[Path]) -> list[TrainingHistory]:
    """Read the runs that the paths lead to, with distinct names; a folder of seeds is all its runs."""
    folders = [_find_run_folder(run) for path in paths for run in list_seed_runs(path) or [path]]
    names = distinct_run_names(folders)
    return [_read_history(folder, name) for folder, name in zip(folders, names, strict=True)]


def distinct_run_names(folders: Sequence[Path]) -> list[str]:
    """Return the folders' names, or the whole path where two folders have the same name."""
    names = [folder.resolve().name for folder in folders]
    return [
        name if names.count(name) == 1 else str(folder) for folder, name in zip(folders, names, strict=True)
    ]


def _find_run_folder(path: Path) -> Path:
    folder = find_metrics_folder(path)
    if folder is None:
        problem = f"has no {METRICS_FILE}" if path.exists() else "does not exist"
        raise DataError(f"{path} {problem}; give a folder that `regard train --out` wrote")
    return folder


def _read_history(folder: Path, name: str) -> TrainingHistory:
    rows: dict[str, list[MetricsRow]] = {"run": [], "train": [], "valid": [], "mean": []}
    for row in read_metrics(folder / METRICS_FILE):
        if row.get("kind") == "run" or isinstance(row.get("step"), int):
            rows.get(str(row.get("kind")), []).append(row)
    if not rows["train"] and not rows["valid"]:
        raise DataError(f"{folder / METRICS_FILE} has no step and no validation yet; plot it later")
    run_event = rows["run"][-1] if rows["run"] else {}
    train, valid, averages = (EventTable(rows[kind]) for kind in ("train", "valid", "mean"))
    return TrainingHistory(name, run_event, train, valid, read_data_report(folder), averages)


def read_data_report(folder: Path) -> Mapping[str, Any]:
    """Return data.json of a run; empty where it is missing or damaged."""
    try:
        data = read_json(folder / DATA_REPORT_FILE, MAX_REPORT_BYTES)
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def histogram_outline(histogram: object, height_key: str = "counts") -> tuple[PlotSeries, PlotSeries]:
    """Return the outline of a histogram; `bins` has the edges, or only the left edge of each bar."""
    if not isinstance(histogram, Mapping):
        return EMPTY_SERIES, EMPTY_SERIES
    edges, heights = to_float_array(histogram.get("bins")), to_float_array(histogram.get(height_key))
    if edges.ndim != 1 or heights.ndim != 1 or not len(heights) or len(edges) - len(heights) not in (0, 1):
        return EMPTY_SERIES, EMPTY_SERIES
    if len(edges) == len(heights):
        width = edges[-1] - edges[-2] if len(edges) > 1 else 1.0
        edges = np.append(edges, edges[-1] + width)
    return np.repeat(edges, 2), np.concatenate([[0.0], np.repeat(heights, 2), [0.0]])


def to_float_array(values: object) -> Float64[np.ndarray, "..."]:
    """Return the values as an array; an empty one where they are no numbers."""
    try:
        return np.array([] if values is None else values, np.float64)
    except (TypeError, ValueError):
        return EMPTY_SERIES


def describe_training_data(data: Mapping[str, Any]) -> str:
    """Return one line: number of pairs, excluded pairs by reason, length ratio, vocabulary use."""
    parts, train = [], data.get("train")
    if isinstance(train, Mapping) and isinstance(train.get("pairs"), int):
        excluded = train.get("left_out") or {}
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in excluded.items())
        parts.append(f"{train['pairs']:,} pairs; left out: {reasons or 'none'}")
    if isinstance(ratio := data.get("ratio"), int | float):
        parts.append(f"ratio {ratio:.2f}")
    if (
        isinstance(vocabulary := data.get("vocabulary"), Mapping)
        and {"size", "used", "byte_share"} <= vocabulary.keys()
    ):
        share = vocabulary["used"] / max(1, vocabulary["size"])
        parts.append(f"{share:.0%} of the vocabulary used, {vocabulary['byte_share']:.2%} bytes")
    return "; ".join(parts)
