"""Slots for bilingual XML: what TMX and XLIFF have in common."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from regard.documents.localization.message import PROTECTED_TEXT, drop_extra_placeholders
from regard.documents.localization.xml_tree import XmlElement, line_indent
from regard.documents.markup_alignment import place_markup, segment_slot
from regard.documents.segments import InlineFragment, InlineKind, Segment, build_segment, split_inline_tags
from regard.documents.template import Slot, SlotSpan, SlotWriter
from regard.documents.web.entities import EntityEscaper, split_entities, unescape_entities
from regard.documents.web.html_tokens import MarkupToken, attribute_spans

NATIVE_CODE_ELEMENTS = {  # elements whose content is native code of the original format, not text
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
"""The start or end of CDATA; comments are matched too, as they contain neither."""


class XmlSlotBuilder:
    """Builds slots from the source elements of a document."""

    def __init__(self, document: str) -> None:
        self._document = document
        self._escaper = EntityEscaper(document, xml=True)

    def has_text(self, element: XmlElement) -> bool:
        """Whether an element has text besides tags and comments."""
        return bool(self._text(element))

    def has_same_text(self, first: XmlElement, second: XmlElement) -> bool:
        """Whether two elements differ only in markup and white space."""
        return self._text(first).split() == self._text(second).split()

    def _text(self, element: XmlElement) -> str:
        return "".join(
            fragment.text for fragment in source_fragments(self._document, element.content)
        ).strip()

    def replace_content(
        self, source: XmlElement, target: XmlElement, mark: SlotWriter = str
    ) -> SlotSpan | None:
        """Return a span that replaces the content of an existing element.

        `mark` changes its start tag if a placeholder is put back by guess.
        """
        end, suffix = target.inner_end, ""
        before = self._document[target.tag.start : target.tag.end]
        if target.tag.kind == "empty":
            end = target.end
            before, suffix = f"{before.removesuffix('/>').rstrip()}>", f"</{target.tag.name}>"
        slot = self._build_slot(source, before, suffix, mark(before))
        return None if slot is None else SlotSpan(target.tag.start, end, slot)

    def insert_after(
        self, source: XmlElement, anchor: XmlElement, before: str, after: str, mark: SlotWriter = str
    ) -> SlotSpan | None:
        """Return a span that inserts an element after `anchor`, on a new line if `anchor` starts one.

        `mark` changes `before` if a placeholder is put back by guess.
        """
        indent = line_indent(self._document, anchor.tag.start)
        slot = self._build_slot(source, indent + before, after, indent + mark(before))
        return None if slot is None else SlotSpan(anchor.end, anchor.end, slot)

    def _build_slot(self, source: XmlElement, before: str, suffix: str, marked_before: str) -> Slot | None:
        content = self._document[source.inner_start : source.inner_end]
        segment = build_segment(source_fragments(self._document, source.content), PROTECTED_TEXT)
        if segment is None:
            return None
        slot = segment_slot(segment, content, slot_writer(segment, content, self._escaper))

        def write(translation: str) -> str:
            guessed = slot.find_missing(translation)
            return (marked_before if guessed else before) + slot.write(translation) + suffix

        return replace(slot, write=write)


def slot_writer(segment: Segment, content: str, escape: SlotWriter, spell: SlotWriter = str) -> SlotWriter:
    """Return a writer of the content of an element; `spell` is applied to text before XML escapes."""
    lead, tail = content[: segment.lead_length], content[len(content) - segment.tail_length :]
    addresses: dict[str, str] = {}
    if CDATA[0] in content:  # an address that moves into or out of CDATA is escaped differently
        texts = {span.raw: segment.text[span.start : span.end] for span in segment.protected}
        addresses = {raw: text for raw, text in texts.items() if not raw.startswith("<")}

    def write(translation: str) -> str:
        written = [lead]
        inside = _ends_in_cdata(lead, False)
        for part in place_markup(segment, drop_extra_placeholders(segment, translation)):
            text = addresses.get(part.text) if part.is_raw else part.text
            if text is None:
                written.append(part.text)
                inside = _ends_in_cdata(part.text, inside)
            else:
                text = spell(text)
                written.append(_escape_cdata(text) if inside else escape(text))
        return "".join([*written, tail])

    return write


def source_fragments(document: str, tokens: Sequence[MarkupToken]) -> Iterator[InlineFragment]:
    """Yield the fragments of a source: text, inline tags, and elements of native code."""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        name, after = token.name.rpartition(":")[2], at + 1
        raw = document[token.start : token.end]
        match token.kind:
            case "text":
                yield from split_entities(raw, xml=True)
            case "other" if raw.startswith(CDATA[0]):
                yield InlineFragment(InlineKind.STANDALONE, CDATA[0])
                yield from split_inline_tags(raw[len(CDATA[0]) : -len(CDATA[1])])  # often HTML
                yield InlineFragment(InlineKind.STANDALONE, CDATA[1])
            case "other" | "empty":
                yield InlineFragment(NATIVE_CODE_ELEMENTS.get(name, InlineKind.STANDALONE), raw)
            case "start" if name in NATIVE_CODE_ELEMENTS or _is_protected(raw):
                after = element_end(tokens, at)
                raw = document[token.start : tokens[after - 1].end]
                if name in NATIVE_CODE_ELEMENTS:
                    yield InlineFragment(NATIVE_CODE_ELEMENTS[name], raw)
                else:
                    inner = document[token.end : tokens[after - 1].start]
                    yield InlineFragment(InlineKind.PROTECTED, raw, unescape_entities(inner, xml=True))
            case "start":
                yield InlineFragment(InlineKind.OPEN, raw)
            case "end":
                yield InlineFragment(InlineKind.CLOSE, raw)
        at = after


def _is_protected(tag: str) -> bool:
    values = {name: tag[start:end] for name, (start, end) in attribute_spans(tag).items()}
    return values.get("mtype") == "protected" or values.get("translate") == "no"


def element_end(tokens: Sequence[MarkupToken], at: int) -> int:
    """Return the index after the token that ends the element starting here."""
    depth, name = 0, tokens[at].name
    for index in range(at, len(tokens)):
        if tokens[index].name == name:
            depth += {"start": 1, "end": -1}.get(tokens[index].kind, 0)
        if not depth:
            return index + 1
    return len(tokens)


def _ends_in_cdata(markup: str, inside: bool) -> bool:
    """Whether the text after this markup is in CDATA, given whether its start is."""
    for boundary in CDATA_BOUNDARY.finditer(markup):
        inside = boundary[0] == CDATA[0] or (inside and boundary[0] != CDATA[1])
    return inside


def _escape_cdata(text: str) -> str:
    return text.replace("]]>", "]]]]><![CDATA[>")
