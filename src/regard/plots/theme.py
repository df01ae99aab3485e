"""Theme of all figures: Okabe-Ito colours with dashes and markers, light and dark mode, documents."""

from collections.abc import Sequence

from regard.plots.svg import escape_text, svg_element

SVG_NAMESPACE = "http://www.w3.org/2000/svg"
COLORS_IN_THEME = 7
DASH_PATTERNS = ("", "7 3", "2 3", "9 3 2 3", "12 4", "5 2 1 2", "1 4")
"""One per colour, so that nothing is distinguished by colour alone."""
MARKER_PATHS = (
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z",  # circle, square, triangle, ...
    "M-3.2 -3.2h6.4v6.4h-6.4Z",
    "M0 -4.2L4 3H-4Z",
    "M0 -4.6L4.6 0L0 4.6L-4.6 0Z",
    "M0 4.2L4 -3H-4Z",
    "M-4 -1.3h8v2.6h-8Z",
    "M-1.3 -4h2.6v8h-2.6Z",
)

_BLUE, _VERMILION, _GREEN, _PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
_ORANGE, _SKY = "#e69f00", "#56b4e9"
_LIGHT = (_BLUE, _VERMILION, _GREEN, _PURPLE, _ORANGE, _SKY, "#1a1a1a")
_DARK = (_SKY, _ORANGE, _GREEN, _PURPLE, _VERMILION, _BLUE, "#e6e6e6")


_HTML_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title><style>{style}
:root {{ color-scheme: light dark }}
body {{ font: 15px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; background: #f6f6f6;
  color: #1a1a1a; max-width: 1100px; margin: 1rem auto; padding: 0 1rem; overflow-wrap: anywhere }}
h1 {{ font-size: 1.3rem }} h2 {{ font-size: 1.1rem }}
main {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 12px }}
figure {{ margin: 0 }} svg {{ width: 100%; height: auto; display: block }}
.legend {{ max-width: 520px; margin-bottom: 12px }}
table {{ border-collapse: collapse; width: 100%; margin-bottom: 1.5rem }}
th, td {{ text-align: start; vertical-align: top; padding: .25rem .6rem .25rem 0;
  border-top: 1px solid #d5d5d5 }}
th {{ font-weight: 400; width: 6rem }} ins {{ font-weight: 700; text-decoration: underline }}
@media (prefers-color-scheme: dark) {{
  body {{ background: #0d0f12; color: #ececec }} th, td {{ border-color: #33383d }}
}}
</style></head>
<body><h1>{title}</h1>
{body}
</body></html>
"""


def svg_document(
    elements: Sequence[str], title: str, width: float, height: float, extra_css: str = ""
) -> str:
    """Return a complete SVG file; `extra_css` is for elements of this figure only."""
    document = svg_element(
        "svg",
        svg_element("title", escape_text(title)),
        svg_element("style", theme_css() + extra_css),
        svg_element("rect", class_="paper", width=width, height=height),
        *elements,
        xmlns=SVG_NAMESPACE,
        class_="rg",
        role="img",
        width=width,
        height=height,
        viewBox=f"0 0 {width:g} {height:g}",
    )
    return document + "\n"


def html_document(title: str, body: str, extra_css: str = "") -> str:
    """Return a complete HTML page without scripts or external resources."""
    return _HTML_PAGE.format(title=escape_text(title), style=theme_css() + extra_css, body=body)


def theme_css() -> str:
    """Return the CSS of all figures, for light and dark mode."""
    return f"""
.rg {{ font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif }}
.rg .title {{ font-size: 14px; font-weight: 600 }}
.rg .small {{ font-size: 11px }}
.rg path, .rg line {{ fill: none; stroke-linecap: round; stroke-linejoin: round }}
.rg .thin {{ stroke-width: 1; stroke-opacity: .45 }}
.rg .thick {{ stroke-width: 2 }}
.rg .level {{ stroke-width: 1.4; stroke-dasharray: 1.5 3.5 }}
.rg .fine {{ stroke-width: 1; stroke-dasharray: 4 2 }}
.rg .grid {{ stroke-width: 1 }}
.rg .ring {{ fill: none; stroke-width: 2 }}
.rg .over {{ paint-order: stroke; stroke-width: 4; stroke-linejoin: round }}
.rg .new {{ font-weight: 700; text-decoration: underline }}
{_color_css("#ffffff", "#1a1a1a", "#585858", "#e3e3e3", "#dcdcdc", _LIGHT)}
@media (prefers-color-scheme: dark) {{
{_color_css("#15181c", "#ececec", "#b0b4b8", "#33383d", "#3a4046", _DARK)}
}}
"""


def _color_css(paper: str, ink: str, faint: str, grid: str, band: str, tones: tuple[str, ...]) -> str:
    """Return the CSS of one colour scheme; faint text keeps a contrast of 4.5 to 1."""
    rules = [
        f".rg .paper {{ fill: {paper} }} .rg .over {{ stroke: {paper} }}",
        f".rg text {{ fill: {faint} }} .rg .title, .rg .ink {{ fill: {ink} }}",
        f".rg .grid {{ stroke: {grid} }} .rg .band {{ fill: {band} }} .rg .key {{ stroke: {faint} }}",
        f".rg .keymark {{ fill: {faint}; stroke: {paper} }} .rg .mark {{ stroke: {paper} }}",
    ]
    for number, colour in enumerate(tones):
        rules.append(f".rg .s{number} {{ stroke: {colour} }} .rg .mark.f{number} {{ fill: {colour} }}")
    return "\n".join(rules)
