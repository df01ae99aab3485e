"""A table made ready: read, cut into parts in the order of time, scaled by the first, and windowed."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.checkpoint import sha256, write_file
from regard.errors import DataError
from regard.forecasting.model_folder import Known
from regard.forecasting.series.calendar import calendar
from regard.forecasting.series.config import SeriesConfig
from regard.forecasting.series.read_table import read_table
from regard.forecasting.series.scaling import fit_scaling
from regard.forecasting.series.split import Parts
from regard.forecasting.series.table import Table
from regard.forecasting.series.windows import Windows, refuse_none, windows
from regard.train.logs.console import header
from regard.train.run_folder import REPORT
from regard.train.task import Lines

NAMED = 8
"""Columns that are named; of more, the first few."""


@dataclass(frozen=True, eq=False)
class Tables:
    """What a run learns from, and what it is judged on."""

    table: Table
    parts: Parts
    known: Known
    train: Windows
    valid: Windows
    fingerprint: Mapping[str, str]
    """The SHA-256 of the file."""

    def lines_of(self, numbers: np.ndarray) -> list[Lines]:
        """The lines at which the horizons of those training windows begin."""
        lines = np.unique(self.table.lines[self.train.origins[numbers]])
        return [Lines((self.table.name,), tuple(lines[lines > 0].tolist()))]

    def plan(self) -> Iterator[str]:
        """What a person should know of it before the training."""
        table, parts = self.table, self.parts
        names = ", ".join(table.columns[:NAMED]) + (", ..." if len(table.columns) > NAMED else "")
        count = len(table.columns)
        said = f"{len(table):,} rows, {table.clock.step} apart; {count} series: {names}"
        yield from header([("data", said)])
        for name, part in (
            ("learnt from", parts.train),
            ("validated on", parts.valid),
            ("tested on", parts.test),
        ):
            if len(part):
                first, last = table.clock.write(table.times[[part.start, part.stop - 1]])
                yield from header([("", f"{name:<13}{len(part):>9,} rows, {first} to {last}")])
        yield from header(
            [("", f"{self.train.turns:,} windows to learn from, {self.valid.turns:,} to validate on")]
        )
        yield from header([("", note) for note in table.notes])

    def report(self) -> dict[str, Any]:
        """What was found in the file, for `data.json`."""
        table, parts, scaling = self.table, self.parts, self.known.scaling
        return {
            "file": table.name,
            "rows": len(table),
            "step": str(table.clock.step),
            "time": table.time_column,
            "columns": list(table.columns),
            "parts": {name: [part.start, part.stop] for name, part in vars(parts).items()},
            "windows": {"train": self.train.turns, "valid": self.valid.turns},
            "mean": scaling.mean.tolist(),
            "deviation": scaling.deviation.tolist(),
            "notes": list(table.notes),
        }


def fingerprints(data: SeriesConfig) -> dict[str, str]:
    """The SHA-256 of the file."""
    path = Path(data.path)
    if not path.is_file():
        said = "is a folder" if path.is_dir() else "does not exist"
        raise DataError(f"{path} {said}; give the path of a CSV or Parquet file")
    return {data.path: sha256(path)}


def prepare(data: SeriesConfig, history: int, horizon: int) -> Tables:
    """The windows of a run; refused if there are none to learn from or to judge by."""
    fingerprint = fingerprints(data)
    table = read_table(Path(data.path), data.time, data.columns, data.longest_gap)
    parts, cycles = data.parts(table.times), data.cycles_of(table.clock.step)
    if not len(parts.train):
        raise DataError(f"{table.name} has no training row before the first to validate on")
    scaling = fit_scaling(table.known_at(parts.train.stop)[parts.train.start :], table.columns)
    dates = calendar(table.times, cycles)
    cut = []
    for part in (parts.train, parts.valid):
        values = scaling.scale(table.known_at(part.stop)).astype(np.float32)
        cut.append(windows(values, dates[: part.stop], part, history, horizon, not data.together))
    for found, name, part in zip(cut, ("training", "validation"), (parts.train, parts.valid), strict=True):
        refuse_none(found, table.name, name, len(part))
    until = table.times[parts.valid.stop - 1]
    known = Known(table.time_column, table.columns, table.clock, cycles, scaling, data.longest_gap, until)
    return Tables(table, parts, known, cut[0], cut[1], fingerprint)


def write_report(run: Path, tables: Tables) -> None:
    """`data.json` in the run's folder."""
    write_file(run / REPORT, json.dumps(tables.report(), indent=2, ensure_ascii=False) + "\n")
