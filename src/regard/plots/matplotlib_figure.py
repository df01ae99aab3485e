"""Figures as PDF or PNG: the elements of our own SVG, drawn with matplotlib.

Every figure is drawn once, as SVG; this module reads the elements and style rules that `regard.plots` writes,
not SVG in general. Text stays text in a PDF.
"""

import io
import math
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, fromstring

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Outline
from matplotlib.patheffects import Stroke
from matplotlib.text import Text
from matplotlib.textpath import TextToPath
from matplotlib.transforms import Affine2D, Transform

from regard.plots.svg_style import INITIAL_STYLE, StyleSheet, local_name

CSS_PIXELS_PER_INCH = 96
PNG_DPI = 2 * CSS_PIXELS_PER_INCH
POINTS_PER_PIXEL = 72 / CSS_PIXELS_PER_INCH
BASE_FONT = "DejaVu Sans"
"""Comes with matplotlib, so that a figure is the same everywhere."""
PLACEHOLDER_FONTS = ("Last Resort",)
"""Have a box for every character."""
DOT_LENGTH = 0.5
"""A line without length is a dot in SVG, and nothing in matplotlib."""
HATCH_COLOR, HATCH_FILL = "#c9c9c9", "#f0f0f0"
SETTINGS = {
    "pdf.fonttype": 42,
    "font.family": [BASE_FONT],
    "text.usetex": False,
    "hatch.linewidth": 0.6,
}
NOT_DRAWN = ("title", "desc", "style", "defs", "clipPath")
NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?"


class EncodedFigure(NamedTuple):
    """The content of a PDF or PNG file."""

    content: bytes
    missing_characters: str
    """Characters that no installed font has: boxes in the figure."""


def encode_figure(svg: str, file_format: str) -> EncodedFigure:
    """Draw an SVG figure of ours, in light mode, as `pdf` or `png`."""
    root = fromstring(svg)
    fonts, missing = _find_fonts("".join(root.itertext()))
    title = next((each.text for each in root if local_name(each) == "title"), None)
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a glyph for each missing character; the caller names them
        matplotlib.rcdefaults()
        settings: dict[Any, Any] = {**SETTINGS, "font.family": fonts}
        matplotlib.rcParams.update(settings)
        figure = _Drawing(root).figure
        file = io.BytesIO()
        metadata = {"Title": title, "Creator": "regard", "Producer": None, "CreationDate": None}
        if file_format == "png":
            metadata = {"Title": title, "Software": "regard"}
        figure.savefig(file, format=file_format, dpi=PNG_DPI, metadata=metadata)
    return EncodedFigure(file.getvalue(), missing)


class _Place(NamedTuple):
    """The transformation, style and clipping rectangle of the elements inside another."""

    transform: Transform
    style: Mapping[str, str]
    clip: tuple[Outline, Transform] | None = None


