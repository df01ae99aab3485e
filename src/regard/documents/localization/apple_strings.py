"""Apple .strings files: "key" = "value"; with comments; each value is a message."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from regard.documents.localization.icu_message import read_message
from regard.documents.localization.keyed_values import is_code
from regard.documents.message_template import Message, MessageTemplate
from regard.errors import DataError

BINARY_PROPERTY_LIST = b"bplist"
TOKEN = re.compile(
    r"(?P<space>\s++|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)"
    r'|(?P<string>"(?:[^"\\]|\\[\s\S])*+"|\'(?:[^\'\\]|\\[\s\S])*+\')'
    r"|(?P<word>[\w.$:/+-]++)|(?P<sign>[=;{}()<>])"
)
ESCAPE = re.compile(r"\\(?:[Uu]([0-9A-Fa-f]{1,4})|([0-7]{1,3})|([\s\S]))")
ESCAPED_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
CHARACTER_ESCAPES = {
    "\\": "\\\\",
    "\t": "\\t",
    "\r": "\\r",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
}


@dataclass(frozen=True)
class _StringsToken:
    kind: str
    raw: str
    start: int
    end: int


def read_apple_strings(text: str, name: str) -> MessageTemplate:
    """Return the template of the values that are texts."""
    if re.match(r"\s*<(?:\?xml|!DOCTYPE|plist)", text):
        raise DataError(
            f"{name} is an XML property list, not a .strings text; convert it: plutil -convert strings {name}"
        )
    ascii_only = text.isascii() and re.search(r"\\[Uu][0-9A-Fa-f]{4}", text) is not None
    messages: list[Message] = []
    for token in _values(text, name):
        value = _unescape(token, text, name)
        content = None if is_code(value) else read_message(value)
        if content is not None:
            quote = token.raw[0] if token.kind == "string" else '"'
            messages.append(
                Message(token.start, token.end, content, _StringWriter(quote, token.raw, ascii_only))
            )
    return MessageTemplate(text, messages)


def reject_binary_strings(content: bytes, name: str) -> None:
    """Reject a property list in binary form, which Xcode makes of .strings files when it builds."""
    if content.startswith(BINARY_PROPERTY_LIST):
        raise DataError(f"{name} is a binary property list; translate the .strings file it was built from")


@dataclass(frozen=True)
class _StringWriter:
    """Spells a value in the quotes of the source; line breaks stay raw where the source has them so."""

    quote: str
    source: str
    ascii_only: bool

    def __call__(self, message: str) -> str:
        raw = message.translate(str.maketrans(CHARACTER_ESCAPES)).replace(self.quote, f"\\{self.quote}")
        if "\n" not in self.source:
            raw = raw.replace("\n", "\\n")
        if self.ascii_only:
            raw = "".join(letter if letter.isascii() else _unicode_escape(letter) for letter in raw)
        return f"{self.quote}{raw}{self.quote}"


def _unicode_escape(letter: str) -> str:
    units = letter.encode("utf-16-be")
    return "".join(f"\\U{units[at : at + 2].hex().upper()}" for at in range(0, len(units), 2))


def _values(text: str, name: str) -> Iterator[_StringsToken]:
    """Yield the value of each pair; a key alone (key;) stands for itself and has none."""
    tokens = _tokens(text, name)
    token = next(tokens)
    braces = token.raw == "{"
    token = next(tokens) if braces else token
    while token.kind in ("string", "word"):
        token = next(tokens)
        if token.raw == "=":
            value = next(tokens)
            if value.kind not in ("string", "word"):
                raise _error(value, text, name, "a value; nested lists are not messages")
            yield value
            token = next(tokens)
        if token.raw != ";":
            raise _error(token, text, name, ";")
        token = next(tokens)
    if braces and token.raw == "}":
        token = next(tokens)
    if token.kind != "end":
        raise _error(token, text, name, "a key")


def _tokens(text: str, name: str) -> Iterator[_StringsToken]:
    at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            invalid = _StringsToken("invalid", text[at], at, at + 1)
            is_open = text[at] in "\"'"
            raise _error(invalid, text, name, "the end of a string" if is_open else '"key" = "value";')
        at = match.end()
        if match.lastgroup != "space":
            yield _StringsToken(match.lastgroup or "", match[0], match.start(), at)
    while True:
        yield _StringsToken("end", "", at, at)


def _unescape(token: _StringsToken, text: str, name: str) -> str:
    if token.kind == "word":
        return token.raw
    value = ESCAPE.sub(_unescaped_character, token.raw[1:-1])
    try:
        return value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise DataError(
            f"{name} line {_line(token, text)} has half of a surrogate pair (\\Ud800 to \\Udfff)"
        ) from None


def _unescaped_character(match: re.Match[str]) -> str:
    if match[1] or match[2]:
        return chr(int(match[1], 16) if match[1] else int(match[2], 8))
    return ESCAPED_CHARACTERS.get(match[3], match[3])


def _line(token: _StringsToken, text: str) -> int:
    return text.count("\n", 0, token.start) + 1


def _error(token: _StringsToken, text: str, name: str, expected: str) -> DataError:
    found = "the file ends" if token.kind == "end" else f"found {token.raw[:20]!r}"
    return DataError(f"{name} line {_line(token, text)}: expected {expected}, {found}")
