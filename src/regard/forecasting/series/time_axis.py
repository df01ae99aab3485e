"""The time axis of a table: parsing and formatting times, the step between rows, regular time grids."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from jaxtyping import Shaped

from regard.errors import DataError

Times = Shaped[np.ndarray, " rows"]
"""datetime64 in microseconds: UTC where the file gives an offset, else the time as it is written."""

TIME_DTYPE = "datetime64[us]"
MICROSECONDS_PER_MINUTE = 60_000_000
MICROSECONDS_PER_HOUR = 60 * MICROSECONDS_PER_MINUTE
MICROSECONDS_PER_DAY = 24 * MICROSECONDS_PER_HOUR
UNIX_FORMATS = ("unix seconds", "unix milliseconds")
DATE_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%Y%m%d")
HOUR_FORMATS = ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f", "%I:%M:%S %p", "%I:%M %p")
TIME_FORMATS = (
    *(
        f"{date}{separator}{hour}{zone}"
        for date in DATE_FORMATS
        for separator in " T"
        for hour in HOUR_FORMATS
        for zone in ("", "Z", "%z")
    ),
    *DATE_FORMATS,
    "%Y-%m",
    "%Y",
    *UNIX_FORMATS,
)
SAMPLE_TIMES = 50
"""Times of a column that are parsed to find the formats to try on all of it."""


@dataclass(frozen=True)
class TimeStep:
    """The step from one row to the next: a fixed duration, or a number of calendar months."""

    microseconds: int = 0
    months: int = 0
    ends: bool = False
    """Whether every time is on the last day of its month."""

    def __str__(self) -> str:
        if self.months:
            return _pluralize(self.months, "month") + (" (last days)" if self.ends else "")
        for name, size in (
            ("day", MICROSECONDS_PER_DAY),
            ("hour", MICROSECONDS_PER_HOUR),
            ("minute", MICROSECONDS_PER_MINUTE),
        ):
            if self.microseconds % size == 0:
                return _pluralize(self.microseconds // size, name)
        return f"{self.microseconds / 1e6:g} seconds"


@dataclass(frozen=True)
class TimeAxis:
    """A time format (of `datetime.strptime`, or one of `UNIX_FORMATS`) and a step."""

    format: str
    step: TimeStep

    def format_times(self, times: Times) -> list[str]:
        """Format times as the file does."""
        return format_times(times, self.format)

    def count_steps_after(self, last: np.datetime64) -> int:
        """Return the number of steps after `last` up to the year 9999, the last that can be written."""
        end = np.datetime64("9999-12-31T23:59:59", "us")
        if self.step.months:
            return (
                int((end.astype("datetime64[M]") - last.astype("datetime64[M]")).astype(int))
                // self.step.months
            )
        return int((end - last).astype(int)) // self.step.microseconds

    def times_after(self, last: np.datetime64, steps: int) -> Times:
        """Return `steps` times, the first one step after `last`."""
        return time_grid(last, self.step, steps + 1)[1:]


def time_grid(first: np.datetime64, step: TimeStep, count: int) -> Times:
    """Return `count` times from `first` on, one step apart."""
    if not step.months:
        return first + np.arange(count) * np.timedelta64(step.microseconds, "us")
    month = first.astype("datetime64[M]") + int(
        step.ends
    )  # a month end is measured from the start of the next month
    return (month + np.arange(count) * step.months).astype(TIME_DTYPE) + (first - month.astype(TIME_DTYPE))


def steps_since_first(times: Times, step: TimeStep) -> np.ndarray:
    """Return the number of steps, rounded, from the first time to each time."""
    if step.months:
        months = times.astype("datetime64[M]").astype(np.int64)
        return np.rint((months - months[0]) / step.months).astype(np.int64)
    elapsed = (times - times[0]).astype(np.int64)
    return (elapsed + step.microseconds // 2) // step.microseconds


def most_common_step(times: Times) -> TimeStep:
    """Return the most frequent step between sorted times, in months if only calendar months fit."""
    gaps, counts = np.unique(np.diff(times).astype(np.int64), return_counts=True)
    month = times.astype("datetime64[M]")
    from_start, to_end = times - month.astype(TIME_DTYPE), (month + 1).astype(TIME_DTYPE) - times
    is_from_start = (from_start == from_start[0]).all()
    is_to_end = (to_end == to_end[0]).all() and to_end[0] <= np.timedelta64(1, "D")
    if len(gaps) > 1 and (is_from_start or is_to_end):
        months, counts = np.unique(np.diff(month).astype(np.int64), return_counts=True)
        return TimeStep(months=int(months[counts.argmax()]), ends=not is_from_start)
    return TimeStep(microseconds=int(gaps[counts.argmax()]))


def parse_times(texts: Sequence[str], where: str) -> tuple[Times, str]:
    """Return the times and their format; of several formats that fit, the one with the most regular steps.

    A number that can be a date is read as a date: Unix times have more digits than any date.
    `where` names the file and column in errors.
    """
    sample = texts[:: max(1, len(texts) // SAMPLE_TIMES)]
    likely = [name for name in TIME_FORMATS if _parse_with_format(sample, name) is not None]
    parsed = [(times, name) for name in likely if (times := _parse_with_format(texts, name)) is not None]
    if not parsed:
        raise DataError(
            f"{where}: {_first_unparsable(texts, likely)!r} is not a time in a known format; "
            "write all times as 2024-12-31 23:00:00, or in another common format"
        )
    dates = [(times, name) for times, name in parsed if name not in UNIX_FORMATS]
    return min(dates or parsed, key=lambda candidate: len(np.unique(np.diff(candidate[0]))))


def format_times(times: Times, time_format: str) -> list[str]:
    """Format times in a format that `parse_times` returned."""
    if time_format in UNIX_FORMATS:
        unit = 1_000_000 if time_format == UNIX_FORMATS[0] else 1000
        return [str(number // unit) for number in times.astype(np.int64).tolist()]
    moments = times.astype(TIME_DTYPE).tolist()
    return [moment.replace(tzinfo=UTC).strftime(time_format) for moment in moments]


def look_like_times(texts: Sequence[str]) -> bool:
    """Return whether a column looks like times and not like plain numbers."""
    formats = [name for name in TIME_FORMATS if name not in (*UNIX_FORMATS, "%Y", "%Y%m%d")]
    return any(_parse_with_format(texts[:SAMPLE_TIMES], name) is not None for name in formats)


def _parse_with_format(texts: Sequence[str], time_format: str) -> Times | None:
    try:
        if time_format in UNIX_FORMATS:
            return _parse_unix_times(texts, time_format)
        moments = [datetime.strptime(text.strip(), time_format) for text in texts]
    except (ValueError, OverflowError):
        return None
    if time_format.endswith("%z"):
        moments = [moment.astimezone(UTC).replace(tzinfo=None) for moment in moments]
    return np.array(moments, TIME_DTYPE)


def _parse_unix_times(texts: Sequence[str], time_format: str) -> Times | None:
    """Parse whole numbers as Unix seconds, or as milliseconds if seconds would be far in the future."""
    numbers = np.array([int(text) for text in texts], np.int64)
    milliseconds = len(numbers) > 0 and int(np.abs(numbers).max()) > 10**11
    if milliseconds != (time_format == UNIX_FORMATS[1]):
        return None
    return (numbers * (1000 if milliseconds else 1_000_000)).astype(TIME_DTYPE)


def _first_unparsable(texts: Sequence[str], likely: Sequence[str]) -> str:
    for text in texts:
        if not any(_parse_with_format([text], name) is not None for name in likely or TIME_FORMATS):
            return text
    return texts[0] if texts else ""


def _pluralize(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"
