"""Line charts as SVG: lines, reference lines, annotations, bands, axes and a legend."""

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
    """One series of a chart."""

    x: PlotSeries
    y: PlotSeries
    color: int
    label: str
    stroke: Literal["thin", "thick", "fine"] = "thick"
    """thin: faint, for noisy raw values. fine: dashed and on top, for planned values."""
    dash: int = 0
    show_markers: bool = False
    marker: int | None = None
    """Marker shape; None: that of its colour."""
    points_outside_scale: int = 0
    """Number of points at the start that do not scale the axis and may lie outside it."""


@dataclass(frozen=True)
class ReferenceLine:
    """A dotted horizontal line with a label above it, or below it at the left, where curves descend."""

    y: float
    label: str
    color: int = 0
    label_side: Literal["left", "right"] = "right"


@dataclass(frozen=True)
class ChartAnnotation:
    """A labelled point; without y, a labelled vertical line."""

    x: float
    y: float | None
    label: str
    color: int = 0


@dataclass(frozen=True)
class LineChart:
    """A line chart; `name` is unique on its page."""

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
    """Whether colours distinguish runs; the legend of line kinds is then without colours."""


def draw_line_chart(
    chart: LineChart, width: float, height: float, left: float = 0.0, top: float = 0.0
) -> str:
    """Return the chart as an <svg> element at a position in a larger picture."""
    name = f"rg-{chart.name}"
    x, y = _scales(chart, width, height)
    plot_area = svg_element("rect", x=LEFT, y=TOP, width=width - LEFT - RIGHT, height=height - TOP - BOTTOM)
    return svg_element(
        "svg",
        svg_element("title", escape_text(chart.title), id=f"{name}-title"),
        svg_element("desc", escape_text(describe_line_chart(chart)), id=f"{name}-desc"),
        svg_element("clipPath", plot_area, id=f"{name}-clip"),
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
    """Return the chart as text, for screen readers."""
    sentences = [f"{chart.caption}." if chart.caption else ""]
    for line in chart.lines:
        values = [value for value in line.y.tolist() if math.isfinite(value)]
        if values and line.stroke == "thick":
            sentences.append(f"{line.label}: from {values[0]:.4g} to {values[-1]:.4g}, ")
            sentences[-1] += f"lowest {min(values):.4g}, highest {max(values):.4g}."
    sentences += [f"{level.label}." for level in chart.reference_lines] + [
        f"{spot.label}." for spot in chart.annotations
    ]
    return " ".join(filter(None, sentences))


def _scales(chart: LineChart, width: float, height: float) -> tuple[LinearScale, LinearScale]:
    x_maxima = [float(line.x.max()) for line in chart.lines if len(line.x)]
    y_values = list(chain.from_iterable(line.y[line.points_outside_scale :].tolist() for line in chart.lines))
    low, high = padded_range(
        [*y_values, *(level.y for level in chart.reference_lines)], include_zero=chart.include_zero
    )
    right = max((value for value in x_maxima if value > 0), default=1.0)
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
        width_left = width - RIGHT - 14 - estimate_text_width(chart.x_label, 11.0) - 12
        yield svg_text(clip_text(chart.caption, width_left, 11.0), 14.0, height - 7, "small")


def _draw_lines(chart: LineChart, x: LinearScale, y: LinearScale) -> Iterator[str]:
    for line in sorted(chart.lines, key=lambda line: STROKE_ORDER.index(line.stroke)):
        x_values, y_values = downsample_extrema(line.x, line.y)
        yield svg_element(
            "path",
            class_=f"{line.stroke} {_stroke_class(line.color)}",
            d=path_data(x.map_array(x_values), y.map_array(y_values)),
            stroke_dasharray=DASH_PATTERNS[line.dash % COLORS_IN_THEME] or None,
        )


def _draw_markers(chart: LineChart, x: LinearScale, y: LinearScale) -> Iterator[str]:
    for line in chart.lines:
        if line.show_markers and len(line.x) <= MAX_MARKERS:
            for x_value, y_value in zip(line.x.tolist(), line.y.tolist(), strict=True):
                if math.isfinite(x_value) and math.isfinite(y_value):
                    shape = MARKER_PATHS[
                        (line.color if line.marker is None else line.marker) % COLORS_IN_THEME
                    ]
                    yield svg_element(
                        "path",
                        svg_element("title", escape_text(f"{line.label}: {y_value:.4g} at {x_value:,.6g}")),
                        class_=f"mark f{line.color % COLORS_IN_THEME}",
                        d=shape,
                        transform=f"translate({x(x_value):.1f} {y(y_value):.1f})",
                    )


def _draw_bands(chart: LineChart, x: LinearScale, y: LinearScale) -> Iterator[str]:
    for start, end in chart.bands:
        if math.isfinite(start) and math.isfinite(end):
            width = max(1.0, x(end) - x(start))
            yield svg_element(
                "rect",
                class_="band",
                x=x(start),
                y=y.pixel_end,
                width=width,
                height=y.pixel_start - y.pixel_end,
            )


def _draw_reference_lines(chart: LineChart, x: LinearScale, y: LinearScale) -> Iterator[str]:
    for line in chart.reference_lines:
        yield svg_element(
            "line",
            class_=f"level s{line.color % COLORS_IN_THEME}",
            x1=x.pixel_start,
            x2=x.pixel_end,
            y1=y(line.y),
            y2=y(line.y),
        )


def _draw_reference_labels(chart: LineChart, x: LinearScale, y: LinearScale) -> Iterator[str]:
    """Draw the labels on top of the lines, with an outline in the background colour."""
    for line in chart.reference_lines:
        is_left, height = line.label_side == "left", y(line.y)
        is_below = height < y.pixel_start - 18 if is_left else height <= y.pixel_end + 18
        label_x, anchor = (x.pixel_start + 6, "start") if is_left else (x.pixel_end - 4, "end")
        baseline = height + 14 if is_below else height - 5
        yield svg_text(line.label, label_x, baseline, "small ink over", text_anchor=anchor)


def _draw_annotations(chart: LineChart, x: LinearScale, y: LinearScale) -> Iterator[str]:
    for annotation in chart.annotations:
        x_pixel = x(annotation.x)
        anchor = "end" if x_pixel > (x.pixel_start + x.pixel_end) / 2 else "start"
        label_x = x_pixel - 8 if anchor == "end" else x_pixel + 8
        if annotation.y is None:
            yield svg_element(
                "line", class_="level key", x1=x_pixel, x2=x_pixel, y1=y.pixel_start, y2=y.pixel_end
            )
            yield svg_text(annotation.label, label_x, y.pixel_end + 12, "small ink over", text_anchor=anchor)
        else:
            yield svg_element(
                "circle",
                class_=f"ring {_stroke_class(annotation.color)}",
                cx=x_pixel,
                cy=y(annotation.y),
                r=7,
            )
            label_y = y(annotation.y) - 12 if y(annotation.y) > y.pixel_end + 24 else y(annotation.y) + 20
            yield svg_text(annotation.label, label_x, label_y, "small ink over", text_anchor=anchor)


def _stroke_class(tone: int) -> str:
    return "key" if tone < 0 else f"s{tone % COLORS_IN_THEME}"


def _draw_legend(chart: LineChart, width: float) -> Iterator[str]:
    """Draw each kind of line once, as far as they fit; a single kind needs no legend."""
    kinds: dict[str, list[ChartLine]] = {}
    for line in chart.lines:
        if np.isfinite(line.y).any():
            kinds.setdefault(line.label, []).append(line)
    x = 14.0
    for lines in kinds.values() if len(kinds) > 1 else ():
        item_width = 28 + estimate_text_width(lines[0].label, 11.0) + 14
        if x + item_width > width:
            return
        sample = replace(lines[0], color=-1, dash=_common_dash(lines)) if chart.compares_runs else lines[0]
        yield from draw_legend_sample(sample, x, 38.0, 22.0)
        yield svg_text(sample.label, x + 28, 42.0, "small")
        x += item_width


def _common_dash(lines: Sequence[ChartLine]) -> int:
    """Return the dash that all lines share; none where dashes distinguish runs."""
    return lines[0].dash if len({line.dash for line in lines}) == 1 else 0


def draw_legend_sample(line: ChartLine, x: float, y: float, width: float) -> Iterator[str]:
    """Draw a short sample of a line for a legend."""
    class_ = f"{line.stroke} {_stroke_class(line.color)}"
    dash = DASH_PATTERNS[line.dash % COLORS_IN_THEME] or None
    yield svg_element("line", class_=class_, x1=x, x2=x + width, y1=y, y2=y, stroke_dasharray=dash)
    if line.show_markers:
        class_ = "keymark" if line.color < 0 else f"mark f{line.color % COLORS_IN_THEME}"
        transform = f"translate({x + width / 2:.1f} {y:g})"
        shape = max(line.color, 0) if line.marker is None else line.marker
        yield svg_element("path", class_=class_, d=MARKER_PATHS[shape % COLORS_IN_THEME], transform=transform)
