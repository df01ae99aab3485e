"""JSON files of messages (.json, .arb): i18next, vue-i18n, ARB, browser extensions, and plain mappings.

Positions are kept by a scanner of our own, which needs no recursion; only the strings that are messages are
written anew, escaped as the file escapes.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from regard.documents.localization.icu_message import read_message
from regard.documents.localization.keyed_message import (
    CHROME_PLACEHOLDER,
    KEYED_PLACEHOLDER,
)
from regard.documents.localization.keyed_values import (
    MAX_KEYED_DEPTH,
    KeyedValue,
    locale_root,
    message_values,
    reject_other_data,
)
from regard.documents.message_template import Message, MessageTemplate, Replacement
from regard.errors import DataError

TOKEN = re.compile(
    r'[ \t\r\n]*+(?:(?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*+")'
    r"|(?P<scalar>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null)|(?P<sign>[][{}:,]))"
)
SPACE_TO_END = re.compile(r"[ \t\r\n]*\Z")
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))")
ARB_LOCALE_KEY = "@@locale"


def read_json_messages(
    text: str, name: str, is_arb: bool = False, target_language: str | None = None, any_content: bool = False
) -> MessageTemplate:
    """Return the template of the messages in a JSON file.

    A file that is plainly something else is rejected, unless `any_content` is set. The language that an ARB
    file or the only key at the top names becomes `target_language`.
    """
    root = _JsonReader(text, name).read()
    locale = locale_root(root, name)
    arb_locale = root.member(ARB_LOCALE_KEY)
    is_arb = is_arb or arb_locale is not None
    if not (any_content or is_arb or locale):
        reject_other_data(root, name, "json")
    parts: list[Message | Replacement] = []
    if target_language is not None and arb_locale is not None:
        code = json.dumps(target_language.replace("-", "_"), ensure_ascii=False)
        parts.append(Replacement(arb_locale.start, arb_locale.end, code))
    if target_language is not None and locale is not None:
        parts.append(Replacement(*locale.key_span, json.dumps(target_language, ensure_ascii=False)))
    write = _string_writer(text)
    for value in message_values(root):
        in_entry = value.key == "message"
        placeholder = CHROME_PLACEHOLDER if in_entry else KEYED_PLACEHOLDER
        content = read_message(value.text or "", placeholder, is_icu=is_arb and "'{" in (value.text or ""))
        if content is not None:
            parts.append(Message(value.start, value.end, content, write))
    return MessageTemplate(text, sorted(parts, key=lambda part: part.start))


@dataclass(frozen=True)
class _JsonToken:
    kind: str
    raw: str
    start: int
    end: int


class _JsonReader:
    """Reads a JSON text into values with positions."""

    def __init__(self, text: str, name: str) -> None:
        self._text, self._name = text, name

    def read(self) -> KeyedValue:
        """Return the value of the text."""
        tokens = self._tokens()
        root: KeyedValue | None = None
        open_values: list[KeyedValue] = []
        token = next(tokens)
        while root is None or open_values:
            key, key_span = "", (0, 0)
            container = open_values[-1] if open_values else None
            if container is not None and token.raw == ("}" if container.is_mapping else "]"):
                raise self._error(token, "a key" if container.is_mapping else "a value")  # after a comma
            if container is not None and container.is_mapping:
                key, key_span = self._string(token, "a key between double quotes"), (token.start, token.end)
                self._expect(next(tokens), ":")
                token = next(tokens)
            value = self._value(token, container.key if container and not container.is_mapping else key)
            value.key_span = key_span
            root = root or value
            if container is not None and container.members is not None:
                container.members.append(value)
            token = next(tokens)
            if value.members is not None:
                open_values.append(value)
                if len(open_values) > MAX_KEYED_DEPTH:
                    raise DataError(f"{self._at(token)} is nested more than {MAX_KEYED_DEPTH} levels deep")
                if token.raw != ("}" if value.is_mapping else "]"):
                    continue
            token = self._close(tokens, token, open_values)
        if token.kind != "end":
            raise self._error(token, "the end of the file")
        return root

    def _close(
        self, tokens: "Iterator[_JsonToken]", token: _JsonToken, open_values: list[KeyedValue]
    ) -> _JsonToken:
        """Close the values that end here; return the first token of the next value or member."""
        while open_values:
            container = open_values[-1]
            if token.raw == ",":
                return next(tokens)
            self._expect(token, "}" if container.is_mapping else "]")
            container.end = token.end
            open_values.pop()
            token = next(tokens)
        return token

    def _value(self, token: _JsonToken, key: str) -> KeyedValue:
        if token.kind == "string":
            return KeyedValue(key, token.start, token.end, self._string(token, "a string"))
        if token.raw in ("{", "["):
            return KeyedValue(key, token.start, token.end, members=[], is_mapping=token.raw == "{")
        if token.kind != "scalar":
            raise self._error(token, "a value")
        return KeyedValue(key, token.start, token.end)

    def _string(self, token: _JsonToken, expected: str) -> str:
        if token.kind != "string":
            raise self._error(token, expected)
        text = json.loads(token.raw) if "\\" in token.raw else token.raw[1:-1]
        if LONE_SURROGATE.search(text):
            raise DataError(f"{self._at(token)} has half of a surrogate pair (\\ud800 to \\udfff)")
        return text

    def _expect(self, token: _JsonToken, sign: str) -> None:
        if token.raw != sign:
            raise self._error(token, sign if sign in ":" else f", or {sign}")

    def _tokens(self) -> Iterator[_JsonToken]:
        at = 0
        while match := TOKEN.match(self._text, at):
            kind = match.lastgroup or ""
            yield _JsonToken(kind, match[kind], match.start(kind), match.end())
            at = match.end()
        at += len(self._text[at:]) - len(self._text[at:].lstrip(" \t\r\n"))
        kind = "end" if at == len(self._text) else "invalid"
        end = _JsonToken(kind, self._text[at : at + 1], at, at)
        while True:
            yield end

    def _at(self, token: _JsonToken) -> str:
        return f"{self._name} line {self._text.count(chr(10), 0, token.start) + 1}"

    def _error(self, token: _JsonToken, expected: str) -> DataError:
        if token.raw == "/":
            return DataError(f"{self._at(token)} has a comment, which JSON does not allow; remove it")
        found = "the file ends" if token.kind == "end" else f"found {token.raw[:20]!r}"
        return DataError(f"{self._at(token)} is not valid JSON: expected {expected}, {found}")


def _string_writer(document: str) -> Callable[[str], str]:
    """Return a writer of strings that escapes what the document escapes wherever it occurs."""
    escapes: dict[str, str] = {}
    for match in ESCAPE.finditer(document):
        letter = chr(int(match[1], 16)) if match[1] else match[2]
        if letter in "/<>&'=\u2028\u2029" or letter >= "\x7f":
            escapes.setdefault(letter, match[0])
    ascii_only = document.isascii() and any(letter > "\x7f" for letter in escapes)
    unescaped = ESCAPE.sub("", document)
    table = {ord(letter): raw for letter, raw in escapes.items() if letter not in unescaped}
    upper = re.search(r"\\u[0-9a-f]*[A-F]", document) is not None

    def write(message: str) -> str:
        raw = json.dumps(message, ensure_ascii=False).translate(table)
        if ascii_only:
            raw = "".join(letter if letter.isascii() else _escape_letter(letter, upper) for letter in raw)
        return raw

    return write


def _escape_letter(letter: str, upper: bool) -> str:
    raw = json.dumps(letter)[1:-1]
    return re.sub(r"(?<=\\u)[0-9a-f]{4}", lambda match: match[0].upper(), raw) if upper else raw
