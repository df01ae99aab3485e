"""The tags, texts and other parts of XML and HTML, with their places.

A reader that follows the HTML standard wherever a page is broken: a comment, a tag or a script that never
ends reaches to the end of the page. So nothing is read twice, however hostile the file.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from regard.documents.html_tree import FOREIGN_ELEMENTS, OpenElementStack

MarkupKind = Literal["text", "start", "end", "empty", "kept", "cut", "other"]
"""A tag's kind; text; an element that is one part; what no sentence spans; a comment and the like."""


class MarkupToken(NamedTuple):
    """A part of a document: characters `start` to `end`, and the name if it is a tag."""

    kind: MarkupKind
    start: int
    end: int
    name: str = ""


XML_DELIMITERS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))
HTML_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*)", re.ASCII)
XML_TAG = re.compile(r"<(/?)([^\W\d:][^\s/>]*)")
ATTRIBUTE = re.compile(
    r"""[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)(?:"|\Z)|'([^']*)(?:'|\Z)|([^\s>"'][^\s>]*))?)?""",
    re.ASCII,
)
TAG_END = re.compile(r"[\s/]*>?", re.ASCII)
COMMENT_END = re.compile(r"--!?>")
RAW_TEXT_ELEMENTS = frozenset(("script", "style", "textarea", "title", "xmp", "iframe"))
"""In these elements of HTML a tag is text. So it is in <noframes>, to who sees frames, and in <noscript>, to
who runs scripts; but it is written for the others."""


def scan_markup(
    text: str, html: bool, open_elements: OpenElementStack | None = None
) -> Iterator[MarkupToken]:
    """The parts of a document, one after the other without a gap; names are lower-case in HTML.

    Whoever wants to know which `elements` of a page are open finds in them, at each tag, what was open
    before it, less what the tag closes.
    """
    place, size, done = 0, len(text), 0
    open_elements = OpenElementStack() if open_elements is None else open_elements
    while (place := text.find("<", place)) >= 0:
        part = _html_token(text, place, open_elements) if html else _xml_token(text, place)
        if part is None:
            place += 1
            continue
        if done < place:
            yield MarkupToken("text", done, place)
        if html and part.name:
            open_elements.close_for_tag(part.kind, part.name)
            part = part._replace(kind="start") if _ignores_self_closing(part, open_elements) else part
        yield part
        place = done = part.end
        if html and part.kind == "start":
            raw = part.name in RAW_TEXT_ELEMENTS and not open_elements.in_foreign_content
            open_elements.open_for_tag(part.kind, part.name)
            if raw:
                closing = re.compile(f"</{part.name}(?=[\\s/>])", re.IGNORECASE).search(text, place)
                place = closing.start() if closing else size
                if done < place:
                    yield MarkupToken("text", done, place)
                done = place
    if done < size:
        yield MarkupToken("text", done, size)


def _ignores_self_closing(part: MarkupToken, elements: OpenElementStack) -> bool:
    """Whether the slash of <br/> says nothing, as everywhere but in pictures and formulas."""
    return part.kind == "empty" and part.name not in FOREIGN_ELEMENTS and not elements.in_foreign_content


def _html_token(text: str, place: int, elements: OpenElementStack) -> MarkupToken | None:
    """The tag, comment or other of a page that begins here, if one does."""
    if tag := HTML_TAG.match(text, place):
        return _scan_tag(text, tag, tag[2].lower())
    if text.startswith("<!--", place):
        if short := next((short for short in (">", "->") if text.startswith(short, place + 4)), ""):
            return MarkupToken("other", place, place + 4 + len(short))
        end = COMMENT_END.search(text, place + 4)
        return MarkupToken("other", place, end.end() if end else len(text))
    if text.startswith(("<!", "<?"), place):
        closing = "]]>" if elements.in_foreign_content and text.startswith("<![CDATA[", place) else ">"
        found = text.find(closing, place + 2)
        return MarkupToken("other", place, len(text) if found < 0 else found + len(closing))
    return None


def _xml_token(text: str, place: int) -> MarkupToken | None:
    if tag := XML_TAG.match(text, place):
        return _scan_tag(text, tag, tag[2])
    for opening, closing in XML_DELIMITERS:
        if text.startswith(opening, place):
            found = text.find(closing, place + len(opening))
            return MarkupToken("other", place, len(text) if found < 0 else found + len(closing))
    return _scan_doctype(text, place) if text.startswith("<!", place) else None


def _scan_tag(text: str, tag: re.Match[str], name: str) -> MarkupToken:
    """The tag up to the > that is in no attribute; a slash at the end of an attribute is part of it."""
    place = tag.end()
    while attribute := ATTRIBUTE.match(text, place):
        place = attribute.end()
    close = TAG_END.match(text, place)
    end = close.end() if close else place
    empty = text.endswith("/>", place, end)
    return MarkupToken("end" if tag[1] else "empty" if empty else "start", tag.start(), end, name)


DOCTYPE = re.compile(r"""<!(?:[^\[>"']|"[^"]*"|'[^']*')*(?:\[.*?\]\s*)?>""", re.DOTALL)


def _scan_doctype(text: str, place: int) -> MarkupToken:
    match = DOCTYPE.match(text, place)
    return MarkupToken("other", place, match.end() if match else len(text))


def attribute_spans(tag: str) -> dict[str, tuple[int, int]]:
    """Where the values of a tag's attributes lie within it, by name, without their quotes."""
    found: dict[str, tuple[int, int]] = {}
    name = XML_TAG.match(tag)
    place = name.end() if name else len(tag)
    while attribute := ATTRIBUTE.match(tag, place):
        place = attribute.end()
        if attribute.lastindex and attribute.lastindex > 1:
            found.setdefault(attribute[1].lower(), attribute.span(attribute.lastindex))
    return found
