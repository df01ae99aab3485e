"""Forecasts as SVG and HTML: recent history, predicted mean and prediction intervals."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float64, Shaped

from regard.forecasting.forecast import Forecast
from regard.forecasting.series.time_axis import TIME_DTYPE, Times
from regard.plots.scale import LinearScale, padded_range
from regard.plots.svg import clip_text, escape_text, path_data, svg_element, svg_text
from regard.plots.theme import html_document, svg_document

WIDTH, HEIGHT, GAP = 960.0, 250.0, 10.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 18.0, 52.0, 30.0
HISTORY_TO_HORIZON = 2.0
"""Length of the history drawn, in forecast horizons."""
MIN_HISTORY_STEPS = 48
"""Fewest time steps of history drawn, if there are as many."""
FORECAST_CSS = """
.rg .spread { fill: #d55e00; fill-opacity: .16; stroke: none }
@media (prefers-color-scheme: dark) { .rg .spread { fill: #e69f00; fill-opacity: .2 } }
"""


TICK_INTERVALS = (
    *(("m", 1), ("m", 5), ("m", 15), ("m", 30), ("h", 1), ("h", 3), ("h", 6), ("h", 12)),
    *(("D", 1), ("D", 2), ("D", 7), ("D", 14), ("M", 1), ("M", 3), ("M", 6)),
    *(("Y", 1), ("Y", 2), ("Y", 5), ("Y", 10), ("Y", 50)),
)
FIRST_MONDAY = 4
"""In days since 1970-01-01."""


def render_forecast_svg(forecast: Forecast) -> str:
    """Return all series below one another as one SVG."""
    panels = [
        _draw_forecast_panel(forecast, number, number * (HEIGHT + GAP))
        for number in range(len(forecast.columns))
    ]
    return svg_document(panels, _title(forecast), WIDTH, len(panels) * (HEIGHT + GAP) - GAP, FORECAST_CSS)


def render_forecast_html(forecast: Forecast) -> str:
    """Return one self-contained page."""
    panels = [
        svg_element("figure", _draw_forecast_panel(forecast, number, 0.0))
        for number in range(len(forecast.columns))
    ]
    notes = [svg_element("p", escape_text(note)) for note in forecast.notes]
    body = "\n".join([*notes, *panels])
    return html_document(_title(forecast), body, FORECAST_CSS)


def _title(forecast: Forecast) -> str:
    first, last = forecast.history.time_axis.format_times(forecast.times[[0, -1]])
    return f"Forecast of {forecast.history.name}: {len(forecast.times)} steps, {first} to {last}"


def _draw_forecast_panel(forecast: Forecast, number: int, top: float) -> str:
    column = forecast.columns[number]
    past_steps = min(
        len(forecast.history), max(MIN_HISTORY_STEPS, int(HISTORY_TO_HORIZON * len(forecast.times)))
    )
    past = forecast.history.values[-past_steps:, number]
    mean = forecast.values[:, number]
    bounds = {share: rows[:, number] for share, rows in forecast.quantiles.items()}
    times = np.concatenate([forecast.history.times[-past_steps:], forecast.times])
    x = LinearScale(0.0, float(len(times) - 1), LEFT, WIDTH - RIGHT)
    low, high = padded_range(np.concatenate([past, mean, *bounds.values()]).tolist())
    y = LinearScale(low, high, HEIGHT - BOTTOM, TOP)
    future = np.arange(past_steps, len(times), dtype=np.float64)
    parts = [
        svg_element("rect", class_="paper", width=WIDTH, height=HEIGHT, rx=4),
        svg_text(clip_text(column, WIDTH - 30, 14.0), 14.0, 22.0, "title"),
        *_draw_forecast_legend(forecast),
        *_draw_forecast_axes(times, x, y),
        *(_draw_interval(future, bounds[a], bounds[b], x, y) for a, b in forecast.intervals),
        svg_element(
            "path",
            class_="thick s0",
            d=path_data(x.map_array(np.arange(past_steps, dtype=np.float64)), y.map_array(past)),
        ),
        svg_element(
            "path",
            class_="thick s1",
            d=path_data(x.map_array(future), y.map_array(mean)),
            stroke_dasharray="7 3",
        ),
    ]
    description = f"{column}: mean from {mean[0]:.4g} to {mean[-1]:.4g}, lowest {mean.min():.4g}, "
    description += f"highest {mean.max():.4g}"
    return svg_element(
        "svg",
        svg_element("title", escape_text(description)),
        *parts,
        class_="rg",
        role="img",
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
        y=top,
        width=WIDTH,
        height=HEIGHT,
    )


def _draw_forecast_legend(forecast: Forecast) -> Iterator[str]:
    yield svg_element("line", class_="thick s0", x1=14.0, x2=36.0, y1=38.0, y2=38.0)
    yield svg_text("history", 42.0, 42.0, "small")
    yield svg_element("line", class_="thick s1", x1=96.0, x2=118.0, y1=38.0, y2=38.0, stroke_dasharray="7 3")
    shares = " and ".join(f"{high - low:.0%}" for low, high in reversed(forecast.intervals))
    intervals = f", with {shares} prediction intervals" if shares else ""
    yield svg_text(f"forecast mean{intervals}", 124.0, 42.0, "small")


def _draw_forecast_axes(times: np.ndarray, x: LinearScale, y: LinearScale) -> Iterator[str]:
    for value, label in y.ticks(5):
        yield svg_element("line", class_="grid", x1=LEFT, x2=WIDTH - RIGHT, y1=y(value), y2=y(value))
        yield svg_text(label, LEFT - 7, y(value) + 4, "small", text_anchor="end")
    for position, label in date_ticks(times, 10):
        yield svg_element(
            "line", class_="grid", x1=x(position), x2=x(position), y1=TOP, y2=HEIGHT - BOTTOM + 4
        )
        yield svg_text(label, x(position), HEIGHT - BOTTOM + 17, "small", text_anchor="middle")


def _draw_interval(
    steps: Float64[np.ndarray, " steps"],
    low: Float64[np.ndarray, " steps"],
    high: Float64[np.ndarray, " steps"],
    x: LinearScale,
    y: LinearScale,
) -> str:
    outline_x = x.map_array(np.concatenate([steps, steps[::-1]]))
    return svg_element(
        "path", class_="spread", d=path_data(outline_x, y.map_array(np.concatenate([high, low[::-1]]))) + "Z"
    )


def date_ticks(times: Times, max_ticks: int) -> list[tuple[float, str]]:
    """Return up to `max_ticks` round times as row positions with labels."""
    ticks = next(
        (
            candidates
            for interval in TICK_INTERVALS
            if len(candidates := _tick_times(times, *interval)) <= max_ticks
        ),
        times[:0],
    )
    rows = times.astype(TIME_DTYPE).astype(np.int64)
    positions = np.interp(ticks.astype(TIME_DTYPE).astype(np.int64), rows, np.arange(len(rows)))
    unit = np.datetime_data(ticks.dtype)[0]
    return [
        (float(position), format_date_tick(tick, unit))
        for position, tick in zip(positions, ticks, strict=True)
    ]


def _tick_times(times: Times, unit: str, size: int) -> Shaped[np.ndarray, " ticks"]:
    """Return the multiples of `size` units within the times."""
    first, last = (int(time.astype(f"datetime64[{unit}]").astype(np.int64)) for time in times[[0, -1]])
    shift = FIRST_MONDAY if unit == "D" else 0
    numbers = np.arange((first - shift) // size + 1, (last - shift) // size + 1) * size + shift
    return numbers.astype(f"datetime64[{unit}]")


def format_date_tick(tick: np.datetime64, unit: str) -> str:
    """Return the date, or the time of day for a tick that is not at midnight."""
    if unit not in ("m", "h"):
        return str(tick)
    day, clock = str(tick.astype("datetime64[m]")).split("T")
    return day if clock == "00:00" else clock
