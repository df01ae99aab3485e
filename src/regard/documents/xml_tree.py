"""XML whose every part keeps its place, once somebody else's parser has found it sound and harmless."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from regard.documents.entities import unescape_entities
from regard.documents.html_tokens import MarkupToken, attribute_spans, scan_markup
from regard.errors import DataError

XML_CHARSET = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9_.:-]+)["']""")


@dataclass
class XmlElement:
    """An element: where it starts, where its content does, where both end; and the elements in it."""

    name: str
    tag: MarkupToken
    attributes: dict[str, str]
    parent: "XmlElement | None"
    content: list[MarkupToken] = field(default_factory=list)
    children: list["XmlElement"] = field(default_factory=list)
    inner_end: int = 0
    end: int = 0

    @property
    def inner_start(self) -> int:
        return self.tag.end

    def child(self, name: str) -> "XmlElement | None":
        return next((child for child in self.children if child.name == name), None)

    def inherited_attribute(self, attribute: str) -> str | None:
        """The attribute of the element or of the nearest one around it that has it."""
        holder: XmlElement | None = self
        while holder is not None and attribute not in holder.attributes:
            holder = holder.parent
        return None if holder is None else holder.attributes[attribute]


def check_xml(text: str, name: str) -> None:
    """Refuses what is not well-formed, and entities of its own: text that grows when it is read."""

    def refuse(*_: object) -> None:
        line = parser.CurrentLineNumber
        raise DataError(f"{name} line {line} declares an entity; write the text itself in its place")

    parser = expat.ParserCreate("utf-8")
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        raise DataError(
            f"{name} line {error.lineno} is not sound XML: {expat.ErrorString(error.code)}"
        ) from None


def parse_elements(text: str, names: Collection[str], leaves: Collection[str]) -> Iterator[XmlElement]:
    """The outermost elements of these names with the others inside them; `leaves` keep their content.

    Names are without their prefix; elements of other names count as if their tags were not there.
    """
    open_elements: list[XmlElement] = []
    for part in scan_markup(text, html=False):
        leaf = open_elements and open_elements[-1].name in leaves
        name = part.name.rpartition(":")[2]
        if leaf and not (part.kind == "end" and part.name == open_elements[-1].tag.name):
            open_elements[-1].content.append(part)
        elif part.kind in ("start", "empty") and name in names:
            parent = open_elements[-1] if open_elements else None
            element = XmlElement(name, part, _attribute_values(text[part.start : part.end]), parent)
            element.inner_end = element.end = part.end
            if parent is not None:
                parent.children.append(element)
            if part.kind == "start":
                open_elements.append(element)
            elif parent is None:
                yield element
        elif part.kind == "end" and open_elements and part.name == open_elements[-1].tag.name:
            element = open_elements.pop()
            element.inner_end, element.end = part.start, part.end
            if not open_elements:
                yield element


def _attribute_values(tag: str) -> dict[str, str]:
    return {
        name.rpartition(":")[2]: unescape_entities(tag[start:end], xml=True)
        for name, (start, end) in attribute_spans(tag).items()
    }


def line_indent(text: str, position: int) -> str:
    """The line break and white space before a place, to begin a line in the same way."""
    start = position
    while start > 0 and text[start - 1] in " \t\r\n":
        start -= 1
    white = text[start:position]
    line = white.rfind("\n")
    return "" if line < 0 else white[line - white[:line].endswith("\r") :]


def prefixed_name(element: XmlElement, name: str) -> str:
    """Another name with the prefix of the element."""
    prefix, colon, _ = element.tag.name.rpartition(":")
    return f"{prefix}{colon}{name}"
