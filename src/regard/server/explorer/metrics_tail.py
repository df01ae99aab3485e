"""Rows of a growing metrics.jsonl for the Training page, downsampled for transfer."""

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from regard.plots.downsample import MAX_POINTS, downsample_extrema
from regard.server.web.responses import to_json_bytes
from regard.training.logs.metrics_file import MetricsReader, MetricsRow

POSITION_KEYS = ("kind", "step", "epoch", "time_s", "tokens")
"""Keys that place a row on an axis; `tokens`, the target tokens seen so far, is added here."""

MAX_ROW_TOKENS = 2**40
"""A row with more target tokens is not one of ours."""


class MetricsTail:
    """The rows of one run; each call reads only what was appended to the file. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._reader = MetricsReader(path)
        self._lock = Lock()
        self._tokens = 0
        self._rows: list[MetricsRow] = []

    def rows_since(self, offset: int) -> dict[str, object]:
        """Return the rows from an offset on, and the offset for the next call.

        A resumed training rewrites rows: a row whose step is not after the last one's replaces all rows
        from that step on.
        """
        with self._lock:
            self._read()
            start = offset if 0 <= offset <= len(self._rows) else 0
            return {"rows": downsample_rows(self._rows[start:]), "next": len(self._rows), "from": start}

    def rows(self) -> list[MetricsRow]:
        """Return all rows."""
        with self._lock:
            self._read()
            return list(self._rows)

    def _read(self) -> None:
        is_replaced, rows = self._reader.read_new_rows()
        if is_replaced:
            self._rows, self._tokens = [], 0
        self._rows += [self._with_tokens(row) for each in rows if (row := sendable(each))]

    def _with_tokens(self, row: MetricsRow) -> MetricsRow:
        count = row.get("target_tokens")
        self._tokens += count if isinstance(count, int) and 0 < count < MAX_ROW_TOKENS else 0
        return {**row, "tokens": self._tokens}


def sendable(content: Any) -> Any:
    """Return foreign data as JSON can have it: lone surrogates replaced; None if it is nested too deeply."""
    try:
        to_json_bytes(content)
    except UnicodeEncodeError:
        return json.loads(json.dumps(content, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        return None
    return content


def downsample_rows(rows: Sequence[MetricsRow], max_points: int = MAX_POINTS) -> list[MetricsRow]:
    """Reduce every training metric to at most `max_points` values, keeping its extremes.

    A row then has only the metrics of which it is a kept point.
    """
    train = [row for row in rows if row.get("kind") == "train"]
    if len(train) <= max_points:
        return list(rows)
    kept_values = {
        (id(train[index]), name)
        for name in {name for row in train for name in row} - {*POSITION_KEYS}
        for index in _downsampled_indices(train, name, max_points)
    }
    reduced: list[MetricsRow] = []
    for row in rows:
        if row.get("kind") != "train":
            reduced.append(row)
        elif values := {name: value for name, value in row.items() if (id(row), name) in kept_values}:
            reduced.append({name: row[name] for name in POSITION_KEYS if name in row} | values)
    return reduced


def _downsampled_indices(train: Sequence[MetricsRow], name: str, max_points: int) -> list[int]:
    values = [row.get(name) for row in train]
    y = np.array([value if isinstance(value, int | float) else np.nan for value in values], np.float64)
    x, _ = downsample_extrema(np.arange(len(y), dtype=np.float64), y, max_points)
    return x.astype(int).tolist()
