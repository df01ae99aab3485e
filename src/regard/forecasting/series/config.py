"""SeriesConfig: which table, which of its rows are for what, and how they become batches."""

from dataclasses import dataclass

import numpy as np

from regard.errors import ConfigError, DataError, require_setting
from regard.forecasting.series.calendar import CYCLES, Cycle, cycles_for_step
from regard.forecasting.series.split import SeriesSplit, split_by_date, split_by_share
from regard.forecasting.series.time_axis import TIME_DTYPE, Times, TimeStep

AUTO = "auto"


@dataclass(frozen=True)
class SeriesDataConfig:
    """The series to learn from, what to validate and test on, and how they become batches."""

    series: str | None = None
    """A CSV or Parquet file: a column of times, and a column of numbers for each series."""
    time: str | None = None
    """The column of times; empty is the one that looks like it."""
    columns: tuple[str, ...] = ()
    """The series; empty is every other column."""
    split: tuple[float, ...] = (0.8, 0.1, 0.1)
    """Training, validation and test, in the order of time: shares of all rows, or numbers of rows."""
    valid_from: str | None = None
    """A date, with the next in place of `split`: the first row to validate on..."""
    test_from: str | None = None
    """...and the first to test on, which the training never sees."""
    cycles: tuple[str, ...] = ()
    """What the model is told of each time: minute, hour, weekday, monthday, month, auto; empty is nothing."""
    together: bool = False
    """Read all series as one, which may learn from one another, instead of each by itself."""
    longest_gap: int = 24
    """Missing values in a row that a straight line fills in; windows over longer gaps are left out."""
    batch_windows: int = 256
    """Windows of a batch."""
    valid_windows: int | None = None
    """Validation windows that a checkpoint is judged on, evenly spaced; none is all of them."""

    def __post_init__(self) -> None:
        for name in ("longest_gap", "batch_windows"):
            require_setting(
                getattr(self, name) >= 1, f"data.{name}", getattr(self, name), "it must be at least 1"
            )
        most = self.valid_windows
        require_setting(
            most is None or most >= 1, "data.valid_windows", most, "it must be at least 1, or none"
        )
        known = (AUTO, *CYCLES)
        for cycle in self.cycles:
            require_setting(cycle in known, "data.cycles", cycle, f"there are {', '.join(known)}")
        if (self.valid_from is None) != (self.test_from is None):
            raise ConfigError("data.valid_from and data.test_from go together; give both or neither")
        split_by_share(0 if sum(self.split) <= 1 else 10**12, self.split)  # says what is wrong with it

    def split_rows(self, times: Times) -> SeriesSplit:
        """Which rows are for what."""
        if self.valid_from is None or self.test_from is None:
            return split_by_share(len(times), self.split)
        return split_by_date(
            times, _parse_date("valid_from", self.valid_from), _parse_date("test_from", self.test_from)
        )

    def cycles_for(self, step: TimeStep) -> tuple[Cycle, ...]:
        """Those that were asked for, or that suit such steps."""
        if AUTO in self.cycles:
            return cycles_for_step(step)
        return tuple(cycle for cycle in CYCLES if cycle in self.cycles)

    @property
    def series_path(self) -> str:
        """The file; refused if there is none."""
        if not self.series:
            raise DataError(
                "there is nothing to learn from; give --series FILE, or data.series in a run file"
            )
        return self.series


def _parse_date(name: str, said: str) -> np.datetime64:
    try:
        return np.datetime64(said).astype(TIME_DTYPE)
    except ValueError:
        raise ConfigError(f"data.{name} = {said} is no date; write 2024-12-31 or 2024-12-31T23:00") from None
