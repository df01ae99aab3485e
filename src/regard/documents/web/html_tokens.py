"""Scanner for XML and HTML: tags, texts and other tokens with their positions in the document.

It follows the HTML standard where a page is broken: a comment, tag or script without an end reaches to the
end of the page. So it scans every character once, also in a hostile file.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from regard.documents.web.html_tree import FOREIGN_ELEMENTS, VOID_ELEMENTS, OpenElementStack

MarkupKind = Literal["text", "start", "end", "empty", "protected", "boundary", "other"]
"""Text, a start, end or self-closing tag, a comment or similar ("other"); and, made by the HTML reader,
an element copied as a whole ("protected") and untranslated content that ends a sentence ("boundary")."""


class MarkupToken(NamedTuple):
    """Characters `start` to `end` of a document, with the name if they are a tag."""

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
"""HTML elements inside which a tag is text. The content of <noframes> and <noscript> is also raw text to a
browser with frames and scripts, but it is written for the others."""


def scan_markup(
    text: str, html: bool, open_elements: OpenElementStack | None = None, self_closing: bool = False
) -> Iterator[MarkupToken]:
    """Yield the tokens of a document without gaps; HTML names are lower-case.

    With `self_closing`, the slash of <a/> ends any element, as in XHTML.
    At each tag, `open_elements` holds the elements that were open before it, less those the tag closes.
    """
    place, size, done = 0, len(text), 0
    open_elements = OpenElementStack() if open_elements is None else open_elements
    while (place := text.find("<", place)) >= 0:
        token = _html_token(text, place, open_elements) if html else _xml_token(text, place)
        if token is None:
            place += 1
            continue
        if done < place:
            yield MarkupToken("text", done, place)
        if html and token.name:
            open_elements.close_for_tag(token.kind, token.name)
            if _ignores_self_closing(token, open_elements, self_closing):
                token = token._replace(kind="start")
        yield token
        place = done = token.end
        if html and token.kind == "start":
            raw = token.name in RAW_TEXT_ELEMENTS and not open_elements.in_foreign_content
            open_elements.open_for_tag(token.kind, token.name)
            if raw:
                closing = re.compile(f"</{token.name}(?=[\\s/>])", re.IGNORECASE).search(text, place)
                place = closing.start() if closing else size
                if done < place:
                    yield MarkupToken("text", done, place)
                done = place
    if done < size:
        yield MarkupToken("text", done, size)


def _ignores_self_closing(token: MarkupToken, elements: OpenElementStack, self_closing: bool) -> bool:
    """Whether the slash of <br/> has no meaning, as in HTML everywhere outside SVG and MathML."""
    if token.kind != "empty" or token.name in FOREIGN_ELEMENTS or elements.in_foreign_content:
        return False
    return not self_closing or token.name in VOID_ELEMENTS


def _html_token(text: str, place: int, elements: OpenElementStack) -> MarkupToken | None:
    """Return the tag, comment or other HTML token that starts here, if any."""
    if tag := HTML_TAG.match(text, place):
        return _scan_tag(text, tag, tag[2].lower())
    if text.startswith("<!--", place):
        if short := next((short for short in (">", "->") if text.startswith(short, place + 4)), ""):
            return MarkupToken("other", place, place + 4 + len(short))
        end = COMMENT_END.search(text, place + 4)
        return MarkupToken("other", place, end.end() if end else len(text))
    if text.startswith(("<!", "<?"), place):
        closing = "]]>" if elements.in_foreign_content and text.startswith("<![CDATA[", place) else ">"
        end_at = text.find(closing, place + 2)
        return MarkupToken("other", place, len(text) if end_at < 0 else end_at + len(closing))
    return None


def _xml_token(text: str, place: int) -> MarkupToken | None:
    if tag := XML_TAG.match(text, place):
        return _scan_tag(text, tag, tag[2])
    for opening, closing in XML_DELIMITERS:
        if text.startswith(opening, place):
            end_at = text.find(closing, place + len(opening))
            return MarkupToken("other", place, len(text) if end_at < 0 else end_at + len(closing))
    return _scan_doctype(text, place) if text.startswith("<!", place) else None


def _scan_tag(text: str, tag: re.Match[str], name: str) -> MarkupToken:
    """Return the tag up to the first > outside an attribute; a slash that ends an attribute belongs to it."""
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


def set_attribute(tag: str, name: str, value: str) -> str:
    """Return a start tag in which an attribute has this value, which needs no escaping."""
    if (span := attribute_spans(tag).get(name.lower())) is not None:
        start, end = span
        return (
            f"{tag[:start]}{value}{tag[end:]}"
            if tag[start - 1] in "\"'"
            else f'{tag[:start]}"{value}"{tag[end:]}'
        )
    end = len(tag.removesuffix(">").removesuffix("/").rstrip())
    return f'{tag[:end]} {name}="{value}"{tag[end:]}'


def attribute_spans(tag: str) -> dict[str, tuple[int, int]]:
    """Return the spans of attribute values within a tag, by name, without quotes."""
    spans: dict[str, tuple[int, int]] = {}
    name = XML_TAG.match(tag)
    place = name.end() if name else len(tag)
    while attribute := ATTRIBUTE.match(tag, place):
        place = attribute.end()
        if attribute.lastindex and attribute.lastindex > 1:
            spans.setdefault(attribute[1].lower(), attribute.span(attribute.lastindex))
    return spans
