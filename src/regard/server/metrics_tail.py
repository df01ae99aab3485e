"""The rows of metrics.jsonl for the Training page, a few at a time while they are written."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from regard.plots.downsample import MAX_POINTS, downsample_extrema

MetricsRow = Mapping[str, Any]
POSITION_KEYS = ("kind", "step", "epoch", "time_s", "tokens")
"""What places a row on an axis; `tokens` is added here: the target tokens seen up to it."""


class MetricsTail:
    """One run's rows; only what is new in the file is read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._file, self._end, self._tokens = (0, 0), 0, 0
        self._rows: list[MetricsRow] = []

    def rows_since(self, offset: int) -> dict[str, object]:
        """The rows from that place on, and the place to ask from the next time.

        A training that is resumed takes rows back: a row whose step is not after the last one's means that
        those from that step on are void.
        """
        with self._lock:
            self._read()
            start = offset if 0 <= offset <= len(self._rows) else 0
            return {"rows": downsample_rows(self._rows[start:]), "next": len(self._rows), "from": start}

    def rows(self) -> list[MetricsRow]:
        """All of them."""
        with self._lock:
            self._read()
            return list(self._rows)

    def _read(self) -> None:
        """The lines that are whole; all of them again where the file is another one."""
        try:
            with self._path.open("rb") as file:
                found = self._path.stat()
                if (found.st_dev, found.st_ino) != self._file or found.st_size < self._end:
                    self._file, self._end, self._tokens = (found.st_dev, found.st_ino), 0, 0
                    self._rows = []
                file.seek(self._end)
                content = file.read()
        except OSError:  # not written yet
            return
        whole = content[: content.rfind(b"\n") + 1]
        self._end += len(whole)
        self._rows += [row for line in whole.splitlines() if (row := self._row(line))]

    def _row(self, line: bytes) -> MetricsRow:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return {}
        if not isinstance(row, dict):
            return {}
        count = row.get("target_tokens")
        self._tokens += count if isinstance(count, int) else 0
        return {**row, "tokens": self._tokens}


def downsample_rows(rows: Sequence[MetricsRow], max_points: int = MAX_POINTS) -> list[MetricsRow]:
    """Of each figure of the training at most so many points, its peaks among them.

    A row then has only the figures that it is one of the points of.
    """
    train = [row for row in rows if row.get("kind") == "train"]
    if len(train) <= max_points:
        return list(rows)
    chosen = {
        (id(train[place]), name)
        for name in {name for row in train for name in row} - {*POSITION_KEYS}
        for place in _downsampled_indices(train, name, max_points)
    }
    kept: list[MetricsRow] = []
    for row in rows:
        if row.get("kind") != "train":
            kept.append(row)
        elif few := {name: value for name, value in row.items() if (id(row), name) in chosen}:
            kept.append({name: row[name] for name in POSITION_KEYS if name in row} | few)
    return kept


def _downsampled_indices(train: Sequence[MetricsRow], name: str, points: int) -> list[int]:
    values = [row.get(name) for row in train]
    y = np.array([value if isinstance(value, int | float) else np.nan for value in values], np.float64)
    x, _ = downsample_extrema(np.arange(len(y), dtype=np.float64), y, points)
    return x.astype(int).tolist()
