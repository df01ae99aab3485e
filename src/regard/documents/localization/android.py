"""Android string resources (.xml with <resources>): strings, string arrays and plural forms."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from regard.documents.localization.message import mark_message_codes
from regard.documents.localization.string_resources import message_span
from regard.documents.localization.xml_tree import XmlElement, check_xml, outermost_name, parse_document
from regard.documents.localization.xml_units import CDATA, element_end
from regard.documents.segments import InlineFragment, InlineKind
from regard.documents.template import Slot, SlotSpan, SlotWriter, Template, build_template
from regard.documents.web.entities import EntityEscaper, resolve_entity, unescape_entities
from regard.documents.web.html_tokens import MarkupToken
from regard.errors import DataError

ITEM_LISTS = ("string-array", "plurals")
RESOURCE_ELEMENTS = (*ITEM_LISTS, "string", "item", "array", "integer-array", "style")
REFERENCE = re.compile(r"\s*(?:@(?:null|empty|[+*]?(?:[\w.]+:)?[\w.]+/[\w.:-]+)|\?(?:[\w.]+:)?[\w./]+)\s*")
"""A reference to another resource or a theme attribute: @string/name, ?attr/name."""
ENTITY_SPELLING = r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);"
CDATA_ESCAPE = re.compile(r'\\(?:u[0-9a-fA-F]{4}|.)|"', re.DOTALL)
TEXT_ESCAPE = re.compile(rf'\\(?:u[0-9a-fA-F]{{4}}|{ENTITY_SPELLING}|.)|"|{ENTITY_SPELLING}', re.DOTALL)
ESCAPED_LETTERS = {"n": "\n", "t": "\t"}
QUOTES = ('"', "&quot;", "&#34;", "&#x22;")
"""Spellings of the quote that keeps white space; it is not part of the text."""
UNSAFE_START = re.compile(r"\A(\s*)(?=[@?])")
"""The start of a text that Android would read as a reference."""


def read_android(text: str, name: str) -> Template:
    """Return the template of all strings, items of string arrays and plural forms."""
    check_xml(text, name)
    if (root_name := outermost_name(text)) != "resources":
        raise DataError(
            f"{name} has the root element <{root_name}>; of .xml, Android string resources (<resources>) are "
            "supported; name another format: --format html, xliff, tmx, resx or stringsdict"
        )
    root = parse_document(text, name, "resources", "Android resources", RESOURCE_ELEMENTS, ("string", "item"))
    escaper, spell = EntityEscaper(text, xml=True), _escape_writer(text)
    spans = (_string_span(text, element, escaper, spell) for element in _translated_strings(root))
    return build_template(text, [span for span in spans if span is not None])


def _translated_strings(root: XmlElement) -> Iterator[XmlElement]:
    for child in root.children:
        if child.attributes.get("translatable") == "false":
            continue
        if child.name == "string" or (child.name == "item" and child.attributes.get("type") == "string"):
            yield child
        elif child.name in ITEM_LISTS:
            yield from (item for item in child.children if item.name == "item")


def _string_span(
    text: str, element: XmlElement, escaper: EntityEscaper, spell: SlotWriter
) -> SlotSpan | None:
    content = text[element.inner_start : element.inner_end]
    if REFERENCE.fullmatch(content):
        return None
    fragments = _mark_quotes(mark_message_codes(_string_fragments(text, element.content)))
    span = message_span(text, element, fragments, escaper, spell)
    if span is None:
        return None
    slot = span.slot
    assert isinstance(slot, Slot)

    def write(translation: str) -> str:
        written = slot.write(translation)
        return written if written == content else UNSAFE_START.sub(r"\1\\", written)

    return replace(span, slot=replace(slot, write=write))


def _string_fragments(document: str, tokens: Sequence[MarkupToken]) -> Iterator[InlineFragment]:
    """Yield the fragments of a string: text with its escapes, tags, and <xliff:g>, which stays as it is."""
    at = 0
    while at < len(tokens):
        token, after = tokens[at], at + 1
        raw = document[token.start : token.end]
        match token.kind:
            case "text":
                yield from _split_escapes(raw, TEXT_ESCAPE)
            case "other" if raw.startswith(CDATA[0]):
                yield InlineFragment(InlineKind.STANDALONE, CDATA[0])
                yield from _split_escapes(raw[len(CDATA[0]) : -len(CDATA[1])], CDATA_ESCAPE)
                yield InlineFragment(InlineKind.STANDALONE, CDATA[1])
            case "start" if token.name.endswith(":g"):
                after = element_end(tokens, at)
                inner = document[token.end : tokens[after - 1].start]
                text = unescape_entities(re.sub(r"<[^>]*>", "", inner), xml=True)
                yield InlineFragment(
                    InlineKind.PROTECTED, document[token.start : tokens[after - 1].end], text
                )
            case "start":
                yield InlineFragment(InlineKind.OPEN, raw)
            case "end":
                yield InlineFragment(InlineKind.CLOSE, raw)
            case _:
                yield InlineFragment(InlineKind.STANDALONE, raw)
        at = after


def _split_escapes(raw: str, escape: re.Pattern[str]) -> Iterator[InlineFragment]:
    """Split text at its escapes and entities, each of which becomes a fragment."""
    done = 0
    for match in escape.finditer(raw):
        yield InlineFragment(InlineKind.TEXT, raw[done : match.start()], raw[done : match.start()])
        letter = _unescape(match[0])
        yield (
            InlineFragment(InlineKind.STANDALONE, match[0])
            if letter is None
            else InlineFragment(InlineKind.TEXT, match[0], letter)
        )
        done = match.end()
    yield InlineFragment(InlineKind.TEXT, raw[done:], raw[done:])


def _unescape(escape: str) -> str | None:
    """Return the character of an escape or entity; None if it is unknown."""
    if escape.startswith("&"):
        return resolve_entity(escape, xml=True)
    if not escape.startswith("\\"):
        return escape
    letter = escape[1:]
    if len(letter) == 5 and letter[0] == "u":
        character = chr(int(letter[1:], 16))
        return None if "\ud800" <= character <= "\udfff" else character  # half of a character
    return resolve_entity(letter, xml=True) if letter[0] == "&" else ESCAPED_LETTERS.get(letter, letter)


def _mark_quotes(fragments: Iterable[InlineFragment]) -> Iterator[InlineFragment]:
    """Turn quotes that are not part of the text into codes, alternately opening and closing."""
    kind, other = InlineKind.OPEN, InlineKind.CLOSE
    for fragment in fragments:
        if fragment.kind is InlineKind.TEXT and fragment.raw in QUOTES:
            yield InlineFragment(kind, fragment.raw)
            kind, other = other, kind
        else:
            yield fragment


def _escape_writer(document: str) -> SlotWriter:
    """Return a writer of text with Android's escapes; \\u2026 is written as in the document."""
    escapes: dict[str, str] = {}
    for escape in dict.fromkeys(re.findall(r"\\(?:u[0-9a-fA-F]{4}|.)", document)):
        letter = _unescape(escape) if len(escape) == 6 else None
        if letter is not None and not letter.isspace() and not letter.isascii():
            escapes.setdefault(letter, escape)
    table = str.maketrans(escapes | {"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n", "\t": "\\t"})
    return lambda text: text.translate(table)
