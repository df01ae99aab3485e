"""Which elements of a page are open at a place: also those that the HTML standard lets end without a tag."""

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
"""Elements of pictures and formulas in which there is HTML again."""
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
"""No end tag in these closes what is around them."""
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
"""Elements that end where their end tag says, though what was opened in them does not: <b><p></b></p>."""
SPECIAL_ELEMENTS = (
    *("applet", "body", "button", "dd", "dt", "frameset", "head", "html", "iframe", "li", "marquee"),
    *("noembed", "noframes", "noscript", "object", "p", "plaintext", "script", "select", "style", "table"),
    *("template", "textarea", "xmp", *BLOCK_ELEMENTS, *HEADINGS, *TABLE_PARTS, *HTML_INTEGRATION_POINTS),
)
"""What the end tag of an inline element inside them does not close."""
FOREIGN_BREAKOUT_TAGS = frozenset(
    (
        *("b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed"),
        *("head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre", "ruby", "s"),
        *("small", "span", "strong", "strike", "sub", "sup", "table", "tt", "u", "ul", "var", *HEADINGS),
    )
)
"""Tags that end a picture or a formula."""


class ElementScope(Enum):
    """How far out a tag closes elements: to the last open one of such a group."""

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
    name: tuple(bound for bound, group in SCOPE_ELEMENTS.items() if name in group)
    for name in (*SPECIAL_ELEMENTS, *FOREIGN_ELEMENTS)
}


class ImpliedEndRule(NamedTuple):
    """A tag closes open elements of these names, as far out as the bound."""

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
"""What a start tag closes, where the standard lets the end tag be left out or puts it in."""
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
"""What an end tag closes; that of any other element closes it if nothing special was opened since."""
ROOT_ELEMENTS = ("html", "body")
"""What ends with the page and not before, whatever the tags say."""


class OpenElementStack:
    """The elements that are open at a place of a page, the outermost first.

    For each name, and each group of names, it is known where in that row they are: what a tag closes is
    found at once, however deep the page.
    """

    def __init__(self) -> None:
        self._stack: list[tuple[str | ElementScope, ...]] = []
        self._positions: dict[str | ElementScope, list[int]] = {}

    def __len__(self) -> int:
        return len(self._stack)

    def is_open(self, depth: int) -> bool:
        """Whether the element that was opened when so many were open still is."""
        return depth < len(self._stack) and self._stack[depth] != ()

    @property
    def in_foreign_content(self) -> bool:
        """Whether this is inside a picture or a formula, where tags follow the rules of XML."""
        return bool(self._positions.get(ElementScope.FOREIGN)) and self._last_position(
            ElementScope.FOREIGN
        ) > self._last_position(ElementScope.INTEGRATION_POINT)

    def would_open(self, kind: str, name: str) -> bool:
        """Whether a tag opens an element that other parts can be in."""
        if kind != "start" or (name in VOID_ELEMENTS and not self.in_foreign_content):
            return False
        return name not in ROOT_ELEMENTS or self._last_position(name) < 0

    def open_for_tag(self, kind: str, name: str) -> None:
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
        """Closes whatever ends at this tag, or before it."""
        if kind == "end":
            self._close_for_end_tag(name)
        elif not self.in_foreign_content:
            self._close_for_start_tag(name)
        elif name in FOREIGN_BREAKOUT_TAGS:
            point = self._last_position(ElementScope.INTEGRATION_POINT)
            pictures = self._positions[ElementScope.FOREIGN]
            self._truncate(pictures[bisect_right(pictures, point)])
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
        if self._stack and name in self._stack[-1]:  # as nearly always: nothing stands between the two tags
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
        """The innermost element that the rule is about; -1 if there is none."""
        at = max([self._last_position(name) for name in rule.names])
        return at if at >= 0 and at >= self._last_position(rule.scope) else -1

    def _last_position(self, key: str | ElementScope) -> int:
        places = self._positions.get(key)
        return places[-1] if places else -1

    def _truncate(self, at: int) -> None:
        while len(self._stack) > at:
            for key in self._stack.pop():
                self._positions[key].pop()
