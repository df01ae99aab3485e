"""Ticks at round times: midnights, Mondays, first days of a month."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float64, Shaped

from regard.forecasting.forecast import Forecast
from regard.forecasting.series.time_axis import UNIT, Times
from regard.plots.curves_page import PAGE
from regard.plots.scale import Scale, around
from regard.plots.svg import clip, path, tag, text, words
from regard.plots.theme import picture, style

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


WIDTH, HEIGHT, GAP = 960.0, 250.0, 10.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 18.0, 52.0, 30.0
PAST = 2.0
"""Of the horizon: how much of the past is shown beside it."""
LEAST = 48
"""Steps of the past that are shown at least, if there are as many."""
RULES = """
.rg .spread { fill: #d55e00; fill-opacity: .16; stroke: none }
@media (prefers-color-scheme: dark) { .rg .spread { fill: #e69f00; fill-opacity: .2 } }
"""


def sheet(forecast: Forecast) -> str:
    """All series under one another, as one SVG."""
    panels = [_panel(forecast, number, number * (HEIGHT + GAP)) for number in range(len(forecast.columns))]
    return picture(panels, _title(forecast), WIDTH, len(panels) * (HEIGHT + GAP) - GAP, RULES)


def page(forecast: Forecast) -> str:
    """One page that needs nothing else."""
    panels = [tag("figure", _panel(forecast, number, 0.0)) for number in range(len(forecast.columns))]
    notes = [tag("p", words(note)) for note in forecast.notes]
    body = "\n".join([*notes, *panels])
    return PAGE.format(title=words(_title(forecast)), style=style() + RULES, body=body)


def _title(forecast: Forecast) -> str:
    first, last = forecast.past.clock.write(forecast.times[[0, -1]])
    return f"Forecast of {forecast.past.name}: {len(forecast.times)} steps, {first} to {last}"


def _panel(forecast: Forecast, number: int, top: float) -> str:
    column = forecast.columns[number]
    shown = min(len(forecast.past), max(LEAST, int(PAST * len(forecast.times))))
    before = forecast.past.values[-shown:, number]
    mean = forecast.values[:, number]
    bounds = {share: rows[:, number] for share, rows in forecast.quantiles.items()}
    times = np.concatenate([forecast.past.times[-shown:], forecast.times])
    x = Scale(0.0, float(len(times) - 1), LEFT, WIDTH - RIGHT)
    low, high = around(np.concatenate([before, mean, *bounds.values()]).tolist())
    y = Scale(low, high, HEIGHT - BOTTOM, TOP)
    there = np.arange(shown, len(times), dtype=np.float64)
    parts = [
        tag("rect", class_="paper", width=WIDTH, height=HEIGHT, rx=4),
        text(clip(column, WIDTH - 30, 14.0), 14.0, 22.0, "title"),
        *_legend(forecast),
        *_axes(times, x, y),
        *(_spread(there, bounds[a], bounds[b], x, y) for a, b in forecast.intervals),
        tag("path", class_="thick s0", d=path(x.all(np.arange(shown, dtype=np.float64)), y.all(before))),
        tag("path", class_="thick s1", d=path(x.all(there), y.all(mean)), stroke_dasharray="7 3"),
    ]
    described = f"{column}: mean from {mean[0]:.4g} to {mean[-1]:.4g}, lowest {mean.min():.4g}, "
    described += f"highest {mean.max():.4g}"
    return tag(
        "svg",
        tag("title", words(described)),
        *parts,
        class_="rg",
        role="img",
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
        y=top,
        width=WIDTH,
        height=HEIGHT,
    )


def _legend(forecast: Forecast) -> Iterator[str]:
    yield tag("line", class_="thick s0", x1=14.0, x2=36.0, y1=38.0, y2=38.0)
    yield text("past", 42.0, 42.0, "small")
    yield tag("line", class_="thick s1", x1=80.0, x2=102.0, y1=38.0, y2=38.0, stroke_dasharray="7 3")
    shares = " and ".join(f"{high - low:.0%}" for low, high in reversed(forecast.intervals))
    spread = f", with the intervals that hold {shares} of what may come" if shares else ""
    yield text(f"forecast, the mean{spread}", 108.0, 42.0, "small")


def _axes(times: np.ndarray, x: Scale, y: Scale) -> Iterator[str]:
    for value, said in y.ticks(5):
        yield tag("line", class_="grid", x1=LEFT, x2=WIDTH - RIGHT, y1=y(value), y2=y(value))
        yield text(said, LEFT - 7, y(value) + 4, "small", text_anchor="end")
    for place, said in ticks(times, 10):
        yield tag("line", class_="grid", x1=x(place), x2=x(place), y1=TOP, y2=HEIGHT - BOTTOM + 4)
        yield text(said, x(place), HEIGHT - BOTTOM + 17, "small", text_anchor="middle")


def _spread(
    at: Float64[np.ndarray, " steps"],
    low: Float64[np.ndarray, " steps"],
    high: Float64[np.ndarray, " steps"],
    x: Scale,
    y: Scale,
) -> str:
    across = x.all(np.concatenate([at, at[::-1]]))
    return tag("path", class_="spread", d=path(across, y.all(np.concatenate([high, low[::-1]]))) + "Z")
