"""Ticks at round times: midnights, Mondays, first days of a month."""

import numpy as np
from jaxtyping import Shaped

from regard.data.series.clock import UNIT, Times

STRIDES = (
    *(("m", 1), ("m", 5), ("m", 15), ("m", 30), ("h", 1), ("h", 3), ("h", 6), ("h", 12)),
    *(("D", 1), ("D", 2), ("D", 7), ("D", 14), ("M", 1), ("M", 3), ("M", 6)),
    *(("Y", 1), ("Y", 2), ("Y", 5), ("Y", 10), ("Y", 50)),
)
MONDAY = 4
"""Days after 1970-01-01, from which days are counted."""


def ticks(times: Times, most: int) -> list[tuple[float, str]]:
    """Up to so many round times, as places among the rows and what to write there."""
    marks = next((found for stride in STRIDES if len(found := _marks(times, *stride)) <= most), times[:0])
    rows = times.astype(UNIT).astype(np.int64)
    places = np.interp(marks.astype(UNIT).astype(np.int64), rows, np.arange(len(rows)))
    unit = np.datetime_data(marks.dtype)[0]
    return [(float(place), label(mark, unit)) for place, mark in zip(places, marks, strict=True)]


def _marks(times: Times, unit: str, size: int) -> Shaped[np.ndarray, " marks"]:
    """The multiples of so many units that lie within the times."""
    first, last = (int(time.astype(f"datetime64[{unit}]").astype(np.int64)) for time in times[[0, -1]])
    shift = MONDAY if unit == "D" else 0
    numbers = np.arange((first - shift) // size + 1, (last - shift) // size + 1) * size + shift
    return numbers.astype(f"datetime64[{unit}]")


def label(mark: np.datetime64, unit: str) -> str:
    """As much of it as tells it from its neighbours: midnight has its date."""
    if unit not in ("m", "h"):
        return str(mark)
    day, clock = str(mark.astype("datetime64[m]")).split("T")
    return day if clock == "00:00" else clock
