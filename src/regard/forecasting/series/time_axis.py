"""Clock: how a file writes time, read and written back alike, and the step from one row to the next."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from jaxtyping import Shaped

from regard.errors import DataError

Times = Shaped[np.ndarray, " rows"]
"""datetime64 in microseconds, in the file's own time or, where it says the offset, in UTC."""

TIME_DTYPE = "datetime64[us]"
UNIX_FORMATS = ("unix seconds", "unix milliseconds")
DATE_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%Y%m%d")
HOUR_FORMATS = ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f", "%I:%M:%S %p", "%I:%M %p")
TIME_FORMATS = (
    *(
        f"{date}{between}{hour}{zone}"
        for date in DATE_FORMATS
        for between in " T"
        for hour in HOUR_FORMATS
        for zone in ("", "Z", "%z")
    ),
    *DATE_FORMATS,
    "%Y-%m",
    "%Y",
    *UNIX_FORMATS,
)
SAMPLE_TIMES = 50
"""Times that decide which formats are tried on all."""


@dataclass(frozen=True)
class TimeStep:
    """From one row to the next: a fixed time, or so many months of whatever length."""

    microseconds: int = 0
    months: int = 0
    ends: bool = False
    """Whether each time is on the last day of its month, whichever that is."""

    def __str__(self) -> str:
        if self.months:
            return _pluralize(self.months, "month") + (" (last days)" if self.ends else "")
        for name, size in (("day", 86_400_000_000), ("hour", 3_600_000_000), ("minute", 60_000_000)):
            if self.microseconds % size == 0:
                return _pluralize(self.microseconds // size, name)
        return f"{self.microseconds / 1e6:g} seconds"


@dataclass(frozen=True)
class TimeAxis:
    """A format of `datetime.strptime` or one of UNIX, and a step."""

    format: str
    step: TimeStep

    def format_times(self, times: Times) -> list[str]:
        """As the file writes them."""
        return format_times(times, self.format)

    def times_after(self, last: np.datetime64, steps: int) -> Times:
        """So many times, the first of them a step after `last`."""
        return time_grid(last, self.step, steps + 1)[1:]


def time_grid(first: np.datetime64, step: TimeStep, count: int) -> Times:
    """So many times from `first` on, a step apart."""
    if not step.months:
        return first + np.arange(count) * np.timedelta64(step.microseconds, "us")
    month = first.astype("datetime64[M]") + int(step.ends)  # the end of a month is where the next begins
    return (month + np.arange(count) * step.months).astype(TIME_DTYPE) + (first - month.astype(TIME_DTYPE))


def steps_since_first(times: Times, step: TimeStep) -> np.ndarray:
    """How many steps after the first time each is, as near as can be."""
    if step.months:
        months = times.astype("datetime64[M]").astype(np.int64)
        return np.rint((months - months[0]) / step.months).astype(np.int64)
    since = (times - times[0]).astype(np.int64)
    return (since + step.microseconds // 2) // step.microseconds


def most_common_step(times: Times) -> TimeStep:
    """The step that comes most often between rows in order; in months where only those are equal."""
    apart, counts = np.unique(np.diff(times).astype(np.int64), return_counts=True)
    month = times.astype("datetime64[M]")
    since, until = times - month.astype(TIME_DTYPE), (month + 1).astype(TIME_DTYPE) - times
    same, ends = (since == since[0]).all(), (until == until[0]).all() and until[0] <= np.timedelta64(1, "D")
    if len(apart) > 1 and (same or ends):
        months, counts = np.unique(np.diff(month).astype(np.int64), return_counts=True)
        return TimeStep(months=int(months[counts.argmax()]), ends=not same)
    return TimeStep(microseconds=int(apart[counts.argmax()]))


def parse_times(texts: Sequence[str], where: str) -> tuple[Times, str]:
    """The times, and the format they are in; of several formats that fit, the one with the evenest steps.

    Numbers that can be dates are: seconds since 1970 have more digits than any date, today's at least.
    """
    sample = texts[:: max(1, len(texts) // SAMPLE_TIMES)]
    likely = [form for form in TIME_FORMATS if _parse_with_format(sample, form) is not None]
    found = [(read, form) for form in likely if (read := _parse_with_format(texts, form)) is not None]
    if not found:
        raise DataError(
            f"{where} has no time that can be read: {_first_unparsable(texts, likely)!r}; "
            "write times as 2024-12-31 23:00:00, or as another usual format throughout"
        )
    dates = [each for each in found if each[1] not in UNIX_FORMATS]
    return min(dates or found, key=lambda each: len(np.unique(np.diff(each[0]))))


def format_times(times: Times, time_format: str) -> list[str]:
    """Times in a format that `read_times` names."""
    if time_format in UNIX_FORMATS:
        size = 1_000_000 if time_format == UNIX_FORMATS[0] else 1000
        return [str(number // size) for number in times.astype(np.int64).tolist()]
    moments = times.astype(TIME_DTYPE).tolist()
    return [moment.replace(tzinfo=UTC).strftime(time_format) for moment in moments]


def look_like_times(texts: Sequence[str]) -> bool:
    """Whether a column looks like times, and not like plain numbers."""
    formats = [form for form in TIME_FORMATS if form not in (*UNIX_FORMATS, "%Y", "%Y%m%d")]
    return any(_parse_with_format(texts[:SAMPLE_TIMES], form) is not None for form in formats)


def _parse_with_format(texts: Sequence[str], form: str) -> Times | None:
    try:
        if form in UNIX_FORMATS:
            return _parse_unix_times(texts, form)
        moments = [datetime.strptime(text.strip(), form) for text in texts]
    except (ValueError, OverflowError):
        return None
    if form.endswith("%z"):
        moments = [moment.astimezone(UTC).replace(tzinfo=None) for moment in moments]
    return np.array(moments, TIME_DTYPE)


def _parse_unix_times(texts: Sequence[str], form: str) -> Times | None:
    """Whole numbers: seconds since 1970, or milliseconds where seconds would be far in the future."""
    numbers = np.array([int(text) for text in texts], np.int64)
    milliseconds = len(numbers) > 0 and int(np.abs(numbers).max()) > 10**11
    if milliseconds != (form == UNIX_FORMATS[1]):
        return None
    return (numbers * (1000 if milliseconds else 1_000_000)).astype(TIME_DTYPE)


def _first_unparsable(texts: Sequence[str], likely: Sequence[str]) -> str:
    for text in texts:
        if not any(_parse_with_format([text], form) is not None for form in likely or TIME_FORMATS):
            return text
    return texts[0] if texts else ""


def _pluralize(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"
