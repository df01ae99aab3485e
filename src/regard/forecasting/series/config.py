"""Settings of the series data: which table, and its split into training, validation and test rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.config import check_ranges, setting
from regard.errors import ConfigError, DataError, require_setting
from regard.forecasting.series.calendar import CYCLES, Cycle, cycles_for_step
from regard.forecasting.series.time_axis import TIME_DTYPE, Times, TimeStep

AUTO = "auto"


@dataclass(frozen=True)
class SeriesSplit:
    """Row ranges in the order of time; rows after the test rows are not used."""

    train: range
    valid: range
    test: range


@dataclass(frozen=True)
class SeriesDataConfig:
    """The series to train on, their split in time, calendar features and batching."""

    series: str | None = setting(None, is_path=True, flag="--series")
    """A CSV or Parquet file with a time column and one column of numbers per series."""
    time: str | None = setting(None, flag="--time")
    """Name of the time column; empty: found by its name or its values."""
    columns: tuple[str, ...] = setting((), flag="--columns")
    """Names of the series columns; empty: every column but the time."""
    split: tuple[float, ...] = setting((0.8, 0.1, 0.1), at_least=0, at_most=10**12)
    """Training, validation and test rows in the order of time: shares of all rows, or numbers of rows."""
    valid_from: str | None = None
    """Date of the first validation row, instead of `split`; needs `test_from`."""
    test_from: str | None = None
    """Date of the first test row, which training never sees; needs `valid_from`."""
    cycles: tuple[str, ...] = ()
    """Calendar features of each time: minute, hour, weekday, monthday, month, or auto; empty: none."""
    together: bool = False
    """Read all series as one multivariate series, instead of each series by itself."""
    longest_gap: int = setting(24, at_least=1, at_most=10**9)
    """Consecutive missing values that are interpolated linearly; windows over longer gaps are left out."""
    batch_windows: int = setting(256, at_least=1, at_most=10**6)
    """Windows per batch."""
    valid_windows: int | None = setting(None, at_least=1, at_most=10**9)
    """Validation windows per validation, evenly spaced; none: all of them."""

    def __post_init__(self) -> None:
        check_ranges(self, "data")
        for cycle in self.cycles:
            require_setting(
                cycle in (AUTO, *CYCLES), "data.cycles", cycle, f"there are {', '.join((AUTO, *CYCLES))}"
            )
        if (self.valid_from is None) != (self.test_from is None):
            raise ConfigError("data.valid_from and data.test_from go together; give both or neither")
        split_by_share(0 if sum(self.split) <= 1 else 10**12, self.split)  # raises if `split` is not valid

    def split_rows(self, times: Times) -> SeriesSplit:
        """Split the rows of a table by `valid_from` and `test_from`, or by `split`."""
        if self.valid_from is None or self.test_from is None:
            return split_by_share(len(times), self.split)
        valid_from = _parse_date("valid_from", self.valid_from)
        return split_by_date(times, valid_from, _parse_date("test_from", self.test_from))

    def cycles_for(self, step: TimeStep) -> tuple[Cycle, ...]:
        """Return the configured calendar cycles, or with `auto` those that suit the step."""
        if AUTO in self.cycles:
            return cycles_for_step(step)
        return tuple(cycle for cycle in CYCLES if cycle in self.cycles)

    @property
    def series_path(self) -> str:
        """The path of the file; an error if none is set."""
        if not self.series:
            raise DataError("there is nothing to train on; give --series FILE, or data.series in a run file")
        return self.series


def split_by_share(rows: int, split: Sequence[float]) -> SeriesSplit:
    """Split by three shares of all rows, with a sum of at most 1, or by three numbers of rows."""
    require_setting(
        len(split) == 3 and min(split) >= 0, "data.split", list(split), "it must be three numbers"
    )
    unit = rows if sum(split) <= 1 + 1e-9 else 1
    train, valid, end = (round(unit * sum(split[:count])) for count in (1, 2, 3))
    if end > rows:
        counts = [int(count) for count in split]
        raise ConfigError(f"data.split = {counts} needs {end:,} rows; the table has {rows:,}")
    return _make_split(train, valid, end)


def split_by_date(times: Times, valid_from: np.datetime64, test_from: np.datetime64) -> SeriesSplit:
    """Split into training rows before `valid_from`, test rows from `test_from`, validation between."""
    if not valid_from < test_from:
        raise ConfigError(f"data.test_from = {test_from} must be later than data.valid_from = {valid_from}")
    first, second = np.searchsorted(times, [valid_from, test_from]).tolist()
    return _make_split(first, second, len(times))


def _make_split(train: int, valid: int, end: int) -> SeriesSplit:
    return SeriesSplit(range(train), range(train, valid), range(valid, end))


def _parse_date(name: str, text: str) -> np.datetime64:
    try:
        return np.datetime64(text).astype(TIME_DTYPE)
    except ValueError:
        raise ConfigError(
            f"data.{name} = {text} is not a date; write 2024-12-31 or 2024-12-31T23:00"
        ) from None
