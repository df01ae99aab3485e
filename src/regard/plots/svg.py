"""A small writer of SVG: elements as text, everything in them escaped."""

import math
from collections.abc import Iterable
from html import escape

from regard.text.unicode import sanitize_for_display

FIRST_WIDE_CHARACTER = 0x2E80
"""From here on, most letters are as wide as they are high."""


def svg_element(name: str, *children: str, **attributes: object) -> str:
    """One element. `class_` is the attribute class, `text_anchor` is text-anchor."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_attribute_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{said}>{''.join(children)}</{name}>" if children else f"<{name}{said}/>"


def svg_text(content: str, x: float, y: float, class_: str, **attributes: object) -> str:
    return svg_element("text", escape_text(content), x=x, y=y, class_=class_, **attributes)


def escape_text(content: str) -> str:
    """Text between tags: whatever it holds, it stays text."""
    return escape(sanitize_for_display(content))


def path_data(x: Iterable[float], y: Iterable[float]) -> str:
    """A line through the points, lifted where y is no number; a point on its own becomes a dot."""
    parts: list[str] = []
    down = 0
    for across, up in zip(x, y, strict=True):
        if not (math.isfinite(across) and math.isfinite(up)):
            parts += ["h0"] if down == 1 else []
            down = 0
            continue
        parts.append(f"{'L' if down else 'M'}{_attribute_value(across)} {_attribute_value(up)}")
        down += 1
    return "".join(parts + (["h0"] if down == 1 else []))


def estimate_text_width(content: str, font_size: float = 12.0) -> float:
    """About how wide a text is, without a font to ask."""
    return sum(font_size if ord(letter) >= FIRST_WIDE_CHARACTER else 0.56 * font_size for letter in content)


def clip_text(content: str, width: float, font_size: float = 12.0) -> str:
    """As much of a text as fits."""
    content = sanitize_for_display(content)
    if estimate_text_width(content, font_size) <= width:
        return content
    while content and estimate_text_width(content, font_size) > width - font_size:
        content = content[:-1]
    return content + "…"


def _attribute_value(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
