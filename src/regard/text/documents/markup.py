"""The tags, texts and other parts of XML and HTML, with their places.

A reader that follows the HTML standard wherever a page is broken: a comment, a tag or a script that never
ends reaches to the end of the page. So nothing is read twice, however hostile the file.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

Sort = Literal["text", "start", "end", "empty", "kept", "other"]
"""A tag's kind; text; an element that is one part; a comment, a declaration and the like."""


class Markup(NamedTuple):
    """A part of a document: characters `start` to `end`, and the name if it is a tag."""

    sort: Sort
    start: int
    end: int
    name: str = ""


OTHERS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", ">"), ("<!", ">"))
XML_OTHERS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))
TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*)")
XML_TAG = re.compile(r"<(/?)([^\W\d:][^\s/>]*)")
ATTRIBUTE = re.compile(
    r"""[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)(?:"|\Z)|'([^']*)(?:'|\Z)|([^\s>"'][^\s>]*))?)?"""
)
CLOSE = re.compile(r"[\s/]*>?")
RAW = ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
"""In these elements of HTML a tag is text."""


def read_markup(text: str, html: bool) -> Iterator[Markup]:
    """The parts of a document, one after the other without a gap; names are lower-case in HTML."""
    place, size, done = 0, len(text), 0
    while (place := text.find("<", place)) >= 0:
        part = _part(text, place, html)
        if part is None:
            place += 1
            continue
        if done < place:
            yield Markup("text", done, place)
        yield part
        place = done = part.end
        if html and part.sort == "start" and part.name in RAW:
            closing = re.compile(f"</{part.name}(?=[\\s/>])", re.IGNORECASE).search(text, place)
            place = closing.start() if closing else size
            if done < place:
                yield Markup("text", done, place)
            done = place
    if done < size:
        yield Markup("text", done, size)


def _part(text: str, place: int, html: bool) -> Markup | None:
    """The tag, comment or other that begins here, if one does."""
    if tag := (TAG if html else XML_TAG).match(text, place):
        end = _tag_end(text, tag.end())
        if tag[1]:
            sort: Sort = "end"
        else:
            sort = "empty" if text.endswith("/>", place, end) and not html else "start"
        return Markup(sort, place, end, tag[2].lower() if html else tag[2])
    for opening, closing in OTHERS if html else XML_OTHERS:
        if text.startswith(opening, place):
            found = text.find(closing, place + len(opening))
            return Markup("other", place, len(text) if found < 0 else found + len(closing))
    return _doctype(text, place) if text.startswith("<!", place) else None


def _tag_end(text: str, place: int) -> int:
    """After the > that is in no attribute."""
    while attribute := ATTRIBUTE.match(text, place):
        place = attribute.end()
    close = CLOSE.match(text, place)
    return close.end() if close else place


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
