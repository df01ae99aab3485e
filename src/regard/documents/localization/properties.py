"""Java .properties files: each value is a message, written back in the escapes of the file."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.documents.localization.icu_message import QUOTED, read_message
from regard.documents.localization.keyed_message import (
    MOZILLA_PLURAL_BREAK,
    PARAGRAPH_OR_PLURAL_BREAK,
    PROPERTIES_PLACEHOLDER,
)
from regard.documents.localization.keyed_values import is_code
from regard.documents.message_template import Message, MessageTemplate
from regard.documents.template import SlotWriter
from regard.errors import DataError

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
KEY = re.compile(r"[ \t\f]*(?:[^\\=: \t\f\r\n]|\\(?:\r\n|[\s\S]))*+(?:[ \t\f]*[=:])?[ \t\f]*")
ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(?:\r\n|\r|\n)[ \t\f]*|([\s\S])|\Z)")
ESCAPED_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
CHARACTER_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f"}
SEPARATORS = ":=#!"
"""Characters that some tools escape in values as well."""
NUMBERED_ARGUMENT = re.compile(r"\{\d+\s*[,}]")
CONTINUATION = re.compile(r"\\(\r\n|\r|\n)([ \t\f]*)")


@dataclass(frozen=True)
class _Property:
    """The value of a property: its position, spelling and text."""

    start: int
    end: int
    raw: str
    text: str


def read_properties(text: str, name: str, is_latin1: bool) -> MessageTemplate:
    """Return the template of the values that are texts; a file in ASCII or Latin-1 stays so, by escapes."""
    properties = list(_properties(text, name))
    apostrophes = _ApostropheRule(properties)
    highest = "\x7e" if text.isascii() else "\xff" if is_latin1 else "\U0010ffff"
    writer = _ValueWriter(properties, highest)
    messages: list[Message] = []
    for value in properties:
        if is_code(value.text):
            continue
        is_plural = "#1" in value.text and ";" in value.text
        content = read_message(
            value.text,
            PROPERTIES_PLACEHOLDER,
            MOZILLA_PLURAL_BREAK if is_plural else PARAGRAPH_OR_PLURAL_BREAK,
            double_apostrophes=apostrophes.applies(value.text),
        )
        if content is not None:
            messages.append(Message(value.start, value.end, content, writer.writer_for(value)))
    return MessageTemplate(text, messages)


def _properties(text: str, name: str) -> Iterator[_Property]:
    at = 0
    while at < len(text):
        line = LINE.match(text, at)
        content = line[0].strip(" \t\f\r\n") if line else ""
        if line is None or not content or content[0] in "#!":
            at = line.end() if line else len(text)
            continue
        key = KEY.match(text, at)
        start = at = key.end() if key else at
        end = at
        while line := LINE.match(text, at):  # lines that end with an odd number of backslashes continue
            content = line[0].rstrip("\r\n")
            end, at = at + len(content), line.end()
            if (len(content) - len(content.rstrip("\\"))) % 2 == 0 or at >= len(text):
                break
        raw = text[start:end]
        try:
            value = ESCAPE.sub(_unescape, raw).encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            line_number = len(re.findall(r"\r\n|\r|\n", text[:start])) + 1
            raise DataError(
                f"{name} line {line_number} has half of a surrogate pair (\\ud800 to \\udfff)"
            ) from None
        yield _Property(start, end, raw, value)


def _unescape(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return ESCAPED_CHARACTERS.get(match[2], match[2]) if match[2] else ""


class _ApostropheRule:
    """Decides which values Java's MessageFormat reads: there an apostrophe must be doubled.

    Those are the values with {0}, unless one of them in the file has a single apostrophe, and the values
    whose own apostrophes are doubled. Values without {0} follow the others in the file.
    """

    def __init__(self, properties: Sequence[_Property]) -> None:
        texts = [value.text for value in properties]
        with_arguments = [text for text in texts if NUMBERED_ARGUMENT.search(text)]
        without = [text for text in texts if not NUMBERED_ARGUMENT.search(text)]
        self._with_arguments = not any(map(_has_single_apostrophe, with_arguments))
        doubled = sum("''" in text for text in without)
        self._without_arguments = doubled > 0 and not any(map(_has_single_apostrophe, without))

    def applies(self, text: str) -> bool:
        if _has_single_apostrophe(text):
            return False
        if "''" in text:
            return True
        return self._with_arguments if NUMBERED_ARGUMENT.search(text) else self._without_arguments


def _has_single_apostrophe(text: str) -> bool:
    return "'" in QUOTED.sub("", text)


class _ValueWriter:
    """Spells values: escaped like the others in the file, and over several lines where the source is."""

    def __init__(self, properties: Sequence[_Property], highest: str) -> None:
        raw = "".join(value.raw for value in properties)
        unescaped = ESCAPE.sub("", raw)
        self._escapes = str.maketrans(
            CHARACTER_ESCAPES
            | {sign: f"\\{sign}" for sign in SEPARATORS if f"\\{sign}" in raw and sign not in unescaped}
        )
        self._highest = highest
        self._hexadecimal = "04X" if re.search(r"\\u[0-9a-f]*[A-F]", raw) else "04x"

    def writer_for(self, value: _Property) -> SlotWriter:
        """Return the writer of one value."""
        breaks = CONTINUATION.findall(value.raw)
        if not breaks:
            return self._escape
        newline, indent = breaks[-1]
        width = max(map(len, CONTINUATION.sub("\n", value.raw).splitlines()), default=0)
        return lambda message: f"\\{newline}{indent}".join(_wrap(self._escape(message), width))

    def _escape(self, message: str) -> str:
        raw = message.translate(self._escapes)
        raw = "".join(letter if letter <= self._highest else self._unicode_escape(letter) for letter in raw)
        return f"\\{raw}" if raw.startswith(" ") else raw

    def _unicode_escape(self, letter: str) -> str:
        units = letter.encode("utf-16-be")
        return "".join(
            f"\\u{int.from_bytes(units[at : at + 2]):{self._hexadecimal}}" for at in range(0, len(units), 2)
        )


def _wrap(raw: str, width: int) -> Iterator[str]:
    """Yield the lines of a value; none starts with white space, which a continued line would lose."""
    line = ""
    for word in re.findall(r"(?:[^\s\\]|\\[^n])*(?:\\n)?\s*", raw):
        if line and (len(line) + len(word.rstrip()) > width):
            yield line
            line = ""
        line += word
    yield line
