"""A series as a picture needs it: few points that keep every peak, and a smooth one beside them."""

import numpy as np
from jaxtyping import Float64

PlotSeries = Float64[np.ndarray, " points"]
SampledSeries = Float64[np.ndarray, " few"]

MAX_POINTS = 600


def downsample_extrema(
    x: PlotSeries, y: PlotSeries, max_points: int = MAX_POINTS
) -> tuple[SampledSeries, SampledSeries]:
    """At most `points` of them: of each part of the series its lowest and its highest, and its gaps.

    A gap (y is NaN) stays one, however short: a loss that was no number is what one looks for.
    """
    if len(y) <= max_points:
        return x, y
    chosen: list[int] = []
    for part in np.array_split(np.arange(len(y)), max_points // 3):
        missing = np.flatnonzero(np.isnan(y[part]))
        known = np.flatnonzero(~np.isnan(y[part]))
        found = set(missing[:1].tolist())
        if len(known):
            found |= {int(known[y[part][known].argmin()]), int(known[y[part][known].argmax()])}
        chosen += [int(part[place]) for place in sorted(found)]
    return x[chosen], y[chosen]


def centered_moving_average(y: PlotSeries) -> PlotSeries:
    """The mean of the fiftieth part of the series around each point; it does not lag behind.

    What is no number counts for nothing, and is none afterwards either.
    """
    half = len(y) // 100
    known = ~np.isnan(y)
    sums = np.concatenate([[0.0], np.cumsum(np.where(known, y, 0.0))])
    counts = np.concatenate([[0], np.cumsum(known)])
    first = np.maximum(np.arange(len(y)) - half, 0)
    last = np.minimum(np.arange(len(y)) + half + 1, len(y))
    with np.errstate(invalid="ignore"):
        return np.where(known, (sums[last] - sums[first]) / (counts[last] - counts[first]), np.nan)
