"""Documents of lines: plain text, tables, and a JSON object on each line."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from regard.errors import DataError
from regard.text.documents.template import Slot, Template, cut, one_line, plain_span

NEW = "translation"
"""The column or field of a translation."""


def read_txt(text: str) -> Template:
    """Each line that is not blank is a text."""
    spans = (plain_span(text, start, end) for start, end in _lines(text))
    return cut(text, [span for span in spans if span is not None])


def read_tsv(text: str, name: str, column: str | None) -> Template:
    """A column is the text, and the translation becomes a new last one: what was there stays.

    `column` is its number, from 1, or its name: then the first line holds the names of the columns.
    """
    lines = [(number, start, end) for number, (start, end) in enumerate(_lines(text), 1) if start < end]
    at, titled = _column(text[lines[0][1] : lines[0][2]] if lines else "", name, column)
    parts: list[str | Slot] = []
    done = 0
    for number, start, end in lines:
        cells = text[start:end].split("\t")
        if len(cells) <= at:
            raise DataError(f"{name} line {number} has {len(cells)} columns, and none with number {at + 1}")
        words = cells[at].strip()
        cell: str | Slot = Slot(words, one_line) if words else ""
        parts += [text[done:end], "\t", NEW if titled and number == lines[0][0] else cell]
        done = end
    return Template([*parts, text[done:]])


def _column(first: str, name: str, column: str | None) -> tuple[int, bool]:
    """Which cell of a row is the text, and whether the first row is names."""
    if column is None:
        return 0, False
    if column.isdecimal() and int(column) > 0:
        return int(column) - 1, False
    titles = [title.strip() for title in first.split("\t")]
    if column not in titles:
        raise DataError(f"{name} has no column {column!r}; it has {', '.join(map(repr, titles))}")
    return titles.index(column), True


def read_jsonl(text: str, name: str, field: str | None, overwrite: bool) -> Template:
    """A field is the text ("text", or else "source"), and the translation becomes another."""
    fields = ("text", "source") if field is None else (field,)
    parts: list[str | Slot] = []
    done = 0
    for number, (start, end) in enumerate(_lines(text), 1):
        line = text[start:end]
        if not line.strip():
            continue
        document = _document(line, name, number)
        words = next((document[key] for key in fields if key in document), None)
        if not isinstance(words, str):
            wanted = " or ".join(map(json.dumps, fields))
            raise DataError(f"{name} line {number} has no text in {wanted}; say which field holds it")
        if words.strip() and (overwrite or NEW not in document):
            parts += [text[done:start], Slot(words.strip(), _with_translation(line, document))]
            done = end
    return Template([*parts, text[done:]])


def _document(line: str, name: str, number: int) -> dict[str, Any]:
    try:
        document = json.loads(line)
        json.dumps(document, ensure_ascii=False).encode()  # half a character can be written in JSON only
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} line {number} is not sound JSON: {error}") from None
    if not isinstance(document, dict):
        raise DataError(f"{name} line {number} is not a JSON object; each line must be one")
    return document


def _with_translation(line: str, document: dict[str, Any]) -> Callable[[str], str]:
    """Writes the line as it was, with one more field at its end, in the line's own style."""
    colon, comma = (": ", ", ") if re.search(r'":\s', line) else (":", ",")
    ascii_only = line.isascii() and "\\u" in line

    def write(translation: str) -> str:
        if NEW in document:
            changed = document | {NEW: translation}
            return json.dumps(changed, ensure_ascii=ascii_only, separators=(comma, colon))
        closing = line.rindex("}")
        body = line[:closing].rstrip()
        value = json.dumps(translation, ensure_ascii=ascii_only)
        return f"{body}{comma}{json.dumps(NEW)}{colon}{value}{line[len(body) :]}"

    return write


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Where each line starts and ends, without the newline and the carriage return before it."""
    start = 0
    while start < len(text):
        newline = text.find("\n", start)
        end = len(text) if newline < 0 else newline
        yield start, end - (end > start and text[end - 1] == "\r" and newline >= 0)
        start = end + 1
