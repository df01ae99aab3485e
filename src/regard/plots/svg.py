"""SVG elements as escaped text."""

import math
from collections.abc import Iterable
from html import escape

from regard.text.unicode import sanitize_for_display

FIRST_WIDE_CHARACTER = 0x2E80
"""From this code point on, most characters are as wide as high."""


def svg_element(name: str, *children: str, **attributes: object) -> str:
    """Return one element. `class_` is written class, `text_anchor` text-anchor."""
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_attribute_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return (
        f"<{name}{attribute_text}>{''.join(children)}</{name}>" if children else f"<{name}{attribute_text}/>"
    )


def svg_text(content: str, x: float, y: float, class_: str, **attributes: object) -> str:
    return svg_element("text", escape_text(content), x=x, y=y, class_=class_, **attributes)


def escape_text(content: str) -> str:
    """Return text content with markup escaped and control characters made visible."""
    return escape(sanitize_for_display(content))


def path_data(x: Iterable[float], y: Iterable[float]) -> str:
    """Return path data through the points, interrupted at NaN; an isolated point becomes a dot."""
    parts: list[str] = []
    run_length = 0
    for x_value, y_value in zip(x, y, strict=True):
        if not (math.isfinite(x_value) and math.isfinite(y_value)):
            parts += ["h0"] if run_length == 1 else []
            run_length = 0
            continue
        parts.append(f"{'L' if run_length else 'M'}{_attribute_value(x_value)} {_attribute_value(y_value)}")
        run_length += 1
    return "".join(parts + (["h0"] if run_length == 1 else []))


def estimate_text_width(content: str, font_size: float = 12.0) -> float:
    """Estimate the width of a text, without font metrics."""
    return sum(font_size if ord(letter) >= FIRST_WIDE_CHARACTER else 0.56 * font_size for letter in content)


def clip_text(content: str, width: float, font_size: float = 12.0) -> str:
    """Return the text, truncated to the width with an ellipsis."""
    content = sanitize_for_display(content)
    if estimate_text_width(content, font_size) <= width:
        return content
    while content and estimate_text_width(content, font_size) > width - font_size:
        content = content[:-1]
    return content + "…"


def _attribute_value(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
