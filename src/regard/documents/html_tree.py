"""Which elements of a page are open at a place: also those that the HTML standard lets end without a tag."""

from bisect import bisect_right
from enum import Enum, auto
from typing import NamedTuple

VOID = frozenset(
    (
        *("area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input"),
        *("keygen", "link", "meta", "param", "source", "track", "wbr"),
    )
)
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
FOREIGN = ("svg", "math")
POINTS = ("foreignobject", "desc", "title", "annotation-xml", "mi", "mo", "mn", "ms", "mtext")
"""Elements of pictures and formulas in which there is HTML again."""
SCOPES = (
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
    *POINTS,
)
"""No end tag in these closes what is around them."""
BLOCKS = (
    *("address", "article", "aside", "blockquote", "center", "details", "dialog", "dir", "div", "dl"),
    *("fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "listing", "main", "menu"),
    *("nav", "ol", "pre", "search", "section", "summary", "ul"),
)
ROWS = ("tbody", "thead", "tfoot")
IN_TABLES = ("caption", "colgroup", *ROWS, "tr", "td", "th")
RUBY = ("rb", "rp", "rt", "rtc")
FORMATTING = frozenset(
    (
        *("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt"),
        "u",
    )
)
"""Elements that end where their end tag says, though what was opened in them does not: <b><p></b></p>."""
SPECIAL = (
    *("applet", "body", "button", "dd", "dt", "frameset", "head", "html", "iframe", "li", "marquee"),
    *("noembed", "noframes", "noscript", "object", "p", "plaintext", "script", "select", "style", "table"),
    *("template", "textarea", "xmp", *BLOCKS, *HEADINGS, *IN_TABLES, *POINTS),
)
"""What the end tag of an inline element inside them does not close."""
BREAKOUT = frozenset(
    (
        *("b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed"),
        *("head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre", "ruby", "s"),
        *("small", "span", "strong", "strike", "sub", "sup", "table", "tt", "u", "ul", "var", *HEADINGS),
    )
)
"""Tags that end a picture or a formula."""


class Bound(Enum):
    """How far out a tag closes elements: to the last open one of such a group."""

    SCOPE = auto()
    BUTTON = auto()
    LIST = auto()
    ITEM = auto()
    TABLE = auto()
    SPECIAL = auto()
    FOREIGN = auto()
    POINT = auto()
    NONE = auto()


GROUPS = {
    Bound.SCOPE: SCOPES,
    Bound.BUTTON: (*SCOPES, "button"),
    Bound.LIST: (*SCOPES, "ol", "ul"),
    Bound.ITEM: set(SPECIAL) - {"address", "div", "p"},
    Bound.TABLE: ("table", "template", "html"),
    Bound.SPECIAL: SPECIAL,
    Bound.FOREIGN: FOREIGN,
    Bound.POINT: POINTS,
}
GROUPS_OF = {
    name: tuple(bound for bound, group in GROUPS.items() if name in group) for name in (*SPECIAL, *FOREIGN)
}


class Rule(NamedTuple):
    """A tag closes open elements of these names, as far out as the bound."""

    names: tuple[str, ...]
    bound: Bound


END_OF_P = Rule(("p",), Bound.BUTTON)
AT_START = {
    **dict.fromkeys((*BLOCKS, "p", "hr", "plaintext", "table", "xmp"), (END_OF_P,)),
    **dict.fromkeys(HEADINGS, (END_OF_P, Rule(HEADINGS, Bound.SPECIAL))),
    "li": (Rule(("li",), Bound.ITEM), END_OF_P),
    **dict.fromkeys(("dd", "dt"), (Rule(("dd", "dt"), Bound.ITEM), END_OF_P)),
    **dict.fromkeys(("td", "th"), (Rule(("caption", "colgroup", "td", "th"), Bound.TABLE),)),
    "tr": (Rule(("caption", "colgroup", "tr", "td", "th"), Bound.TABLE),),
    **dict.fromkeys((*ROWS, "caption", "colgroup"), (Rule(IN_TABLES, Bound.TABLE),)),
    "option": (Rule(("option",), Bound.SPECIAL),),
    "optgroup": (Rule(("option", "optgroup"), Bound.SPECIAL),),
    **dict.fromkeys(RUBY, (Rule(RUBY, Bound.SPECIAL),)),
    "button": (Rule(("button",), Bound.SCOPE),),
    "body": (Rule(("head",), Bound.NONE),),
}
"""What a start tag closes, where the standard lets the end tag be left out or puts it in."""
AT_END = {
    **{name: Rule((name,), Bound.SCOPE) for name in (*BLOCKS, "applet", "button", "dd", "dt", "marquee")},
    **{name: Rule((name,), Bound.SCOPE) for name in ("noembed", "noframes", "noscript", "object", "select")},
    **{name: Rule((name,), Bound.TABLE) for name in ("table", *IN_TABLES)},
    **dict.fromkeys(HEADINGS, Rule(HEADINGS, Bound.SCOPE)),
    "p": END_OF_P,
    "li": Rule(("li",), Bound.LIST),
    "template": Rule(("template",), Bound.NONE),
}
"""What an end tag closes; that of any other element closes it if nothing special was opened since."""
WHOLE = ("html", "body")
"""What ends with the page and not before, whatever the tags say."""


class Elements:
    """The elements that are open at a place of a page, the outermost first.

    For each name, and each group of names, it is known where in that row they are: what a tag closes is
    found at once, however deep the page.
    """

    def __init__(self) -> None:
        self._row: list[tuple[str | Bound, ...]] = []
        self._places: dict[str | Bound, list[int]] = {}

    def __len__(self) -> int:
        return len(self._row)

    def has(self, at: int) -> bool:
        """Whether the element that was opened when so many were open still is."""
        return at < len(self._row) and self._row[at] != ()

    @property
    def foreign(self) -> bool:
        """Whether this is inside a picture or a formula, where tags follow the rules of XML."""
        return bool(self._places.get(Bound.FOREIGN)) and self._last(Bound.FOREIGN) > self._last(Bound.POINT)

    def opens(self, sort: str, name: str) -> bool:
        """Whether a tag opens an element that other parts can be in."""
        if sort != "start" or (name in VOID and not self.foreign):
            return False
        return name not in WHOLE or self._last(name) < 0

    def open(self, sort: str, name: str) -> None:
        if self.opens(sort, name):
            groups = GROUPS_OF.get(name, ()) if name not in POINTS or self.foreign else ()
            for key in (name, *groups):
                self._places.setdefault(key, []).append(len(self._row))
            self._row.append((name, *groups))

    def close(self, sort: str, name: str) -> None:
        """Closes whatever ends at this tag, or before it."""
        if sort == "end":
            self._end(name)
        elif not self.foreign:
            self._start(name)
        elif name in BREAKOUT:
            point = self._last(Bound.POINT)
            pictures = self._places[Bound.FOREIGN]
            self._cut(pictures[bisect_right(pictures, point)])
            self._start(name)

    def _start(self, name: str) -> None:
        if name == "a":
            self._end(name)
        for rule in AT_START.get(name, ()):
            while (at := self._found(rule)) >= 0:
                self._cut(at)

    def _end(self, name: str) -> None:
        if name in WHOLE:
            return
        if self._row and name in self._row[-1]:  # as nearly always: nothing stands between the two tags
            self._cut(len(self._row) - 1)
        elif (at := self._found(AT_END.get(name, Rule((name,), Bound.SPECIAL)))) >= 0:
            self._cut(at)
        elif name in FORMATTING and (at := self._found(Rule((name,), Bound.SCOPE))) >= 0:
            self._row[at] = ()
            self._places[name].pop()

    def _found(self, rule: Rule) -> int:
        """The innermost element that the rule is about; -1 if there is none."""
        at = max([self._last(name) for name in rule.names])
        return at if at >= 0 and at >= self._last(rule.bound) else -1

    def _last(self, key: str | Bound) -> int:
        places = self._places.get(key)
        return places[-1] if places else -1

    def _cut(self, at: int) -> None:
        while len(self._row) > at:
            for key in self._row.pop():
                self._places[key].pop()
