"""XML elements with their positions in the document, after expat has checked that it is well-formed."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from regard.documents.web.entities import unescape_entities
from regard.documents.web.html_tokens import MarkupToken, attribute_spans, scan_markup
from regard.errors import DataError
from regard.text.xml_parser import create_xml_parser, xml_syntax_error


@dataclass
class XmlElement:
    """An element: the positions of its tags and content, and its child elements."""

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


def check_xml(text: str, name: str) -> None:
    """Reject XML that is not well-formed or declares entities, which can expand without limit."""
    try:
        create_xml_parser(name, "utf-8").Parse(text.encode(), True)
    except expat.ExpatError as error:
        raise xml_syntax_error(name, error) from None


def parse_document(
    text: str, name: str, root: str, format_name: str, names: Collection[str], leaves: Collection[str]
) -> XmlElement:
    """Return the outermost element, which must be named `root`, with its descendants of these names."""
    check_xml(text, name)
    elements = list(parse_elements(text, (root, *names), leaves))
    if [element.name for element in elements] != [root]:
        raise DataError(f"{name} is XML, but not {format_name}; its outermost element must be <{root}>")
    return elements[0]


def outermost_name(text: str) -> str:
    """Return the name of the outermost element, with its prefix; "" if there is none."""
    return next((token.name for token in scan_markup(text, html=False) if token.name), "")


def parse_elements(text: str, names: Collection[str], leaves: Collection[str]) -> Iterator[XmlElement]:
    """Yield the outermost elements of these names with their descendants; `leaves` record their tokens.

    Names have no namespace prefix; the tags of all other elements are skipped.
    """
    open_elements: list[XmlElement] = []
    for token in scan_markup(text, html=False):
        leaf = open_elements and open_elements[-1].name in leaves
        name = token.name.rpartition(":")[2]
        if leaf and not (token.kind == "end" and token.name == open_elements[-1].tag.name):
            open_elements[-1].content.append(token)
        elif token.kind in ("start", "empty") and name in names:
            parent = open_elements[-1] if open_elements else None
            element = XmlElement(name, token, _attribute_values(text[token.start : token.end]), parent)
            element.inner_end = element.end = token.end
            if parent is not None:
                parent.children.append(element)
            if token.kind == "start":
                open_elements.append(element)
            elif parent is None:
                yield element
        elif token.kind == "end" and open_elements and token.name == open_elements[-1].tag.name:
            element = open_elements.pop()
            element.inner_end, element.end = token.start, token.end
            if not open_elements:
                yield element


def _attribute_values(tag: str) -> dict[str, str]:
    return {
        name.rpartition(":")[2]: unescape_entities(tag[start:end], xml=True)
        for name, (start, end) in attribute_spans(tag).items()
    }


def line_indent(text: str, position: int) -> str:
    """Return the line break and indentation before a position; "" if it does not start a line."""
    start = position
    while start > 0 and text[start - 1] in " \t\r\n":
        start -= 1
    white = text[start:position]
    line = white.rfind("\n")
    return "" if line < 0 else white[line - white[:line].endswith("\r") :]


def prefixed_name(element: XmlElement, name: str) -> str:
    """Return a name with the namespace prefix of the element."""
    prefix, colon, _ = element.tag.name.rpartition(":")
    return f"{prefix}{colon}{name}"
