"""Downsampling of series that keeps their extremes, and a centred moving average."""

import numpy as np
from jaxtyping import Float64

PlotSeries = Float64[np.ndarray, " points"]
SampledSeries = Float64[np.ndarray, " few"]

MAX_POINTS = 600


def downsample_extrema(
    x: PlotSeries, y: PlotSeries, max_points: int = MAX_POINTS
) -> tuple[SampledSeries, SampledSeries]:
    """Return at most `max_points` points: minimum and maximum of each section, and its gaps.

    A gap (y is NaN) is kept however short: a loss that was NaN must be visible.
    """
    if len(y) <= max_points:
        return x, y
    kept: list[int] = []
    for section in np.array_split(np.arange(len(y)), max_points // 3):
        missing = np.flatnonzero(np.isnan(y[section]))
        is_number = np.flatnonzero(~np.isnan(y[section]))
        extremes = set(missing[:1].tolist())
        if len(is_number):
            extremes |= {
                int(is_number[y[section][is_number].argmin()]),
                int(is_number[y[section][is_number].argmax()]),
            }
        kept += [int(section[place]) for place in sorted(extremes)]
    return x[kept], y[kept]


def centered_moving_average(y: PlotSeries) -> PlotSeries:
    """Return the mean over a window of 1/50 of the series around each point, without lag.

    NaN values are left out of the means and stay NaN.
    """
    half = len(y) // 100
    is_number = ~np.isnan(y)
    sums = np.concatenate([[0.0], np.cumsum(np.where(is_number, y, 0.0))])
    counts = np.concatenate([[0], np.cumsum(is_number)])
    first = np.maximum(np.arange(len(y)) - half, 0)
    last = np.minimum(np.arange(len(y)) + half + 1, len(y))
    with np.errstate(invalid="ignore"):
        return np.where(is_number, (sums[last] - sums[first]) / (counts[last] - counts[first]), np.nan)
