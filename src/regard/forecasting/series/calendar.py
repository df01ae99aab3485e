"""Calendar features: the position of a time in the hour, day, week, month and year, as sine and cosine."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float32, Float64

from regard.forecasting.series.time_axis import (
    MICROSECONDS_PER_DAY,
    MICROSECONDS_PER_HOUR,
    MICROSECONDS_PER_MINUTE,
    TIME_DTYPE,
    Times,
    TimeStep,
)

Cycle = Literal["minute", "hour", "weekday", "monthday", "month"]
CYCLES: tuple[Cycle, ...] = ("minute", "hour", "weekday", "monthday", "month")
MICROSECONDS_PER_WEEK = 7 * MICROSECONDS_PER_DAY
CYCLE_MICROSECONDS = {
    "minute": MICROSECONDS_PER_HOUR,
    "hour": MICROSECONDS_PER_DAY,
    "weekday": MICROSECONDS_PER_WEEK,
}
DAYS_PER_YEAR = 365.25


def calendar_features(times: Times, cycles: Sequence[Cycle]) -> Float32[np.ndarray, "rows features"]:
    """Return sine and cosine of the phase of each time in each cycle, so that 23:00 is close to 00:00.

    Cycles: minute of the hour, hour of the day, weekday from Monday on, monthday (day of the month) and
    month of the year; every phase grows linearly with time within its cycle.
    """
    angles = [2 * np.pi * cycle_phase(times, cycle) for cycle in cycles]
    columns = [function(angle) for angle in angles for function in (np.sin, np.cos)]
    return np.stack(columns, axis=1).astype(np.float32) if columns else np.zeros((len(times), 0), np.float32)


def cycle_phase(times: Times, cycle: Cycle) -> Float64[np.ndarray, " rows"]:
    """Return the fraction of the cycle that has passed at each time, in [0, 1)."""
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
    """Return the cycles to use by default: longer than a step, shorter than a usual history."""
    if step.months:
        return ("month",)
    if step.microseconds >= MICROSECONDS_PER_DAY:
        return ("weekday", "month") if step.microseconds < MICROSECONDS_PER_WEEK else ("month",)
    if step.microseconds >= MICROSECONDS_PER_HOUR:
        return ("hour", "weekday")
    return ("minute", "hour", "weekday")


def season_length(step: TimeStep) -> int:
    """Return the steps in the shortest likely season of a series: an hour, a day, a week or a year."""
    if step.months:
        return max(1, 12 // step.months)
    if step.microseconds < MICROSECONDS_PER_MINUTE:
        return round(MICROSECONDS_PER_HOUR / step.microseconds)
    for cycle in (MICROSECONDS_PER_DAY, MICROSECONDS_PER_WEEK):
        if step.microseconds < cycle:
            return round(cycle / step.microseconds)
    return max(1, round(DAYS_PER_YEAR * MICROSECONDS_PER_DAY / step.microseconds))


def _fraction_of_unit(times: Times, unit_dtype: str) -> Float64[np.ndarray, " rows"]:
    """Return the fraction of a month or year that has passed; their lengths vary."""
    start = times.astype(unit_dtype)
    first, end = start.astype(TIME_DTYPE), (start + 1).astype(TIME_DTYPE)
    return (times - first) / (end - first)
