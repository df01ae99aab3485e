"""Readers of line-based formats: plain text and JSON lines."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from regard.documents.template import Slot, Template, build_template, plain_text_span
from regard.errors import DataError

TRANSLATION_FIELD = "translation"
"""The column or field that holds the translation."""
JSON_DECODER = json.JSONDecoder()
JSON_WHITESPACE = re.compile(r"[ \t\r\n]*")


def read_txt(text: str) -> Template:
    """Return the template of a plain text: each line that is not blank is a segment."""
    spans = (plain_text_span(text, start, end) for start, end in line_spans(text))
    return build_template(text, [span for span in spans if span is not None])


def read_jsonl(text: str, name: str, field: str | None, overwrite: bool) -> Template:
    """Return the template of JSON lines: one field is the text, "translation" is added or filled in.

    The text field is `field`, by default "text" or else "source". A translation that is null or blank is
    filled in place.
    """
    fields = ("text", "source") if field is None else (field,)
    parts: list[str | Slot] = []
    done = 0
    for number, (start, end) in enumerate(line_spans(text), 1):
        line = text[start:end]
        if not line.strip():
            continue
        document = _parse_object(line, name, number)
        words = next((document[key] for key in fields if key in document), None)
        if not isinstance(words, str):
            expected = " or ".join(map(json.dumps, fields))
            raise DataError(f"{name} line {number} has no text in {expected}; name the field with --column")
        if words.strip() and (overwrite or _is_blank(document.get(TRANSLATION_FIELD))):
            parts += [text[done:start], Slot(words.strip(), _json_line_writer(line, document))]
            done = end
    return Template([*parts, text[done:]])


def _parse_object(line: str, name: str, number: int) -> dict[str, Any]:
    try:
        document = json.loads(line)
        json.dumps(document, ensure_ascii=False).encode()  # a lone surrogate is valid in JSON only
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} line {number} is not valid JSON: {error}") from None
    if not isinstance(document, dict):
        raise DataError(f"{name} line {number} is not a JSON object; each line must be one")
    return document


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _json_line_writer(line: str, document: dict[str, Any]) -> Callable[[str], str]:
    """Return a writer that changes one value of the line; a new field comes last, in the line's style."""
    colon, comma = (": ", ", ") if re.search(r'":\s', line) else (":", ",")
    ascii_only = line.isascii() and "\\u" in line
    if TRANSLATION_FIELD in document:
        before, (start, end) = "", _value_span(line, TRANSLATION_FIELD)
    else:
        before = f"{comma}{json.dumps(TRANSLATION_FIELD)}{colon}"
        start = end = len(line[: line.rindex("}")].rstrip())

    def write(translation: str) -> str:
        if document.get(TRANSLATION_FIELD) == translation:
            return line
        value = json.dumps(translation, ensure_ascii=ascii_only)
        return f"{line[:start]}{before}{value}{line[end:]}"

    return write


def _value_span(line: str, key: str) -> tuple[int, int]:
    """Return the span of the value of a field; of the last one if the name is repeated, as parsers do.

    The line is edited in place because parsing and writing a number can change its spelling.
    """
    start = end = 0
    place = _skip_whitespace(line, line.index("{") + 1)
    while line[place] != "}":
        name, place = JSON_DECODER.raw_decode(line, place)
        first = _skip_whitespace(line, _skip_whitespace(line, place) + 1)  # after the colon
        _, place = JSON_DECODER.raw_decode(line, first)
        if name == key:
            start, end = first, place
        place = _skip_whitespace(line, place)
        if line[place] == ",":
            place = _skip_whitespace(line, place + 1)
    return start, end


def _skip_whitespace(line: str, place: int) -> int:
    whitespace = JSON_WHITESPACE.match(line, place)
    return whitespace.end() if whitespace else place


def line_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each line, without its newline or CRLF."""
    start = 0
    while start < len(text):
        newline = text.find("\n", start)
        end = len(text) if newline < 0 else newline
        yield start, end - (end > start and text[end - 1] == "\r" and newline >= 0)
        start = end + 1
