"""The tags, texts and other parts of XML and HTML, with their places.

A reader that follows the HTML standard wherever a page is broken: a comment, a tag or a script that never
ends reaches to the end of the page. So nothing is read twice, however hostile the file. Many elements of a
page need no end tag: what is open at a place follows from the tags before it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from enum import Enum, auto
from typing import Literal, NamedTuple

Sort = Literal["text", "start", "end", "empty", "kept", "cut", "other"]
"""A tag's kind; text; an element that is one part; what no sentence spans; a comment and the like."""


class Markup(NamedTuple):
    """A part of a document: characters `start` to `end`, and the name if it is a tag."""

    sort: Sort
    start: int
    end: int
    name: str = ""


XML_OTHERS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))
TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*)", re.ASCII)
XML_TAG = re.compile(r"<(/?)([^\W\d:][^\s/>]*)")
ATTRIBUTE = re.compile(
    r"""[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)(?:"|\Z)|'([^']*)(?:'|\Z)|([^\s>"'][^\s>]*))?)?""",
    re.ASCII,
)
CLOSE = re.compile(r"[\s/]*>?", re.ASCII)
COMMENT_END = re.compile(r"--!?>")
RAW = frozenset(("script", "style", "textarea", "title", "xmp", "iframe"))
"""In these elements of HTML a tag is text. So it is in <noframes>, to who sees frames, and in <noscript>, to
who runs scripts; but it is written for the others."""
VOID = frozenset(
    (
        *("area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input"),
        *("keygen", "link", "meta", "param", "source", "track", "wbr"),
    )
)


def read_markup(text: str, html: bool, elements: "Elements | None" = None) -> Iterator[Markup]:
    """The parts of a document, one after the other without a gap; names are lower-case in HTML.

    Whoever wants to know which `elements` of a page are open finds in them, at each tag, what was open
    before it, less what the tag closes.
    """
    place, size, done = 0, len(text), 0
    elements = Elements() if elements is None else elements
    while (place := text.find("<", place)) >= 0:
        part = _page_part(text, place, elements) if html else _xml_part(text, place)
        if part is None:
            place += 1
            continue
        if done < place:
            yield Markup("text", done, place)
        if html and part.name:
            elements.close(part)
            part = part._replace(sort="start") if _ignores_slash(part, elements) else part
        yield part
        place = done = part.end
        if html and part.sort == "start":
            raw = part.name in RAW and not elements.foreign
            elements.open(part)
            if raw:
                closing = re.compile(f"</{part.name}(?=[\\s/>])", re.IGNORECASE).search(text, place)
                place = closing.start() if closing else size
                if done < place:
                    yield Markup("text", done, place)
                done = place
    if done < size:
        yield Markup("text", done, size)


def _ignores_slash(part: Markup, elements: "Elements") -> bool:
    """Whether the slash of <br/> says nothing, as everywhere but in pictures and formulas."""
    return part.sort == "empty" and part.name not in FOREIGN and not elements.foreign


def _page_part(text: str, place: int, elements: "Elements") -> Markup | None:
    """The tag, comment or other of a page that begins here, if one does."""
    if tag := TAG.match(text, place):
        return _tag(text, tag, tag[2].lower())
    if text.startswith("<!--", place):
        if short := next((short for short in (">", "->") if text.startswith(short, place + 4)), ""):
            return Markup("other", place, place + 4 + len(short))
        end = COMMENT_END.search(text, place + 4)
        return Markup("other", place, end.end() if end else len(text))
    if text.startswith(("<!", "<?"), place):
        closing = "]]>" if elements.foreign and text.startswith("<![CDATA[", place) else ">"
        found = text.find(closing, place + 2)
        return Markup("other", place, len(text) if found < 0 else found + len(closing))
    return None


def _xml_part(text: str, place: int) -> Markup | None:
    if tag := XML_TAG.match(text, place):
        return _tag(text, tag, tag[2])
    for opening, closing in XML_OTHERS:
        if text.startswith(opening, place):
            found = text.find(closing, place + len(opening))
            return Markup("other", place, len(text) if found < 0 else found + len(closing))
    return _doctype(text, place) if text.startswith("<!", place) else None


def _tag(text: str, tag: re.Match[str], name: str) -> Markup:
    """The tag up to the > that is in no attribute; a slash at the end of an attribute is part of it."""
    place = tag.end()
    while attribute := ATTRIBUTE.match(text, place):
        place = attribute.end()
    close = CLOSE.match(text, place)
    end = close.end() if close else place
    empty = text.endswith("/>", place, end)
    return Markup("end" if tag[1] else "empty" if empty else "start", tag.start(), end, name)


DOCTYPE = re.compile(r"""<!(?:[^\[>"']|"[^"]*"|'[^']*')*(?:\[.*?\]\s*)?>""", re.DOTALL)


def _doctype(text: str, place: int) -> Markup:
    match = DOCTYPE.match(text, place)
    return Markup("other", place, match.end() if match else len(text))


def attributes(tag: str) -> dict[str, tuple[int, int]]:
    """Where the values of a tag's attributes lie within it, by name, without their quotes."""
    found: dict[str, tuple[int, int]] = {}
    name = XML_TAG.match(tag)
    place = name.end() if name else len(tag)
    while attribute := ATTRIBUTE.match(tag, place):
        place = attribute.end()
        if attribute.lastindex and attribute.lastindex > 1:
            found.setdefault(attribute[1].lower(), attribute.span(attribute.lastindex))
    return found


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

    def opens(self, part: Markup) -> bool:
        """Whether a tag opens an element that other parts can be in."""
        if part.sort != "start" or (part.name in VOID and not self.foreign):
            return False
        return part.name not in WHOLE or self._last(part.name) < 0

    def open(self, part: Markup) -> None:
        if self.opens(part):
            groups = GROUPS_OF.get(part.name, ()) if part.name not in POINTS or self.foreign else ()
            for key in (part.name, *groups):
                self._places.setdefault(key, []).append(len(self._row))
            self._row.append((part.name, *groups))

    def close(self, part: Markup) -> None:
        """Closes whatever ends at this tag, or before it."""
        if part.sort == "end":
            self._end(part.name)
        elif not self.foreign:
            self._start(part.name)
        elif part.name in BREAKOUT:
            point = self._last(Bound.POINT)
            pictures = self._places[Bound.FOREIGN]
            self._cut(pictures[bisect_right(pictures, point)])
            self._start(part.name)

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
