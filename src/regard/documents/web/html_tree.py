"""The stack of open HTML elements, with the implied end tags of the HTML standard."""

from bisect import bisect_right
from enum import Enum, auto
from typing import NamedTuple

VOID_ELEMENTS = frozenset(
    (
        *("area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input"),
        *("keygen", "link", "meta", "param", "source", "track", "wbr"),
    )
)
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
FOREIGN_ELEMENTS = ("svg", "math")
HTML_INTEGRATION_POINTS = (
    "foreignobject",
    "desc",
    "title",
    "annotation-xml",
    "mi",
    "mo",
    "mn",
    "ms",
    "mtext",
)
"""Elements inside SVG and MathML whose content is HTML again."""
SCOPE_BOUNDARIES = (
    "applet",
    "caption",
    "html",
    "marquee",
    "object",
    "select",
    "table",
    "td",
    "template",
    "th",
    *HTML_INTEGRATION_POINTS,
)
"""An end tag inside one of these closes nothing outside it."""
BLOCK_ELEMENTS = (
    *("address", "article", "aside", "blockquote", "center", "details", "dialog", "dir", "div", "dl"),
    *("fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "listing", "main", "menu"),
    *("nav", "ol", "pre", "search", "section", "summary", "ul"),
)
TABLE_SECTIONS = ("tbody", "thead", "tfoot")
TABLE_PARTS = ("caption", "colgroup", *TABLE_SECTIONS, "tr", "td", "th")
RUBY_PARTS = ("rb", "rp", "rt", "rtc")
FORMATTING_ELEMENTS = frozenset(
    (
        *("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt"),
        "u",
    )
)
"""Elements that end at their end tag although an element opened inside them does not: <b><p></b></p>."""
SPECIAL_ELEMENTS = (
    *("applet", "body", "button", "dd", "dt", "frameset", "head", "html", "iframe", "li", "marquee"),
    *("noembed", "noframes", "noscript", "object", "p", "plaintext", "script", "select", "style", "table"),
    *("template", "textarea", "xmp", *BLOCK_ELEMENTS, *HEADINGS, *TABLE_PARTS, *HTML_INTEGRATION_POINTS),
)
"""Elements that the end tag of an inline element inside them does not close."""
FOREIGN_BREAKOUT_TAGS = frozenset(
    (
        *("b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed"),
        *("head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre", "ruby", "s"),
        *("small", "span", "strong", "strike", "sub", "sup", "table", "tt", "u", "ul", "var", *HEADINGS),
    )
)
"""Start tags that end SVG or MathML content."""


class ElementScope(Enum):
    """How far out a tag closes elements: up to the innermost open element of this group."""

    SCOPE = auto()
    BUTTON = auto()
    LIST = auto()
    ITEM = auto()
    TABLE = auto()
    SPECIAL = auto()
    FOREIGN = auto()
    INTEGRATION_POINT = auto()
    NONE = auto()


SCOPE_ELEMENTS = {
    ElementScope.SCOPE: SCOPE_BOUNDARIES,
    ElementScope.BUTTON: (*SCOPE_BOUNDARIES, "button"),
    ElementScope.LIST: (*SCOPE_BOUNDARIES, "ol", "ul"),
    ElementScope.ITEM: set(SPECIAL_ELEMENTS) - {"address", "div", "p"},
    ElementScope.TABLE: ("table", "template", "html"),
    ElementScope.SPECIAL: SPECIAL_ELEMENTS,
    ElementScope.FOREIGN: FOREIGN_ELEMENTS,
    ElementScope.INTEGRATION_POINT: HTML_INTEGRATION_POINTS,
}
SCOPES_OF_ELEMENT = {
    name: tuple(scope for scope, group in SCOPE_ELEMENTS.items() if name in group)
    for name in (*SPECIAL_ELEMENTS, *FOREIGN_ELEMENTS)
}


class ImpliedEndRule(NamedTuple):
    """A tag closes open elements of these names within the scope."""

    names: tuple[str, ...]
    scope: ElementScope


END_PARAGRAPH = ImpliedEndRule(("p",), ElementScope.BUTTON)
CLOSED_BY_START_TAG = {
    **dict.fromkeys((*BLOCK_ELEMENTS, "p", "hr", "plaintext", "table", "xmp"), (END_PARAGRAPH,)),
    **dict.fromkeys(HEADINGS, (END_PARAGRAPH, ImpliedEndRule(HEADINGS, ElementScope.SPECIAL))),
    "li": (ImpliedEndRule(("li",), ElementScope.ITEM), END_PARAGRAPH),
    **dict.fromkeys(("dd", "dt"), (ImpliedEndRule(("dd", "dt"), ElementScope.ITEM), END_PARAGRAPH)),
    **dict.fromkeys(("td", "th"), (ImpliedEndRule(("caption", "colgroup", "td", "th"), ElementScope.TABLE),)),
    "tr": (ImpliedEndRule(("caption", "colgroup", "tr", "td", "th"), ElementScope.TABLE),),
    **dict.fromkeys(
        (*TABLE_SECTIONS, "caption", "colgroup"), (ImpliedEndRule(TABLE_PARTS, ElementScope.TABLE),)
    ),
    "option": (ImpliedEndRule(("option",), ElementScope.SPECIAL),),
    "optgroup": (ImpliedEndRule(("option", "optgroup"), ElementScope.SPECIAL),),
    **dict.fromkeys(RUBY_PARTS, (ImpliedEndRule(RUBY_PARTS, ElementScope.SPECIAL),)),
    "button": (ImpliedEndRule(("button",), ElementScope.SCOPE),),
    "body": (ImpliedEndRule(("head",), ElementScope.NONE),),
}
"""The elements that a start tag closes, where the standard implies the end tag."""
CLOSED_BY_END_TAG = {
    **{
        name: ImpliedEndRule((name,), ElementScope.SCOPE)
        for name in (*BLOCK_ELEMENTS, "applet", "button", "dd", "dt", "marquee")
    },
    **{
        name: ImpliedEndRule((name,), ElementScope.SCOPE)
        for name in ("noembed", "noframes", "noscript", "object", "select")
    },
    **{name: ImpliedEndRule((name,), ElementScope.TABLE) for name in ("table", *TABLE_PARTS)},
    **dict.fromkeys(HEADINGS, ImpliedEndRule(HEADINGS, ElementScope.SCOPE)),
    "p": END_PARAGRAPH,
    "li": ImpliedEndRule(("li",), ElementScope.LIST),
    "template": ImpliedEndRule(("template",), ElementScope.NONE),
}
"""The elements that an end tag closes; any other end tag closes its element within the SPECIAL scope."""
ROOT_ELEMENTS = ("html", "body")
"""Elements that stay open to the end of the page, whatever the tags say."""


class OpenElementStack:
    """The elements that are open at a position of a page, the outermost first.

    Their positions are indexed by name and by scope, so that finding what a tag closes takes constant time
    at any depth.
    """

    def __init__(self) -> None:
        self._stack: list[tuple[str | ElementScope, ...]] = []
        self._positions: dict[str | ElementScope, list[int]] = {}

    def __len__(self) -> int:
        return len(self._stack)

    def is_open(self, depth: int) -> bool:
        """Whether the element that was opened at this depth is still open."""
        return depth < len(self._stack) and self._stack[depth] != ()

    @property
    def in_foreign_content(self) -> bool:
        """Whether the position is inside SVG or MathML, where tags follow the rules of XML."""
        return bool(self._positions.get(ElementScope.FOREIGN)) and self._last_position(
            ElementScope.FOREIGN
        ) > self._last_position(ElementScope.INTEGRATION_POINT)

    def would_open(self, kind: str, name: str) -> bool:
        """Whether a tag opens an element that can have content."""
        if kind != "start" or (name in VOID_ELEMENTS and not self.in_foreign_content):
            return False
        return name not in ROOT_ELEMENTS or self._last_position(name) < 0

    def open_for_tag(self, kind: str, name: str) -> None:
        """Push the element that a tag opens, if any."""
        if self.would_open(kind, name):
            groups = (
                SCOPES_OF_ELEMENT.get(name, ())
                if name not in HTML_INTEGRATION_POINTS or self.in_foreign_content
                else ()
            )
            for key in (name, *groups):
                self._positions.setdefault(key, []).append(len(self._stack))
            self._stack.append((name, *groups))

    def close_for_tag(self, kind: str, name: str) -> None:
        """Close all elements that end at or before this tag."""
        if kind == "end":
            self._close_for_end_tag(name)
        elif not self.in_foreign_content:
            self._close_for_start_tag(name)
        elif name in FOREIGN_BREAKOUT_TAGS:
            point = self._last_position(ElementScope.INTEGRATION_POINT)
            foreign = self._positions[ElementScope.FOREIGN]
            self._truncate(foreign[bisect_right(foreign, point)])
            self._close_for_start_tag(name)

    def _close_for_start_tag(self, name: str) -> None:
        if name == "a":
            self._close_for_end_tag(name)
        for rule in CLOSED_BY_START_TAG.get(name, ()):
            while (at := self._innermost(rule)) >= 0:
                self._truncate(at)

    def _close_for_end_tag(self, name: str) -> None:
        if name in ROOT_ELEMENTS:
            return
        if self._stack and name in self._stack[-1]:  # the usual case: the innermost element
            self._truncate(len(self._stack) - 1)
        elif (
            at := self._innermost(CLOSED_BY_END_TAG.get(name, ImpliedEndRule((name,), ElementScope.SPECIAL)))
        ) >= 0:
            self._truncate(at)
        elif (
            name in FORMATTING_ELEMENTS
            and (at := self._innermost(ImpliedEndRule((name,), ElementScope.SCOPE))) >= 0
        ):
            self._stack[at] = ()
            self._positions[name].pop()

    def _innermost(self, rule: ImpliedEndRule) -> int:
        """Return the position of the innermost element the rule closes; -1 if there is none."""
        at = max([self._last_position(name) for name in rule.names])
        return at if at >= 0 and at >= self._last_position(rule.scope) else -1

    def _last_position(self, key: str | ElementScope) -> int:
        positions = self._positions.get(key)
        return positions[-1] if positions else -1

    def _truncate(self, at: int) -> None:
        while len(self._stack) > at:
            for key in self._stack.pop():
                self._positions[key].pop()
