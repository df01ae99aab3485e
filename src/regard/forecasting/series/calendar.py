"""When a step is, in numbers that a linear map can read: each cycle as a point on a circle."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float32, Float64

from regard.forecasting.series.time_axis import TIME_DTYPE, Times, TimeStep

Cycle = Literal["minute", "hour", "weekday", "monthday", "month"]
CYCLES: tuple[Cycle, ...] = ("minute", "hour", "weekday", "monthday", "month")
CYCLE_MICROSECONDS = {"minute": 3_600_000_000, "hour": 86_400_000_000, "weekday": 604_800_000_000}


def calendar_features(times: Times, cycles: Sequence[Cycle]) -> Float32[np.ndarray, "rows features"]:
    """Sine and cosine of where each time is in each cycle: midnight lies beside 23 o'clock.

    minute is within the hour, hour within the day, weekday within the week from Monday on, monthday
    within the month, month within the year; each goes on evenly between its marks.
    """
    angles = [2 * np.pi * cycle_phase(times, cycle) for cycle in cycles]
    columns = [wave(angle) for angle in angles for wave in (np.sin, np.cos)]
    return np.stack(columns, axis=1).astype(np.float32) if columns else np.zeros((len(times), 0), np.float32)


def cycle_phase(times: Times, cycle: Cycle) -> Float64[np.ndarray, " rows"]:
    """How much of its cycle has gone by at each time: at least 0, below 1."""
    times = times.astype(TIME_DTYPE)
    match cycle:
        case "minute" | "hour" | "weekday":
            monday = np.datetime64("1970-01-05", "us")
            return (times - monday).astype(np.int64) % CYCLE_MICROSECONDS[cycle] / CYCLE_MICROSECONDS[cycle]
        case "monthday":
            return _fraction_of_unit(times, "datetime64[M]")
        case "month":
            return _fraction_of_unit(times, "datetime64[Y]")


def cycles_for_step(step: TimeStep) -> tuple[Cycle, ...]:
    """Those that a series with such steps can show: longer than a step, shorter than most histories."""
    if step.months:
        return ("month",)
    day = 86_400_000_000
    if step.microseconds >= day:
        return ("weekday", "month") if step.microseconds < 7 * day else ("month",)
    return ("hour", "weekday") if step.microseconds >= 3_600_000_000 else ("minute", "hour", "weekday")


def season_length(step: TimeStep) -> int:
    """Steps of the shortest cycle that such a series is likely to repeat: a day, a week or a year of them."""
    if step.months:
        return max(1, 12 // step.months)
    hour, day = 3_600_000_000, 86_400_000_000
    for cycle in (hour, day, 7 * day):
        if step.microseconds < cycle and (cycle > hour or step.microseconds < 60_000_000):
            return round(cycle / step.microseconds)
    return max(1, round(365.25 * day / step.microseconds))


def _fraction_of_unit(times: Times, cycle: str) -> Float64[np.ndarray, " rows"]:
    start = times.astype(cycle)
    begin, end = start.astype(TIME_DTYPE), (start + 1).astype(TIME_DTYPE)
    return (times - begin) / (end - begin)
