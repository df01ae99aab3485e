"""A source and its target, side by side in XML: what XLIFF and TMX have in common."""

import re
from collections.abc import Iterator, Sequence

from regard.documents.entities import Spelling, pieces_of, plain
from regard.documents.html_tokens import Markup, attributes
from regard.documents.markup_alignment import placed
from regard.documents.segments import Kind, Marked, Piece, marked, tag_pieces
from regard.documents.template import Slot, Span, Writer, unless_same
from regard.documents.xml_tree import Element, indent

NATIVE = {  # elements whose content is somebody's code, and no text
    "bpt": Kind.OPEN,
    "bx": Kind.OPEN,
    "sc": Kind.OPEN,
    "sm": Kind.OPEN,
    "ept": Kind.CLOSE,
    "ex": Kind.CLOSE,
    "ec": Kind.CLOSE,
    "em": Kind.CLOSE,
    **dict.fromkeys(("ph", "it", "ut", "x", "cp"), Kind.ALONE),
}
CDATA = ("<![CDATA[", "]]>")
BORDER = re.compile(r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[|\]\]>", re.DOTALL)
"""Where CDATA begins or ends; in a comment it does neither."""


class Units:
    """Makes slots of the sources of a document."""

    def __init__(self, document: str) -> None:
        self._document = document
        self._spelling = Spelling(document, xml=True)

    def has_text(self, element: Element) -> bool:
        """Whether it says something: tags and comments by themselves do not."""
        return bool(self._text(element))

    def same_text(self, one: Element, other: Element) -> bool:
        """Whether two elements differ in markup and white space only."""
        return self._text(one).split() == self._text(other).split()

    def _text(self, element: Element) -> str:
        return "".join(piece.text for piece in _pieces(self._document, element.content)).strip()

    def into(self, source: Element, target: Element) -> Span | None:
        """The content of an element that is there, replaced."""
        start, end, before, behind = target.inner_start, target.inner_end, "", ""
        if target.tag.sort == "empty":
            start, end = target.tag.start, target.end
            tag = self._document[start:end].removesuffix("/>").rstrip()
            before, behind = f"{tag}>", f"</{target.tag.name}>"
        slot = self._slot(source, before, behind)
        return None if slot is None else Span(start, end, slot)

    def after(self, source: Element, place: Element, before: str, behind: str) -> Span | None:
        """A new element, on a line of its own if `place` is on one, right after it."""
        found = self._slot(source, indent(self._document, place.tag.start) + before, behind)
        return None if found is None else Span(place.end, place.end, found)

    def _slot(self, source: Element, before: str, behind: str) -> Slot | None:
        content = self._document[source.inner_start : source.inner_end]
        sentence = marked(_pieces(self._document, source.content))
        if sentence is None:
            return None
        write = unless_same(sentence.text, content, _writer(sentence, content, self._spelling))
        return Slot(sentence.text, lambda translation: before + write(translation) + behind)


def _writer(sentence: Marked, content: str, spell: Writer) -> Writer:
    lead, tail = content[: sentence.lead], content[len(content) - sentence.tail :]
    addresses: dict[str, str] = {}
    if CDATA[0] in content:  # one that leaves a CDATA, or comes into it, is spelled otherwise there
        texts = {kept.raw: sentence.text[kept.start : kept.end] for kept in sentence.kept}
        addresses = {raw: text for raw, text in texts.items() if not raw.startswith("<")}

    def write(translation: str) -> str:
        written = [lead]
        inside = _ends_in_cdata(lead, False)
        for part in placed(sentence, translation):
            text = addresses.get(part.text) if part.ready else part.text
            if text is None:
                written.append(part.text)
                inside = _ends_in_cdata(part.text, inside)
            else:
                written.append(_in_cdata(text) if inside else spell(text))
        return "".join([*written, tail])

    return write


def _pieces(document: str, parts: Sequence[Markup]) -> Iterator[Piece]:
    """The content of a source: text, tags that stay, and elements that are code altogether."""
    at = 0
    while at < len(parts):
        part = parts[at]
        name, after = part.name.rpartition(":")[2], at + 1
        raw = document[part.start : part.end]
        match part.sort:
            case "text":
                yield from pieces_of(raw, xml=True)
            case "other" if raw.startswith(CDATA[0]):
                yield Piece(Kind.ALONE, CDATA[0])
                yield from tag_pieces(raw[len(CDATA[0]) : -len(CDATA[1])])  # often a bit of a page
                yield Piece(Kind.ALONE, CDATA[1])
            case "other" | "empty":
                yield Piece(NATIVE.get(name, Kind.ALONE), raw)
            case "start" if name in NATIVE or _protected(raw):
                after = _end_of(parts, at)
                raw = document[part.start : parts[after - 1].end]
                if name in NATIVE:
                    yield Piece(NATIVE[name], raw)
                else:
                    inner = document[part.end : parts[after - 1].start]
                    yield Piece(Kind.KEPT, raw, plain(inner, xml=True))
            case "start":
                yield Piece(Kind.OPEN, raw)
            case "end":
                yield Piece(Kind.CLOSE, raw)
        at = after


def _protected(tag: str) -> bool:
    values = {name: tag[start:end] for name, (start, end) in attributes(tag).items()}
    return values.get("mtype") == "protected" or values.get("translate") == "no"


def _end_of(parts: Sequence[Markup], at: int) -> int:
    """After the part that ends the element which starts here."""
    depth, name = 0, parts[at].name
    for place in range(at, len(parts)):
        if parts[place].name == name:
            depth += {"start": 1, "end": -1}.get(parts[place].sort, 0)
        if not depth:
            return place + 1
    return len(parts)


def _ends_in_cdata(markup: str, inside: bool) -> bool:
    """Whether what follows this markup is in CDATA, given whether the markup itself is."""
    for border in BORDER.finditer(markup):
        inside = border[0] == CDATA[0] or (inside and border[0] != CDATA[1])
    return inside


def _in_cdata(text: str) -> str:
    return text.replace("]]>", "]]]]><![CDATA[>")
