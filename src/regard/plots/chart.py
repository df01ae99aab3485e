"""Chart: lines over one axis, with what to compare them with, drawn as one SVG element."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import numpy as np

from regard.plots.downsample import Series, thin
from regard.plots.scale import Scale, around
from regard.plots.svg import clip, length, path, tag, text, words
from regard.plots.theme import DASHES, SHAPES, TONES

LEFT, RIGHT, TOP, BOTTOM = 58.0, 18.0, 56.0, 40.0
MOST_MARKS = 60
WEIGHTS = ("thin", "thick", "fine")


@dataclass(frozen=True)
class Line:
    """A series."""

    x: Series
    y: Series
    tone: int
    label: str
    weight: Literal["thin", "thick", "fine"] = "thick"
    """thin: faint, for what is noisy. fine: over the others, for what was meant to be."""
    dash: int = 0
    marks: bool = False
    shape: int | None = None
    """Of its marks; None: as its tone has it."""
    unscaled: int = 0
    """So many points at its start do not stretch the axis, and may lie outside it."""


@dataclass(frozen=True)
class Level:
    """A height to compare with, dotted; its label is where there is most room for it.

    At the left that is below: lines come down there from above.
    """

    y: float
    label: str
    tone: int = 0
    side: Literal["left", "right"] = "right"


@dataclass(frozen=True)
class Spot:
    """A point worth a word; without a height, a line from top to bottom."""

    x: float
    y: float | None
    label: str
    tone: int = 0


@dataclass(frozen=True)
class Chart:
    """One picture: `name` tells it from the others on its page."""

    name: str
    title: str
    x_label: str
    lines: Sequence[Line]
    levels: Sequence[Level] = ()
    spots: Sequence[Spot] = ()
    bands: Sequence[tuple[float, float]] = ()
    from_zero: bool = False
    caption: str = ""
    several: bool = False
    """Whether colours tell runs apart; then the legend, which tells kinds of lines apart, has none."""


def draw(chart: Chart, width: float, height: float, left: float = 0.0, top: float = 0.0) -> str:
    """The chart as an <svg> of that size; `left` and `top` are where it lies in a larger picture."""
    name = f"rg-{chart.name}"
    x, y = _scales(chart, width, height)
    inside = tag("rect", x=LEFT, y=TOP, width=width - LEFT - RIGHT, height=height - TOP - BOTTOM)
    return tag(
        "svg",
        tag("title", words(chart.title), id=f"{name}-title"),
        tag("desc", words(describe(chart)), id=f"{name}-desc"),
        tag("clipPath", inside, id=f"{name}-clip"),
        tag("rect", class_="paper", width=width, height=height, rx=4),
        text(chart.title, 14.0, 22.0, "title"),
        *_legend(chart, width),
        *_bands(chart, x, y),
        *_axes(chart, x, y, width, height),
        tag("g", *_levels(chart, x, y), *_lines(chart, x, y), clip_path=f"url(#{name}-clip)"),
        *_marks(chart, x, y),
        *_labels(chart, x, y),
        *_spots(chart, x, y),
        class_="rg",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        viewBox=f"0 0 {width:g} {height:g}",
        x=left,
        y=top,
        width=width,
        height=height,
    )


def describe(chart: Chart) -> str:
    """The picture in words, for those who cannot see it."""
    said = [f"{chart.caption}." if chart.caption else ""]
    for line in chart.lines:
        known = [value for value in line.y.tolist() if math.isfinite(value)]
        if known and line.weight == "thick":
            said.append(f"{line.label}: from {known[0]:.4g} to {known[-1]:.4g}, ")
            said[-1] += f"lowest {min(known):.4g}, highest {max(known):.4g}."
    said += [f"{level.label}." for level in chart.levels] + [f"{spot.label}." for spot in chart.spots]
    return " ".join(filter(None, said))


def _scales(chart: Chart, width: float, height: float) -> tuple[Scale, Scale]:
    across = [float(line.x.max()) for line in chart.lines if len(line.x)]
    up = list(chain.from_iterable(line.y[line.unscaled :].tolist() for line in chart.lines))
    low, high = around([*up, *(level.y for level in chart.levels)], zero=chart.from_zero)
    right = max((value for value in across if value > 0), default=1.0)
    return Scale(0.0, right, LEFT, width - RIGHT), Scale(low, high, height - BOTTOM, TOP)


def _axes(chart: Chart, x: Scale, y: Scale, width: float, height: float) -> Iterator[str]:
    for value, label in y.ticks(max(2, int((height - TOP - BOTTOM) / 36))):
        yield tag("line", class_="grid", x1=LEFT, x2=width - RIGHT, y1=y(value), y2=y(value))
        yield text(label, LEFT - 7, y(value) + 4, "small", text_anchor="end")
    for value, label in x.ticks(max(2, int((width - LEFT - RIGHT) / 80))):
        yield tag("line", class_="grid", x1=x(value), x2=x(value), y1=height - BOTTOM, y2=height - BOTTOM + 4)
        yield text(label, x(value), height - BOTTOM + 17, "small", text_anchor="middle")
    yield text(chart.x_label, width - RIGHT, height - 7, "small", text_anchor="end")
    if chart.caption:
        room = width - RIGHT - 14 - length(chart.x_label, 11.0) - 12
        yield text(clip(chart.caption, room, 11.0), 14.0, height - 7, "small")


def _lines(chart: Chart, x: Scale, y: Scale) -> Iterator[str]:
    for line in sorted(chart.lines, key=lambda line: WEIGHTS.index(line.weight)):
        across, up = thin(line.x, line.y)
        yield tag(
            "path",
            class_=f"{line.weight} {_stroke(line.tone)}",
            d=path(x.all(across), y.all(up)),
            stroke_dasharray=DASHES[line.dash % TONES] or None,
        )


def _marks(chart: Chart, x: Scale, y: Scale) -> Iterator[str]:
    for line in chart.lines:
        if line.marks and len(line.x) <= MOST_MARKS:
            for across, up in zip(line.x.tolist(), line.y.tolist(), strict=True):
                if math.isfinite(across) and math.isfinite(up):
                    shape = SHAPES[(line.tone if line.shape is None else line.shape) % TONES]
                    yield tag(
                        "path",
                        tag("title", words(f"{line.label}: {up:.4g} at {across:,.6g}")),
                        class_=f"mark f{line.tone % TONES}",
                        d=shape,
                        transform=f"translate({x(across):.1f} {y(up):.1f})",
                    )


def _bands(chart: Chart, x: Scale, y: Scale) -> Iterator[str]:
    for start, end in chart.bands:
        if math.isfinite(start) and math.isfinite(end):
            wide = max(1.0, x(end) - x(start))
            yield tag("rect", class_="band", x=x(start), y=y.end, width=wide, height=y.start - y.end)


def _levels(chart: Chart, x: Scale, y: Scale) -> Iterator[str]:
    for level in chart.levels:
        yield tag(
            "line", class_=f"level s{level.tone % TONES}", x1=x.start, x2=x.end, y1=y(level.y), y2=y(level.y)
        )


def _labels(chart: Chart, x: Scale, y: Scale) -> Iterator[str]:
    """Of the levels; over the lines, with paper around them."""
    for level in chart.levels:
        left, height = level.side == "left", y(level.y)
        below = height < y.start - 18 if left else height <= y.end + 18
        place, anchor = (x.start + 6, "start") if left else (x.end - 4, "end")
        up = height + 14 if below else height - 5
        yield text(level.label, place, up, "small ink over", text_anchor=anchor)


def _spots(chart: Chart, x: Scale, y: Scale) -> Iterator[str]:
    for spot in chart.spots:
        across = x(spot.x)
        anchor = "end" if across > (x.start + x.end) / 2 else "start"
        beside = across - 8 if anchor == "end" else across + 8
        if spot.y is None:
            yield tag("line", class_="level key", x1=across, x2=across, y1=y.start, y2=y.end)
            yield text(spot.label, beside, y.end + 12, "small ink over", text_anchor=anchor)
        else:
            yield tag("circle", class_=f"ring {_stroke(spot.tone)}", cx=across, cy=y(spot.y), r=7)
            up = y(spot.y) - 12 if y(spot.y) > y.end + 24 else y(spot.y) + 20
            yield text(spot.label, beside, up, "small ink over", text_anchor=anchor)


def _stroke(tone: int) -> str:
    return "key" if tone < 0 else f"s{tone % TONES}"


def _legend(chart: Chart, width: float) -> Iterator[str]:
    """Each kind of line once, as far as they fit; a single one is what the title says."""
    kinds: dict[str, list[Line]] = {}
    for line in chart.lines:
        if np.isfinite(line.y).any():
            kinds.setdefault(line.label, []).append(line)
    x = 14.0
    for lines in kinds.values() if len(kinds) > 1 else ():
        needed = 28 + length(lines[0].label, 11.0) + 14
        if x + needed > width:
            return
        shown = replace(lines[0], tone=-1, dash=_common(lines)) if chart.several else lines[0]
        yield from key(shown, x, 38.0, 22.0)
        yield text(shown.label, x + 28, 42.0, "small")
        x += needed


def _common(lines: Sequence[Line]) -> int:
    """The dash of them all, or none if it tells runs apart."""
    return lines[0].dash if len({line.dash for line in lines}) == 1 else 0


def key(line: Line, x: float, y: float, width: float) -> Iterator[str]:
    """A piece of a line, for a legend."""
    class_ = f"{line.weight} {_stroke(line.tone)}"
    dash = DASHES[line.dash % TONES] or None
    yield tag("line", class_=class_, x1=x, x2=x + width, y1=y, y2=y, stroke_dasharray=dash)
    if line.marks:
        class_ = "keymark" if line.tone < 0 else f"mark f{line.tone % TONES}"
        place = f"translate({x + width / 2:.1f} {y:g})"
        shape = max(line.tone, 0) if line.shape is None else line.shape
        yield tag("path", class_=class_, d=SHAPES[shape % TONES], transform=place)
