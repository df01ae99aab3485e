"""CSS of our own figures: the style of an SVG element in light mode, for drawing it without a browser."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

PRESENTATION_ATTRIBUTES = frozenset(
    {
        *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray"),
        *("font-size", "font-weight", "text-anchor"),
    }
)
NOT_INHERITED = frozenset(("text-decoration",))
INITIAL_STYLE = {"fill": "#000000", "stroke": "none", "stroke-width": "1", "font-size": "12px"}


@dataclass(frozen=True)
class _Rule:
    """The declarations for elements with these classes, and with this name if there is one."""

    name: str
    classes: frozenset[str]
    style: Mapping[str, str]

    @property
    def specificity(self) -> tuple[int, bool]:
        return len(self.classes), bool(self.name)

    def matches(self, element: Element) -> bool:
        return self.name in ("", local_name(element)) and self.classes <= _classes(element)


class StyleSheet:
    """Rules like `.rg .mark.f0 { fill: #fff }`, of which the last part counts: `.rg` is the whole figure."""

    def __init__(self, css: str) -> None:
        rules = list(_parse_rules(_without_media(css)))
        self._rules = sorted(rules, key=lambda rule: rule.specificity)  # stable: later rules win

    def style_of(self, element: Element, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return the properties of an element: those inherited, its attributes, the rules, its own style."""
        style = {key: value for key, value in inherited.items() if key not in NOT_INHERITED}
        style |= {key: value for key, value in element.items() if key in PRESENTATION_ATTRIBUTES}
        for rule in self._rules:
            if rule.matches(element):
                style |= rule.style
        return style | _parse_declarations(element.get("style", ""))

    @property
    def paper(self) -> str:
        """The colour of the background."""
        return next((rule.style["fill"] for rule in self._rules if "paper" in rule.classes), "#ffffff")


def local_name(element: Element) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def _classes(element: Element) -> frozenset[str]:
    return frozenset(element.get("class", "").split())


def _without_media(css: str) -> str:
    """Return the CSS without its @media blocks, which are for dark mode."""
    return re.sub(r"@media[^{]*\{(?:[^{}]|\{[^{}]*\})*\}", "", css)


def _parse_rules(css: str) -> Iterator[_Rule]:
    for selectors, declarations in re.findall(r"([^{}]+)\{([^{}]*)\}", css):
        style = _parse_declarations(declarations)
        for selector in selectors.split(","):
            name, *classes = selector.split()[-1].split(".")
            yield _Rule(name, frozenset(classes), style)


def _parse_declarations(text: str) -> dict[str, str]:
    style = {}
    for declaration in filter(None, map(str.strip, text.split(";"))):
        key, _, value = declaration.partition(":")
        style[key.strip()] = value.strip()
    if "font" in style:  # as in `12px system-ui, sans-serif`
        style["font-size"] = style.pop("font").split()[0]
    return style
