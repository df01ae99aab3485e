"""A source and its target, side by side in XML: what XLIFF and TMX have in common."""

from collections.abc import Iterator, Sequence

from regard.text.documents.entities import Spelling, pieces_of, plain
from regard.text.documents.marked import Marked, marked, tag_pieces
from regard.text.documents.markup import Markup, attributes
from regard.text.documents.pieces import Kind, Piece
from regard.text.documents.placing import placed
from regard.text.documents.template import Slot, Span, Writer, unless_same
from regard.text.documents.xml_tree import Element, indent

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


class Units:
    """Makes slots of the sources of a document."""

    def __init__(self, document: str) -> None:
        self._document = document
        self._spelling = Spelling(document, xml=True)

    def has_text(self, element: Element | None) -> bool:
        return element is not None and bool(self._document[element.inner_start : element.inner_end].strip())

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
        spell = self._spelling if not _one_cdata(content) else _in_cdata
        write = unless_same(sentence.text, content, _writer(sentence, content, spell))
        return Slot(sentence.text, lambda translation: before + write(translation) + behind)


def _writer(sentence: Marked, content: str, spell: Writer) -> Writer:
    lead, tail = content[: sentence.lead], content[len(content) - sentence.tail :]

    def write(translation: str) -> str:
        parts = placed(sentence, translation)
        return lead + "".join(part.text if part.ready else spell(part.text) for part in parts) + tail

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


def _one_cdata(content: str) -> bool:
    content = content.strip()
    return content.startswith(CDATA[0]) and content.find(CDATA[1]) == len(content) - len(CDATA[1])


def _in_cdata(text: str) -> str:
    return text.replace("]]>", "]]]]><![CDATA[>")
