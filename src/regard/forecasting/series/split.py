"""Which rows are for training, validation and test: in the order of time, never mixed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.errors import ConfigError, require_setting
from regard.forecasting.series.time_axis import Times


@dataclass(frozen=True)
class SeriesSplit:
    """Rows in ranges; what comes after the test rows is not used."""

    train: range
    valid: range
    test: range


def split_by_share(rows: int, split: Sequence[float]) -> SeriesSplit:
    """Three shares of all rows, which make 1 at most, or three numbers of rows."""
    require_setting(
        len(split) == 3 and min(split) >= 0, "data.split", list(split), "it must be three numbers"
    )
    size = rows if sum(split) <= 1 + 1e-9 else 1
    train, valid, end = (round(size * sum(split[:count])) for count in (1, 2, 3))
    if end > rows:
        asked = [int(count) for count in split]
        raise ConfigError(f"data.split = {asked} asks for {end:,} rows; there are {rows:,}")
    return _make_split(train, valid, end)


def split_by_date(times: Times, valid_from: np.datetime64, test_from: np.datetime64) -> SeriesSplit:
    """Training before `valid_from`, test from `test_from` on."""
    if not valid_from < test_from:
        raise ConfigError(f"data.test_from = {test_from} must be later than data.valid_from = {valid_from}")
    first, second = np.searchsorted(times, [valid_from, test_from]).tolist()
    return _make_split(first, second, len(times))


def _make_split(train: int, valid: int, end: int) -> SeriesSplit:
    return SeriesSplit(range(train), range(train, valid), range(valid, end))
