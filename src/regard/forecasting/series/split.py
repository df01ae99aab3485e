"""Which rows are for training, validation and test: in the order of time, never mixed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.errors import ConfigError, require
from regard.forecasting.series.time_axis import Times


@dataclass(frozen=True)
class Parts:
    """Rows in ranges; what comes after the test rows is not used."""

    train: range
    valid: range
    test: range


def by_share(rows: int, split: Sequence[float]) -> Parts:
    """Three shares of all rows, which make 1 at most, or three numbers of rows."""
    require(len(split) == 3 and min(split) >= 0, "data.split", list(split), "it must be three numbers")
    size = rows if sum(split) <= 1 + 1e-9 else 1
    train, valid, end = (round(size * sum(split[:count])) for count in (1, 2, 3))
    if end > rows:
        asked = [int(count) for count in split]
        raise ConfigError(f"data.split = {asked} asks for {end:,} rows; there are {rows:,}")
    return _parts(train, valid, end)


def by_date(times: Times, valid_from: np.datetime64, test_from: np.datetime64) -> Parts:
    """Training before `valid_from`, test from `test_from` on."""
    if not valid_from < test_from:
        raise ConfigError(f"data.test_from = {test_from} must be later than data.valid_from = {valid_from}")
    first, second = np.searchsorted(times, [valid_from, test_from]).tolist()
    return _parts(first, second, len(times))


def _parts(train: int, valid: int, end: int) -> Parts:
    return Parts(range(train), range(train, valid), range(valid, end))
