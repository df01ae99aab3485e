"""The data of a forecasting run: the table read, split in time, scaled and cut into windows."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from regard.checkpoint import file_sha256, write_file_atomically
from regard.errors import DataError
from regard.forecasting.model_folder import SeriesMetadata
from regard.forecasting.series.calendar import calendar_features
from regard.forecasting.series.config import SeriesDataConfig, SeriesSplit
from regard.forecasting.series.read_table import read_series_table
from regard.forecasting.series.table import SeriesTable, fit_scaler
from regard.forecasting.series.windows import SeriesWindows, build_windows, reject_empty_windows
from regard.text.corpus_files import FileLines
from regard.training.logs.console import format_header
from regard.training.run_folder import DATA_REPORT_FILE

MAX_LISTED_COLUMNS = 8
"""Column names that are printed before training."""


@dataclass(frozen=True, eq=False)
class ForecastingData:
    """Training and validation windows of a table, and what a model must know of it."""

    table: SeriesTable
    split: SeriesSplit
    metadata: SeriesMetadata
    train: SeriesWindows
    valid: SeriesWindows
    fingerprint: Mapping[str, str]
    """The SHA-256 of the file, by its path."""

    def source_lines(self, indexes: np.ndarray) -> list[FileLines]:
        """Return the lines at which the horizons of these training windows begin."""
        lines = np.unique(self.table.line_numbers[self.train.origins[indexes]])
        return [FileLines((self.table.name,), tuple(lines[lines > 0].tolist()))]

    def describe(self) -> Iterator[str]:
        """Yield the lines printed before training: rows, series, split, windows and notes."""
        table, count = self.table, len(self.table.columns)
        more = ", ..." if count > MAX_LISTED_COLUMNS else ""
        names = ", ".join(table.columns[:MAX_LISTED_COLUMNS]) + more
        yield from format_header(
            [("data", f"{len(table):,} rows, step {table.time_axis.step}; {count} series: {names}")]
        )
        parts = {"training": self.split.train, "validation": self.split.valid, "test": self.split.test}
        for name, rows in parts.items():
            if len(rows):
                first, last = table.time_axis.format_times(table.times[[rows.start, rows.stop - 1]])
                yield from format_header([("", f"{name:<11}{len(rows):>9,} rows, {first} to {last}")])
        windows = f"{self.train.epoch_size:,} training and {self.valid.epoch_size:,} validation windows"
        yield from format_header([("", windows)])
        yield from format_header([("", note) for note in table.notes])

    def report(self) -> dict[str, Any]:
        """Return the content of `data.json`."""
        table, scaler = self.table, self.metadata.scaler
        return {
            "file": table.name,
            "rows": len(table),
            "step": str(table.time_axis.step),
            "time": table.time_column,
            "columns": list(table.columns),
            "parts": {name: [rows.start, rows.stop] for name, rows in vars(self.split).items()},
            "windows": {"train": self.train.epoch_size, "valid": self.valid.epoch_size},
            "mean": scaler.mean.tolist(),
            "deviation": scaler.std.tolist(),
            "notes": list(table.notes),
        }


def hash_series_file(data: SeriesDataConfig) -> dict[str, str]:
    """Return the SHA-256 of the series file, by its path."""
    path = Path(data.series_path)
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "does not exist"
        raise DataError(f"{path} {problem}; give the path of a CSV or Parquet file")
    return {data.series_path: file_sha256(path)}


def read_training_table(data: SeriesDataConfig) -> SeriesTable:
    """Read the table of a run; the same content is parsed once per process."""
    (sha256,) = hash_series_file(data).values()
    return _read_table(data.series_path, sha256, data.time, data.columns, data.longest_gap)


@lru_cache(maxsize=1)
def _read_table(
    path: str,
    sha256: str,  # noqa: ARG001  part of the cache key: a changed file is read again
    time_column: str | None,
    columns: tuple[str, ...],
    longest_gap: int,
) -> SeriesTable:
    return read_series_table(Path(path), time_column, columns, longest_gap)


def prepare_forecasting_data(data: SeriesDataConfig, history: int, horizon: int) -> ForecastingData:
    """Build the windows of a run; an error if a part has no row or no window."""
    fingerprint = hash_series_file(data)
    table = _read_table(
        data.series_path, fingerprint[data.series_path], data.time, data.columns, data.longest_gap
    )
    split, cycles = data.split_rows(table.times), data.cycles_for(table.time_axis.step)
    if not len(split.train):
        raise DataError(f"{table.name} has no training row before the first validation row")
    scaler = fit_scaler(table.values_known_at(split.train.stop)[split.train.start :], table.columns)
    features = calendar_features(table.times, cycles)
    windows = []
    for part, rows in (("training", split.train), ("validation", split.valid)):
        values = scaler.scale(table.values_known_at(rows.stop)).astype(np.float32)
        windows.append(
            build_windows(values, features[: rows.stop], rows, history, horizon, not data.together)
        )
        reject_empty_windows(windows[-1], table.name, part, len(rows))
    metadata = SeriesMetadata(
        table.time_column,
        table.columns,
        table.time_axis,
        cycles,
        scaler,
        data.longest_gap,
        trained_until=table.times[split.valid.stop - 1],
    )
    return ForecastingData(table, split, metadata, windows[0], windows[1], fingerprint)


def write_series_report(run_folder: Path, data: ForecastingData) -> None:
    """Write `data.json` into the run folder."""
    text = json.dumps(data.report(), indent=2, ensure_ascii=False) + "\n"
    write_file_atomically(run_folder / DATA_REPORT_FILE, text)
