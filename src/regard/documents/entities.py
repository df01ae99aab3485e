"""Characters that markup spells with names or numbers, and spelling them so again."""

import html
import re
from collections.abc import Iterator
from html.entities import html5

from regard.documents.segments import InlineFragment, InlineKind

ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")
UNTERMINATED_NAMES = "|".join(name for name in html5 if not name.endswith(";"))
"""Names that pages may write without a semicolon; none of them begins another."""
TERMINATED_ENTITY = r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[A-Za-z][A-Za-z0-9]*;"
HTML_TEXT_ENTITY = re.compile(f"{TERMINATED_ENTITY}|(?:{UNTERMINATED_NAMES}))")
HTML_ATTRIBUTE_ENTITY = re.compile(f"{TERMINATED_ENTITY}|(?:{UNTERMINATED_NAMES})(?![=A-Za-z0-9]))")
"""In an attribute it may be part of an address: `?a=1&copy=2`."""
MAX_NUMERIC_LENGTH = 32
XML_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}


def split_entities(raw: str, xml: bool) -> Iterator[InlineFragment]:
    """A stretch of text as the document spells it: what is plain, and each entity by itself.

    An entity that nobody knows is no text: it is kept as a tag is.
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
    """What an entity stands for; None if nobody knows."""
    if xml and entity[1] != "#":
        return XML_ENTITIES.get(entity)
    if len(entity) > MAX_NUMERIC_LENGTH and entity[1] == "#":  # no character has so high a number
        return None
    found = html.unescape(entity)
    return None if found in ("", entity) else found


def unescape_entities(raw: str, xml: bool, entity: re.Pattern[str] = ENTITY) -> str:
    """The text of a value in which entities may occur."""
    return entity.sub(lambda match: resolve_entity(match[0], xml) or match[0], raw)


class EntityEscaper:
    """Spells text as this document does: a letter that it wrote as an entity is written so again."""

    def __init__(self, document: str, xml: bool) -> None:
        found = {"<": "&lt;", "&": "&amp;"}
        for entity in dict.fromkeys((ENTITY if xml else HTML_ATTRIBUTE_ENTITY).findall(document)):
            letter = resolve_entity(entity, xml)
            if letter is not None and len(letter) == 1 and not letter.isspace():
                found.setdefault(letter, entity if entity.endswith(";") else f"{entity};")
        self._table = str.maketrans(found)

    def __call__(self, text: str) -> str:
        """Text between tags."""
        return text.translate(self._table).replace("]]>", "]]&gt;")

    def escape_attribute(self, text: str, quote: str) -> str:
        """The value of an attribute in such quotes."""
        return self(text).replace(quote, "&quot;" if quote == '"' else "&#39;")
