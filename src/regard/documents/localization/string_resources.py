"""String resources in XML: .NET (.resx, .resw) and the plural forms of Apple (.stringsdict).

Such a file has one language, so a message is replaced by its translation.
"""

import re
from collections.abc import Iterable, Iterator

from regard.documents.localization.message import drop_extra_placeholders, mark_message_codes
from regard.documents.localization.xml_tree import XmlElement, parse_document
from regard.documents.localization.xml_units import slot_writer, source_fragments
from regard.documents.markup_alignment import segment_slot
from regard.documents.segments import InlineFragment, build_segment
from regard.documents.template import SlotSpan, SlotWriter, Template, build_template
from regard.documents.web.entities import EntityEscaper


def message_span(
    document: str,
    element: XmlElement,
    fragments: Iterable[InlineFragment],
    escape: SlotWriter,
    spell: SlotWriter = str,
) -> SlotSpan | None:
    """Return the span of a message that is the content of an element; None if it has no text.

    `spell` writes text as the format does, `escape` makes it XML.
    """
    content = document[element.inner_start : element.inner_end]
    segment = build_segment(fragments)
    if segment is None:
        return None
    write_message = slot_writer(segment, content, escape, spell)

    def write(translation: str) -> str:
        return write_message(drop_extra_placeholders(segment, translation))

    return SlotSpan(element.inner_start, element.inner_end, segment_slot(segment, content, write))


def _build_resource_template(text: str, elements: Iterable[XmlElement]) -> Template:
    escaper = EntityEscaper(text, xml=True)
    spans = (
        message_span(text, element, mark_message_codes(source_fragments(text, element.content)), escaper)
        for element in elements
    )
    return build_template(text, [span for span in spans if span is not None])


RESX_ELEMENTS = ("data", "value", "comment")
STRING_TYPE = re.compile(r"(?:System\.)?String\b")
NON_TEXT_PROPERTIES = frozenset(
    (
        *("AccessibleRole", "Alignment", "Anchor", "AutoSize", "BackColor", "Background", "BorderStyle"),
        *("Bounds", "ClientSize", "ColumnWidth", "CornerRadius", "Cursor", "DataMember", "DisplayMember"),
        *("Dock", "Enabled", "FlowDirection", "Font", "FontFamily", "FontSize", "FontStyle", "FontWeight"),
        *("ForeColor", "Foreground", "Glyph", "Height", "HelpKeyword", "HorizontalAlignment", "Icon"),
        *("Image", "ImageIndex", "ImageKey", "ImageLocation", "ImageStream", "ImeMode", "ItemHeight"),
        *("Language", "Localizable", "Location", "Margin", "Mask", "MaxHeight", "MaxLength", "MaxWidth"),
        *(
            "MaximumSize",
            "MinHeight",
            "MinWidth",
            "MinimumSize",
            "Name",
            "NavigateUri",
            "Opacity",
            "Orientation",
        ),
        *(
            "Padding",
            "Parent",
            "RightToLeft",
            "ShortcutKeyDisplayString",
            "ShortcutKeys",
            "Size",
            "Source",
            "Style",
        ),
        *("SymbolName", "TabIndex", "TabStop", "Tag", "TextAlign", "TextAlignment", "Type", "Uri", "Url"),
        *("ValueMember", "VerticalAlignment", "Visibility", "Visible", "Width", "ZOrder"),
    )
)
"""Properties of controls whose value is a string in the file, but not text for people."""
NOT_TRANSLATED_COMMENT = re.compile(r"\{Locked\}|@Invariant\b", re.IGNORECASE)
"""The comment by which localization tools mark a string that stays as it is."""


def read_resx(text: str, name: str) -> Template:
    """Return the template of all strings for people; other resources and designer data stay."""
    root = parse_document(text, name, "root", "string resources of .NET", RESX_ELEMENTS, ("value", "comment"))
    entries = (child for child in root.children if child.name == "data" and _is_text_entry(text, child))
    values = (entry.child("value") for entry in entries)
    return _build_resource_template(text, (value for value in values if value is not None))


def _is_text_entry(text: str, entry: XmlElement) -> bool:
    name = entry.attributes.get("name", "")
    if "mimetype" in entry.attributes or not STRING_TYPE.match(entry.attributes.get("type") or "String"):
        return False
    comment = entry.child("comment")
    note = text[comment.inner_start : comment.inner_end] if comment else ""
    _, dot, attribute = name.rpartition(".")
    is_text = not dot or attribute not in NON_TEXT_PROPERTIES
    return is_text and not name.startswith(">>") and not NOT_TRANSLATED_COMMENT.search(note)


STRINGSDICT_ELEMENTS = ("dict", "array", "key", "string")
FORMAT_KEYS = ("NSStringFormatSpecTypeKey", "NSStringFormatValueTypeKey")
"""Keys whose values name a rule or a type."""


def read_stringsdict(text: str, name: str) -> Template:
    """Return the template of all format strings and plural forms."""
    root = parse_document(text, name, "plist", "a property list", STRINGSDICT_ELEMENTS, ("key", "string"))
    return _build_resource_template(text, _stringsdict_values(text, root))


def _stringsdict_values(text: str, root: XmlElement) -> Iterator[XmlElement]:
    pending = [(root, "")]
    while pending:
        element, key = pending.pop()
        if element.name == "string" and key not in FORMAT_KEYS:
            yield element
        keys = [""]
        for child in element.children:
            keys.append(text[child.inner_start : child.inner_end].strip() if child.name == "key" else "")
        pending += reversed(list(zip(element.children, keys[:-1], strict=True)))
