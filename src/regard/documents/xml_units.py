"""A source and its target, side by side in XML: what XLIFF and TMX have in common."""

import re
from collections.abc import Iterator, Sequence

from regard.documents.entities import EntityEscaper, split_entities, unescape_entities
from regard.documents.html_tokens import MarkupToken, attribute_spans
from regard.documents.markup_alignment import place_markup
from regard.documents.segments import InlineFragment, InlineKind, Segment, build_segment, split_inline_tags
from regard.documents.template import Slot, SlotSpan, SlotWriter, keep_if_unchanged
from regard.documents.xml_tree import XmlElement, line_indent

NATIVE_CODE_ELEMENTS = {  # elements whose content is somebody's code, and no text
    "bpt": InlineKind.OPEN,
    "bx": InlineKind.OPEN,
    "sc": InlineKind.OPEN,
    "sm": InlineKind.OPEN,
    "ept": InlineKind.CLOSE,
    "ex": InlineKind.CLOSE,
    "ec": InlineKind.CLOSE,
    "em": InlineKind.CLOSE,
    **dict.fromkeys(("ph", "it", "ut", "x", "cp"), InlineKind.STANDALONE),
}
CDATA = ("<![CDATA[", "]]>")
CDATA_BOUNDARY = re.compile(r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[|\]\]>", re.DOTALL)
"""Where CDATA begins or ends; in a comment it does neither."""


class XmlSlotBuilder:
    """Makes slots of the sources of a document."""

    def __init__(self, document: str) -> None:
        self._document = document
        self._escaper = EntityEscaper(document, xml=True)

    def has_text(self, element: XmlElement) -> bool:
        """Whether it says something: tags and comments by themselves do not."""
        return bool(self._text(element))

    def has_same_text(self, first: XmlElement, second: XmlElement) -> bool:
        """Whether two elements differ in markup and white space only."""
        return self._text(first).split() == self._text(second).split()

    def _text(self, element: XmlElement) -> str:
        return "".join(piece.text for piece in _source_fragments(self._document, element.content)).strip()

    def replace_content(self, source: XmlElement, target: XmlElement) -> SlotSpan | None:
        """The content of an element that is there, replaced."""
        start, end, before, behind = target.inner_start, target.inner_end, "", ""
        if target.tag.kind == "empty":
            start, end = target.tag.start, target.end
            tag = self._document[start:end].removesuffix("/>").rstrip()
            before, behind = f"{tag}>", f"</{target.tag.name}>"
        slot = self._build_slot(source, before, behind)
        return None if slot is None else SlotSpan(start, end, slot)

    def insert_after(
        self, source: XmlElement, anchor: XmlElement, before: str, after: str
    ) -> SlotSpan | None:
        """A new element, on a line of its own if `place` is on one, right after it."""
        found = self._build_slot(source, line_indent(self._document, anchor.tag.start) + before, after)
        return None if found is None else SlotSpan(anchor.end, anchor.end, found)

    def _build_slot(self, source: XmlElement, before: str, behind: str) -> Slot | None:
        content = self._document[source.inner_start : source.inner_end]
        sentence = build_segment(_source_fragments(self._document, source.content))
        if sentence is None:
            return None
        write = keep_if_unchanged(sentence.text, content, _slot_writer(sentence, content, self._escaper))
        return Slot(sentence.text, lambda translation: before + write(translation) + behind)


def _slot_writer(sentence: Segment, content: str, spell: SlotWriter) -> SlotWriter:
    lead, tail = content[: sentence.lead_length], content[len(content) - sentence.tail_length :]
    addresses: dict[str, str] = {}
    if CDATA[0] in content:  # one that leaves a CDATA, or comes into it, is spelled otherwise there
        texts = {kept.raw: sentence.text[kept.start : kept.end] for kept in sentence.protected}
        addresses = {raw: text for raw, text in texts.items() if not raw.startswith("<")}

    def write(translation: str) -> str:
        written = [lead]
        inside = _ends_in_cdata(lead, False)
        for part in place_markup(sentence, translation):
            text = addresses.get(part.text) if part.is_raw else part.text
            if text is None:
                written.append(part.text)
                inside = _ends_in_cdata(part.text, inside)
            else:
                written.append(_escape_cdata(text) if inside else spell(text))
        return "".join([*written, tail])

    return write


def _source_fragments(document: str, parts: Sequence[MarkupToken]) -> Iterator[InlineFragment]:
    """The content of a source: text, tags that stay, and elements that are code altogether."""
    at = 0
    while at < len(parts):
        part = parts[at]
        name, after = part.name.rpartition(":")[2], at + 1
        raw = document[part.start : part.end]
        match part.kind:
            case "text":
                yield from split_entities(raw, xml=True)
            case "other" if raw.startswith(CDATA[0]):
                yield InlineFragment(InlineKind.STANDALONE, CDATA[0])
                yield from split_inline_tags(raw[len(CDATA[0]) : -len(CDATA[1])])  # often a bit of a page
                yield InlineFragment(InlineKind.STANDALONE, CDATA[1])
            case "other" | "empty":
                yield InlineFragment(NATIVE_CODE_ELEMENTS.get(name, InlineKind.STANDALONE), raw)
            case "start" if name in NATIVE_CODE_ELEMENTS or _is_protected(raw):
                after = _element_end(parts, at)
                raw = document[part.start : parts[after - 1].end]
                if name in NATIVE_CODE_ELEMENTS:
                    yield InlineFragment(NATIVE_CODE_ELEMENTS[name], raw)
                else:
                    inner = document[part.end : parts[after - 1].start]
                    yield InlineFragment(InlineKind.PROTECTED, raw, unescape_entities(inner, xml=True))
            case "start":
                yield InlineFragment(InlineKind.OPEN, raw)
            case "end":
                yield InlineFragment(InlineKind.CLOSE, raw)
        at = after


def _is_protected(tag: str) -> bool:
    values = {name: tag[start:end] for name, (start, end) in attribute_spans(tag).items()}
    return values.get("mtype") == "protected" or values.get("translate") == "no"


def _element_end(parts: Sequence[MarkupToken], at: int) -> int:
    """After the part that ends the element which starts here."""
    depth, name = 0, parts[at].name
    for place in range(at, len(parts)):
        if parts[place].name == name:
            depth += {"start": 1, "end": -1}.get(parts[place].kind, 0)
        if not depth:
            return place + 1
    return len(parts)


def _ends_in_cdata(markup: str, inside: bool) -> bool:
    """Whether what follows this markup is in CDATA, given whether the markup itself is."""
    for border in CDATA_BOUNDARY.finditer(markup):
        inside = border[0] == CDATA[0] or (inside and border[0] != CDATA[1])
    return inside


def _escape_cdata(text: str) -> str:
    return text.replace("]]>", "]]]]><![CDATA[>")
