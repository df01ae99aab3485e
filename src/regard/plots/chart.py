"""Chart: lines over one axis, with what to compare them with, drawn as one SVG element."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import numpy as np

from regard.plots.downsample import PlotSeries, downsample_extrema
from regard.plots.scale import LinearScale, padded_range
from regard.plots.svg import clip_text, escape_text, estimate_text_width, path_data, svg_element, svg_text
from regard.plots.theme import COLORS_IN_THEME, DASH_PATTERNS, MARKER_PATHS

LEFT, RIGHT, TOP, BOTTOM = 58.0, 18.0, 56.0, 40.0
MAX_MARKERS = 60
STROKE_ORDER = ("thin", "thick", "fine")


@dataclass(frozen=True)
class ChartLine:
    """A series."""

    x: PlotSeries
    y: PlotSeries
    color: int
    label: str
    stroke: Literal["thin", "thick", "fine"] = "thick"
    """thin: faint, for what is noisy. fine: over the others, for what was meant to be."""
    dash: int = 0
    show_markers: bool = False
    marker: int | None = None
    """Of its marks; None: as its tone has it."""
    points_outside_scale: int = 0
    """So many points at its start do not stretch the axis, and may lie outside it."""


@dataclass(frozen=True)
class ReferenceLine:
    """A height to compare with, dotted; its label is where there is most room for it.

    At the left that is below: lines come down there from above.
    """

    y: float
    label: str
    color: int = 0
    label_side: Literal["left", "right"] = "right"


@dataclass(frozen=True)
class ChartAnnotation:
    """A point worth a word; without a height, a line from top to bottom."""

    x: float
    y: float | None
    label: str
    color: int = 0


@dataclass(frozen=True)
class LineChart:
    """One picture: `name` tells it from the others on its page."""

    name: str
    title: str
    x_label: str
    lines: Sequence[ChartLine]
    reference_lines: Sequence[ReferenceLine] = ()
    annotations: Sequence[ChartAnnotation] = ()
    bands: Sequence[tuple[float, float]] = ()
    include_zero: bool = False
    caption: str = ""
    compares_runs: bool = False
    """Whether colours tell runs apart; then the legend, which tells kinds of lines apart, has none."""


def draw_line_chart(
    chart: LineChart, width: float, height: float, left: float = 0.0, top: float = 0.0
) -> str:
    """The chart as an <svg> of that size; `left` and `top` are where it lies in a larger picture."""
    name = f"rg-{chart.name}"
    x, y = _scales(chart, width, height)
    inside = svg_element("rect", x=LEFT, y=TOP, width=width - LEFT - RIGHT, height=height - TOP - BOTTOM)
    return svg_element(
        "svg",
        svg_element("title", escape_text(chart.title), id=f"{name}-title"),
        svg_element("desc", escape_text(describe_line_chart(chart)), id=f"{name}-desc"),
        svg_element("clipPath", inside, id=f"{name}-clip"),
        svg_element("rect", class_="paper", width=width, height=height, rx=4),
        svg_text(chart.title, 14.0, 22.0, "title"),
        *_draw_legend(chart, width),
        *_draw_bands(chart, x, y),
        *_draw_axes(chart, x, y, width, height),
        svg_element(
            "g",
            *_draw_reference_lines(chart, x, y),
            *_draw_lines(chart, x, y),
            clip_path=f"url(#{name}-clip)",
        ),
        *_draw_markers(chart, x, y),
        *_draw_reference_labels(chart, x, y),
        *_draw_annotations(chart, x, y),
        class_="rg",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        viewBox=f"0 0 {width:g} {height:g}",
        x=left,
        y=top,
        width=width,
        height=height,
    )


def describe_line_chart(chart: LineChart) -> str:
    """The picture in words, for those who cannot see it."""
    said = [f"{chart.caption}." if chart.caption else ""]
    for line in chart.lines:
        known = [value for value in line.y.tolist() if math.isfinite(value)]
        if known and line.stroke == "thick":
            said.append(f"{line.label}: from {known[0]:.4g} to {known[-1]:.4g}, ")
            said[-1] += f"lowest {min(known):.4g}, highest {max(known):.4g}."
    said += [f"{level.label}." for level in chart.reference_lines] + [
        f"{spot.label}." for spot in chart.annotations
    ]
    return " ".join(filter(None, said))


def _scales(chart: LineChart, width: float, height: float) -> tuple[LinearScale, LinearScale]:
    across = [float(line.x.max()) for line in chart.lines if len(line.x)]
    up = list(chain.from_iterable(line.y[line.points_outside_scale :].tolist() for line in chart.lines))
    low, high = padded_range(
        [*up, *(level.y for level in chart.reference_lines)], include_zero=chart.include_zero
    )
    right = max((value for value in across if value > 0), default=1.0)
    return LinearScale(0.0, right, LEFT, width - RIGHT), LinearScale(low, high, height - BOTTOM, TOP)


def _draw_axes(
    chart: LineChart, x: LinearScale, y: LinearScale, width: float, height: float
) -> Iterator[str]:
    for value, label in y.ticks(max(2, int((height - TOP - BOTTOM) / 36))):
        yield svg_element("line", class_="grid", x1=LEFT, x2=width - RIGHT, y1=y(value), y2=y(value))
        yield svg_text(label, LEFT - 7, y(value) + 4, "small", text_anchor="end")
    for value, label in x.ticks(max(2, int((width - LEFT - RIGHT) / 80))):
        yield svg_element(
            "line", class_="grid", x1=x(value), x2=x(value), y1=height - BOTTOM, y2=height - BOTTOM + 4
        )
        yield svg_text(label, x(value), height - BOTTOM + 17, "small", text_anchor="middle")
    yield svg_text(chart.x_label, width - RIGHT, height - 7, "small", text_anchor="end")
    if chart.caption:
        room = width - RIGHT - 14 - estimate_text_width(chart.x_label, 11.0) - 12
        yield svg_text(clip_text(chart.caption, room, 11.0), 14.0, height - 7, "small")


def _draw_lines(chart: LineChart, x: LinearScale, y: LinearScale) -> Iterator[str]:
    for line in sorted(chart.lines, key=lambda line: STROKE_ORDER.index(line.stroke)):
        across, up = downsample_extrema(line.x, line.y)
        yield svg_element(
            "path",
            class_=f"{line.stroke} {_stroke_class(line.color)}",
            d=path_data(x.map_array(across), y.map_array(up)),
            stroke_dasharray=DASH_PATTERNS[line.dash % COLORS_IN_THEME] or None,
        )


def _draw_markers(chart: LineChart, x: LinearScale, y: LinearScale) -> Iterator[str]:
    for line in chart.lines:
        if line.show_markers and len(line.x) <= MAX_MARKERS:
            for across, up in zip(line.x.tolist(), line.y.tolist(), strict=True):
                if math.isfinite(across) and math.isfinite(up):
                    shape = MARKER_PATHS[
                        (line.color if line.marker is None else line.marker) % COLORS_IN_THEME
                    ]
                    yield svg_element(
                        "path",
                        svg_element("title", escape_text(f"{line.label}: {up:.4g} at {across:,.6g}")),
                        class_=f"mark f{line.color % COLORS_IN_THEME}",
                        d=shape,
                        transform=f"translate({x(across):.1f} {y(up):.1f})",
                    )


def _draw_bands(chart: LineChart, x: LinearScale, y: LinearScale) -> Iterator[str]:
    for start, end in chart.bands:
        if math.isfinite(start) and math.isfinite(end):
            wide = max(1.0, x(end) - x(start))
            yield svg_element(
                "rect",
                class_="band",
                x=x(start),
                y=y.pixel_end,
                width=wide,
                height=y.pixel_start - y.pixel_end,
            )


def _draw_reference_lines(chart: LineChart, x: LinearScale, y: LinearScale) -> Iterator[str]:
    for level in chart.reference_lines:
        yield svg_element(
            "line",
            class_=f"level s{level.color % COLORS_IN_THEME}",
            x1=x.pixel_start,
            x2=x.pixel_end,
            y1=y(level.y),
            y2=y(level.y),
        )


def _draw_reference_labels(chart: LineChart, x: LinearScale, y: LinearScale) -> Iterator[str]:
    """Of the levels; over the lines, with paper around them."""
    for level in chart.reference_lines:
        left, height = level.label_side == "left", y(level.y)
        below = height < y.pixel_start - 18 if left else height <= y.pixel_end + 18
        place, anchor = (x.pixel_start + 6, "start") if left else (x.pixel_end - 4, "end")
        up = height + 14 if below else height - 5
        yield svg_text(level.label, place, up, "small ink over", text_anchor=anchor)


def _draw_annotations(chart: LineChart, x: LinearScale, y: LinearScale) -> Iterator[str]:
    for spot in chart.annotations:
        across = x(spot.x)
        anchor = "end" if across > (x.pixel_start + x.pixel_end) / 2 else "start"
        beside = across - 8 if anchor == "end" else across + 8
        if spot.y is None:
            yield svg_element(
                "line", class_="level key", x1=across, x2=across, y1=y.pixel_start, y2=y.pixel_end
            )
            yield svg_text(spot.label, beside, y.pixel_end + 12, "small ink over", text_anchor=anchor)
        else:
            yield svg_element(
                "circle", class_=f"ring {_stroke_class(spot.color)}", cx=across, cy=y(spot.y), r=7
            )
            up = y(spot.y) - 12 if y(spot.y) > y.pixel_end + 24 else y(spot.y) + 20
            yield svg_text(spot.label, beside, up, "small ink over", text_anchor=anchor)


def _stroke_class(tone: int) -> str:
    return "key" if tone < 0 else f"s{tone % COLORS_IN_THEME}"


def _draw_legend(chart: LineChart, width: float) -> Iterator[str]:
    """Each kind of line once, as far as they fit; a single one is what the title says."""
    kinds: dict[str, list[ChartLine]] = {}
    for line in chart.lines:
        if np.isfinite(line.y).any():
            kinds.setdefault(line.label, []).append(line)
    x = 14.0
    for lines in kinds.values() if len(kinds) > 1 else ():
        needed = 28 + estimate_text_width(lines[0].label, 11.0) + 14
        if x + needed > width:
            return
        shown = replace(lines[0], color=-1, dash=_common_dash(lines)) if chart.compares_runs else lines[0]
        yield from draw_legend_sample(shown, x, 38.0, 22.0)
        yield svg_text(shown.label, x + 28, 42.0, "small")
        x += needed


def _common_dash(lines: Sequence[ChartLine]) -> int:
    """The dash of them all, or none if it tells runs apart."""
    return lines[0].dash if len({line.dash for line in lines}) == 1 else 0


def draw_legend_sample(line: ChartLine, x: float, y: float, width: float) -> Iterator[str]:
    """A piece of a line, for a legend."""
    class_ = f"{line.stroke} {_stroke_class(line.color)}"
    dash = DASH_PATTERNS[line.dash % COLORS_IN_THEME] or None
    yield svg_element("line", class_=class_, x1=x, x2=x + width, y1=y, y2=y, stroke_dasharray=dash)
    if line.show_markers:
        class_ = "keymark" if line.color < 0 else f"mark f{line.color % COLORS_IN_THEME}"
        place = f"translate({x + width / 2:.1f} {y:g})"
        shape = max(line.color, 0) if line.marker is None else line.marker
        yield svg_element("path", class_=class_, d=MARKER_PATHS[shape % COLORS_IN_THEME], transform=place)