class _Drawing:
    """The elements of one SVG on a matplotlib figure."""

    def __init__(self, root: Element) -> None:
        width, height = float(root.attrib["width"]), float(root.attrib["height"])
        size = width / CSS_PIXELS_PER_INCH, height / CSS_PIXELS_PER_INCH
        self.styles = StyleSheet("".join(each.text or "" for each in root.iter() if _is(each, "style")))
        self.figure = Figure(figsize=size, dpi=CSS_PIXELS_PER_INCH, facecolor=self.styles.paper)
        self._clips = {each.get("id", ""): each for each in root.iter() if _is(each, "clipPath")}
        self._order = 0
        scale = 1 / CSS_PIXELS_PER_INCH
        self._draw(root, _Place(Affine2D().scale(scale, -scale).translate(0, size[1]), INITIAL_STYLE))

    def _draw(self, element: Element, place: _Place) -> None:
        name = local_name(element)
        if name in NOT_DRAWN:
            return
        place = self._enter(element, place)
        match name:
            case "svg" | "g":
                for child in element:
                    self._draw(child, place)
            case "text":
                self._draw_text(element, place)
            case "path" if not element.get("d"):  # of a series without values
                pass
            case _:
                self._draw_outline(_outline(element), place)

    def _enter(self, element: Element, place: _Place) -> _Place:
        """Return the place inside an element."""
        own: Transform = Affine2D()
        if local_name(element) == "svg":
            own = Affine2D().translate(_number(element, "x"), _number(element, "y"))
        for kind, numbers in re.findall(r"(\w+)\(([^)]*)\)", element.get("transform", "")):
            first, *others = map(float, numbers.split())
            if kind == "translate":
                own = Affine2D().translate(first, others[0]) + own
            else:
                own = Affine2D().rotate_deg_around(others[0], others[1], first) + own
        transform = own + place.transform
        clip = place.clip
        name = element.get("clip-path", "").removeprefix("url(#").removesuffix(")")
        if name:
            clip = _outline(self._clips[name][0]), transform + self.figure.dpi_scale_trans
        return _Place(transform, self.styles.style_of(element, place.style), clip)

    def _draw_outline(self, outline: Outline, place: _Place) -> None:
        style = place.style
        hatched = style["fill"].startswith("url(")
        fill, stroke = HATCH_FILL if hatched else style["fill"], style["stroke"]
        width, line = float(style["stroke-width"]), {}
        if dashes := style.get("stroke-dasharray"):
            line["linestyle"] = (0, [float(dash) / width for dash in dashes.split()])
        patch = PathPatch(
            outline,
            facecolor=_color(fill, style.get("fill-opacity")),
            edgecolor=HATCH_COLOR if hatched else _color(stroke, style.get("stroke-opacity")),
            linewidth=0 if stroke == "none" else width * POINTS_PER_PIXEL,
            capstyle="round",
            joinstyle="round",
            transform=place.transform + self.figure.dpi_scale_trans,
            **line,
        )
        if hatched:
            patch.set_hatch("//////")
        self._add(patch, place)

    def _draw_text(self, element: Element, place: _Place) -> None:
        style = place.style
        parts = list(self._text_parts(element, style))
        x, y = _number(element, "x"), _number(element, "y")
        if len(parts) == 1:
            anchor = {"middle": "center", "end": "right"}.get(style.get("text-anchor", ""), "left")
            self._add_text(parts[0][0], x, y, parts[0][1], anchor, place)
            return
        for content, part_style in parts:  # words in several styles follow one another
            width = _text_width(content, part_style)
            self._add_text(content, x, y, part_style, "left", place)
            if part_style.get("text-decoration") == "underline" and content.strip():
                line = Outline([(x, y + 2), (x + _text_width(content.rstrip(), part_style), y + 2)])
                self._draw_outline(line, place._replace(style={**part_style, "stroke": part_style["fill"]}))
            x += width

    def _text_parts(
        self, element: Element, style: Mapping[str, str]
    ) -> Iterator[tuple[str, Mapping[str, str]]]:
        if element.text:
            yield element.text, style
        for child in element:
            yield "".join(child.itertext()), self.styles.style_of(child, style)
            if child.tail:
                yield child.tail, style

    def _add_text(
        self, content: str, x: float, y: float, style: Mapping[str, str], anchor: str, place: _Place
    ) -> None:
        transform = place.transform + self.figure.dpi_scale_trans
        (a, b), (c, d) = transform.transform([(0, 0), (1, 0)])
        options: dict[str, Any] = {
            "color": _color(style["fill"], style.get("fill-opacity")),
            "fontsize": _font_size(style) * POINTS_PER_PIXEL,
            "fontweight": _font_weight(style),
            "horizontalalignment": anchor,
            "verticalalignment": "baseline",
            "rotation": math.degrees(math.atan2(d - b, c - a)),
            "rotation_mode": "anchor",
            "parse_math": False,
            "transform": transform,
        }
        if style["stroke"] != "none":  # a halo behind the text, which alone is drawn as outlines
            halo = Stroke(
                linewidth=float(style["stroke-width"]) * POINTS_PER_PIXEL, foreground=style["stroke"]
            )
            self._add(Text(x, y, content, path_effects=[halo], **options), place)
        self._add(Text(x, y, content, **options), place)

    def _add(self, artist: PathPatch | Text, place: _Place) -> None:
        self._order += 1
        artist.set_zorder(self._order)
        self.figure.add_artist(artist)
        if place.clip is None:
            artist.set_clip_on(False)
        else:
            artist.set_clip_path(*place.clip)


def _is(element: Element, name: str) -> bool:
    return local_name(element) == name


def _number(element: Element, name: str) -> float:
    return float(element.get(name, "0"))


def _color(value: str, opacity: str | None) -> Any:
    return "none" if value == "none" else to_rgba(value, float(opacity or 1))


