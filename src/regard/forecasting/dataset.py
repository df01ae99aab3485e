"""A table made ready: read, cut into parts in the order of time, scaled by the first, and windowed."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.checkpoint import file_sha256, write_file_atomically
from regard.errors import DataError
from regard.forecasting.model_folder import SeriesMetadata
from regard.forecasting.series.calendar import calendar_features
from regard.forecasting.series.config import SeriesDataConfig
from regard.forecasting.series.read_table import read_series_table
from regard.forecasting.series.scaling import fit_scaler
from regard.forecasting.series.split import SeriesSplit
from regard.forecasting.series.table import SeriesTable
from regard.forecasting.series.windows import SeriesWindows, build_windows, reject_empty_windows
from regard.train.logs.console import format_header
from regard.train.run_folder import DATA_REPORT_FILE
from regard.train.task import FileLines

MAX_LISTED_COLUMNS = 8
"""Columns that are named; of more, the first few."""


@dataclass(frozen=True, eq=False)
class ForecastingData:
    """What a run learns from, and what it is judged on."""

    table: SeriesTable
    split: SeriesSplit
    metadata: SeriesMetadata
    train: SeriesWindows
    valid: SeriesWindows
    fingerprint: Mapping[str, str]
    """The SHA-256 of the file."""

    def source_lines(self, numbers: np.ndarray) -> list[FileLines]:
        """The lines at which the horizons of those training windows begin."""
        lines = np.unique(self.table.line_numbers[self.train.origins[numbers]])
        return [FileLines((self.table.name,), tuple(lines[lines > 0].tolist()))]

    def describe(self) -> Iterator[str]:
        """What a person should know of it before the training."""
        table, parts = self.table, self.split
        names = ", ".join(table.columns[:MAX_LISTED_COLUMNS]) + (
            ", ..." if len(table.columns) > MAX_LISTED_COLUMNS else ""
        )
        count = len(table.columns)
        said = f"{len(table):,} rows, {table.time_axis.step} apart; {count} series: {names}"
        yield from format_header([("data", said)])
        for name, part in (
            ("learnt from", parts.train),
            ("validated on", parts.valid),
            ("tested on", parts.test),
        ):
            if len(part):
                first, last = table.time_axis.format_times(table.times[[part.start, part.stop - 1]])
                yield from format_header([("", f"{name:<13}{len(part):>9,} rows, {first} to {last}")])
        yield from format_header(
            [
                (
                    "",
                    f"{self.train.epoch_size:,} windows to learn from, {self.valid.epoch_size:,} to validate on",
                )
            ]
        )
        yield from format_header([("", note) for note in table.notes])

    def report(self) -> dict[str, Any]:
        """What was found in the file, for `data.json`."""
        table, parts, scaling = self.table, self.split, self.metadata.scaler
        return {
            "file": table.name,
            "rows": len(table),
            "step": str(table.time_axis.step),
            "time": table.time_column,
            "columns": list(table.columns),
            "parts": {name: [part.start, part.stop] for name, part in vars(parts).items()},
            "windows": {"train": self.train.epoch_size, "valid": self.valid.epoch_size},
            "mean": scaling.mean.tolist(),
            "deviation": scaling.std.tolist(),
            "notes": list(table.notes),
        }


def hash_series_file(data: SeriesDataConfig) -> dict[str, str]:
    """The SHA-256 of the file."""
    path = Path(data.series_path)
    if not path.is_file():
        said = "is a folder" if path.is_dir() else "does not exist"
        raise DataError(f"{path} {said}; give the path of a CSV or Parquet file")
    return {data.series_path: file_sha256(path)}


def prepare_forecasting_data(data: SeriesDataConfig, history: int, horizon: int) -> ForecastingData:
    """The windows of a run; refused if there are none to learn from or to judge by."""
    fingerprint = hash_series_file(data)
    table = read_series_table(Path(data.series_path), data.time, data.columns, data.longest_gap)
    parts, cycles = data.split_rows(table.times), data.cycles_for(table.time_axis.step)
    if not len(parts.train):
        raise DataError(f"{table.name} has no training row before the first to validate on")
    scaling = fit_scaler(table.values_known_at(parts.train.stop)[parts.train.start :], table.columns)
    dates = calendar_features(table.times, cycles)
    cut = []
    for part in (parts.train, parts.valid):
        values = scaling.scale(table.values_known_at(part.stop)).astype(np.float32)
        cut.append(build_windows(values, dates[: part.stop], part, history, horizon, not data.together))
    for found, name, part in zip(cut, ("training", "validation"), (parts.train, parts.valid), strict=True):
        reject_empty_windows(found, table.name, name, len(part))
    until = table.times[parts.valid.stop - 1]
    known = SeriesMetadata(
        table.time_column, table.columns, table.time_axis, cycles, scaling, data.longest_gap, until
    )
    return ForecastingData(table, parts, known, cut[0], cut[1], fingerprint)


def write_series_report(run: Path, tables: ForecastingData) -> None:
    """`data.json` in the run's folder."""
    write_file_atomically(
        run / DATA_REPORT_FILE, json.dumps(tables.report(), indent=2, ensure_ascii=False) + "\n"
    )
