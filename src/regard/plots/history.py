"""What a run learnt from, as its data.json has it: outlines of histograms, and the rest in words.

It is read leniently: a file of another version may say less.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float64

from regard.errors import DataError
from regard.plots.downsample import PlotSeries

EMPTY_SERIES = np.zeros(0)


def histogram_outline(histogram: object, height_key: str = "counts") -> tuple[PlotSeries, PlotSeries]:
    """The top of a histogram, from edge to edge; `bins` has the edges, or where each bar begins."""
    if not isinstance(histogram, Mapping):
        return EMPTY_SERIES, EMPTY_SERIES
    edges, tops = to_float_array(histogram.get("bins")), to_float_array(histogram.get(height_key))
    if edges.ndim != 1 or tops.ndim != 1 or not len(tops) or len(edges) - len(tops) not in (0, 1):
        return EMPTY_SERIES, EMPTY_SERIES
    if len(edges) == len(tops):
        width = edges[-1] - edges[-2] if len(edges) > 1 else 1.0
        edges = np.append(edges, edges[-1] + width)
    return np.repeat(edges, 2), np.concatenate([[0.0], np.repeat(tops, 2), [0.0]])


def to_float_array(values: object) -> Float64[np.ndarray, "..."]:
    try:
        return np.array([] if values is None else values, np.float64)
    except (TypeError, ValueError):
        return EMPTY_SERIES


def describe_training_data(data: Mapping[str, Any]) -> str:
    """How many pairs, which were left out and why, the ratio of lengths, the pieces that occur."""
    said, train = [], data.get("train")
    if isinstance(train, Mapping) and isinstance(train.get("pairs"), int):
        left = train.get("left_out") or {}
        reasons = ", ".join(f"{count:,} {why}" for why, count in left.items())
        said.append(f"{train['pairs']:,} pairs; left out: {reasons or 'none'}")
    if isinstance(ratio := data.get("ratio"), int | float):
        said.append(f"ratio {ratio:.2f}")
    if isinstance(pieces := data.get("pieces"), Mapping) and {"all", "occur", "bytes"} <= pieces.keys():
        said.append(
            f"{pieces['occur'] / max(1, pieces['all']):.0%} of pieces used, {pieces['bytes']:.2%} bytes"
        )
    return "; ".join(said)


METRICS_FILE, DATA_SUMMARY_FILE = "metrics.jsonl", "data.json"
CurveAxis = Literal["step", "tokens", "hours"]
EventColumn = Float64[np.ndarray, " events"]


@dataclass(frozen=True)
class EventTable:
    """Events of one kind, column by column."""

    rows: Sequence[Mapping[str, Any]]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> EventColumn:
        """The numbers under that name; NaN where there is none."""
        values = [row.get(name) for row in self.rows]
        return np.array([value if isinstance(value, int | float) else np.nan for value in values], np.float64)


@dataclass(frozen=True)
class TrainingHistory:
    """One training: its plan, its steps and its validations."""

    name: str
    run_event: Mapping[str, Any]
    train: EventTable
    valid: EventTable
    data: Mapping[str, Any] = field(default_factory=dict)
    """What data.json says: of lengths, and of what was left out."""
    checkpoint_averages: EventTable = EventTable(())
    """Of the last checkpoints: how good they were, where a training took any."""

    def x_values(self, axis: CurveAxis, events: EventTable) -> EventColumn:
        """Where the events lie on that axis. A validation saw as many tokens as the steps before it."""
        if axis == "hours":
            return events["time_s"] / 3600
        if axis == "step":
            return events["step"]
        tokens = np.cumsum(np.nan_to_num(self.train["target_tokens"]))
        places = np.searchsorted(self.train["step"], events["step"], side="right")
        return np.concatenate([[0.0], tokens])[places]

    @property
    def best_validation(self) -> int | None:
        """Which validation the training called its best, or else the one with the lowest loss."""
        if named := [place for place, row in enumerate(self.valid.rows) if row.get("best") is True]:
            return named[-1]
        losses = self.valid["loss"]
        return int(np.nanargmin(losses)) if np.isfinite(losses).any() else None


def read_histories(paths: Sequence[Path]) -> list[TrainingHistory]:
    """The runs, each under its folder's name, or under its whole path where two folders have one name."""
    folders = [_run_folder(path) for path in paths]
    names = [folder.resolve().name for folder in folders]
    return [
        _read_history(folder, name if names.count(name) == 1 else str(path))
        for folder, name, path in zip(folders, names, paths, strict=True)
    ]


def _run_folder(path: Path) -> Path:
    """The run meant by `path`: itself, or the one whose model or metrics it is."""
    for folder in (path, path.parent):
        if (folder / METRICS_FILE).is_file():
            return folder
    problem = "has no metrics.jsonl" if path.exists() else "does not exist"
    raise DataError(f"{path} {problem}; give a folder that `regard train --out` wrote")


def _read_history(folder: Path, name: str) -> TrainingHistory:
    events: dict[str, list[Mapping[str, Any]]] = {"run": [], "train": [], "valid": [], "mean": []}
    for event in _read_events(folder / METRICS_FILE):
        events.get(str(event.get("kind")), []).append(event)
    if not events["train"] and not events["valid"]:
        raise DataError(f"{folder / METRICS_FILE} has no step and no validation yet; plot it later")
    facts = events["run"][-1] if events["run"] else {}
    train, valid, means = (EventTable(events[kind]) for kind in ("train", "valid", "mean"))
    return TrainingHistory(name, facts, train, valid, _read_data_summary(folder / DATA_SUMMARY_FILE), means)


def _read_events(path: Path) -> Iterator[Mapping[str, Any]]:
    """The lines that are whole: the last may be half written."""
    for line in path.read_bytes().split(b"\n"):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict) and (event.get("kind") == "run" or isinstance(event.get("step"), int)):
            yield event


def _read_data_summary(path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