def _font_size(style: Mapping[str, str]) -> float:
    return float(style["font-size"].removesuffix("px"))


def _font_weight(style: Mapping[str, str]) -> str:
    return "bold" if int(style.get("font-weight", "400")) >= 600 else "normal"


def _text_width(content: str, style: Mapping[str, str]) -> float:
    """Return the width of a text in pixels, spaces at its ends included."""
    font = font_manager.FontProperties(
        family=matplotlib.rcParams["font.family"],
        size=_font_size(style),
        weight=_font_weight(style),
    )
    measure = TextToPath().get_text_width_height_descent
    return measure(f"|{content}|", font, False)[0] - measure("||", font, False)[0]


def _outline(element: Element) -> Outline:
    """Return the outline of a rectangle, line, circle or path."""
    match local_name(element):
        case "rect":
            x, y = _number(element, "x"), _number(element, "y")
            right, bottom = x + _number(element, "width"), y + _number(element, "height")
            return Outline([(x, y), (right, y), (right, bottom), (x, bottom), (x, y)], closed=True)
        case "line":
            return Outline([(_number(element, f"x{end}"), _number(element, f"y{end}")) for end in "12"])
        case "circle":
            return Outline.circle((_number(element, "cx"), _number(element, "cy")), _number(element, "r"))
        case "path":
            return _parse_path(element.attrib["d"])
        case name:
            raise ValueError(f"no figure has an element <{name}>")


def _parse_path(data: str) -> Outline:
    """Return the outline of path data: moves, lines and halves of circles."""
    points: list[tuple[float, float]] = []
    codes: list[int] = []
    x = y = start_x = start_y = 0.0
    for command, text in re.findall(r"([A-Za-z])([^A-Za-z]*(?:e-?\d+[^A-Za-z]*)*)", data):
        values = list(map(float, re.findall(NUMBER, text)))
        match command:
            case "M" | "L":
                x, y = values
            case "l":
                x, y = x + values[0], y + values[1]
            case "h":
                x += values[0] or DOT_LENGTH
            case "H":
                x = values[0]
            case "v" | "V":
                y = values[0] + (y if command == "v" else 0.0)
            case "a":
                end = x + values[5], y + values[6]
                for point, code in _half_circle((x, y), end):
                    points.append(point)
                    codes.append(code)
                x, y = end
                continue
            case "Z":
                points.append((start_x, start_y))
                codes.append(int(Outline.CLOSEPOLY))
                x, y = start_x, start_y
                continue
            case _:
                raise ValueError(f"no figure has the path command {command}")
        if command == "M":
            start_x, start_y = x, y
        points.append((x, y))
        codes.append(int(Outline.MOVETO if command == "M" else Outline.LINETO))
    return Outline(points, codes)


def _half_circle(
    start: tuple[float, float], end: tuple[float, float]
) -> Iterator[tuple[tuple[float, float], int]]:
    """Yield the half circle over a diameter, counterclockwise on the page, as cubic curves."""
    center = complex(*start) / 2 + complex(*end) / 2
    spoke = complex(*start) - center
    arc = Outline.arc(180, 360)
    turn = -spoke
    corners, codes = np.asarray(arc.vertices).tolist(), np.asarray(arc.codes).tolist()
    for (x, y), code in zip(corners[1:], codes[1:], strict=True):
        point = center + complex(x, y) * turn
        yield (point.real, point.imag), int(code)


def _find_fonts(text: str) -> tuple[list[str], str]:
    """Return the base font and installed fonts for the characters that it lacks, and those that none has."""
    missing = {ord(letter) for letter in text if letter.isprintable()} - _characters(
        font_manager.findfont(BASE_FONT, fallback_to_default=True)
    )
    fonts = [BASE_FONT]
    if missing:
        covered = {}
        for entry in font_manager.fontManager.ttflist:
            if not entry.name.startswith(PLACEHOLDER_FONTS) and entry.weight in (400, "normal", "regular"):
                covered.setdefault(entry.name, missing & _characters(entry.fname))
        while missing and covered:
            best = max(covered, key=lambda name: len(covered[name] & missing))
            if not covered[best] & missing:
                break
            fonts.append(best)
            missing -= covered[best]
    return fonts, "".join(map(chr, sorted(missing)))


def _characters(file: str) -> set[int]:
    try:
        return set(font_manager.get_font(file).get_charmap())
    except (OSError, RuntimeError):  # a damaged font
        return set()
