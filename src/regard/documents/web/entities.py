"""HTML and XML entities: unescaping them, and escaping text as the document does."""

import html
import re
from collections.abc import Iterator
from html.entities import html5

from regard.documents.segments import InlineFragment, InlineKind

ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")
UNTERMINATED_NAMES = "|".join(name for name in html5 if not name.endswith(";"))
"""HTML names that are valid without a semicolon; none is a prefix of another."""
TERMINATED_ENTITY = r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[A-Za-z][A-Za-z0-9]*;"
HTML_TEXT_ENTITY = re.compile(f"{TERMINATED_ENTITY}|(?:{UNTERMINATED_NAMES}))")
HTML_ATTRIBUTE_ENTITY = re.compile(f"{TERMINATED_ENTITY}|(?:{UNTERMINATED_NAMES})(?![=A-Za-z0-9]))")
"""In an attribute such a name may be part of a URL: `?a=1&copy=2`."""
MAX_NUMERIC_LENGTH = 32
XML_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}


def split_entities(raw: str, xml: bool) -> Iterator[InlineFragment]:
    """Split text at its entities: each entity becomes a fragment.

    An unknown entity is not text; it becomes an inline code, like a tag.
    """
    done = 0
    for match in (ENTITY if xml else HTML_TEXT_ENTITY).finditer(raw):
        if done < match.start():
            yield InlineFragment(InlineKind.TEXT, raw[done : match.start()], raw[done : match.start()])
        letter = resolve_entity(match[0], xml)
        yield (
            InlineFragment(InlineKind.STANDALONE, match[0])
            if letter is None
            else InlineFragment(InlineKind.TEXT, match[0], letter)
        )
        done = match.end()
    if done < len(raw):
        yield InlineFragment(InlineKind.TEXT, raw[done:], raw[done:])


def resolve_entity(entity: str, xml: bool) -> str | None:
    """Return the character of an entity; None if it is unknown."""
    if xml and entity[1] != "#":
        return XML_ENTITIES.get(entity)
    if len(entity) > MAX_NUMERIC_LENGTH and entity[1] == "#":  # beyond the range of Unicode
        return None
    character = html.unescape(entity)
    return None if character in ("", entity) else character


def unescape_entities(raw: str, xml: bool, entity: re.Pattern[str] = ENTITY) -> str:
    """Replace the known entities of a text."""
    return entity.sub(lambda match: resolve_entity(match[0], xml) or match[0], raw)


class EntityEscaper:
    """Escapes text as a document does: a character that it writes as an entity becomes that entity."""

    def __init__(self, document: str, xml: bool) -> None:
        escapes = {"<": "&lt;", "&": "&amp;"}
        for entity in dict.fromkeys((ENTITY if xml else HTML_ATTRIBUTE_ENTITY).findall(document)):
            letter = resolve_entity(entity, xml)
            if letter is not None and len(letter) == 1 and not letter.isspace():
                escapes.setdefault(letter, entity if entity.endswith(";") else f"{entity};")
        self._table = str.maketrans(escapes)

    def __call__(self, text: str) -> str:
        """Escape text between tags."""
        return text.translate(self._table).replace("]]>", "]]&gt;")

    def escape_attribute(self, text: str, quote: str) -> str:
        """Escape an attribute value in these quotes."""
        return self(text).replace(quote, "&quot;" if quote == '"' else "&#39;")
