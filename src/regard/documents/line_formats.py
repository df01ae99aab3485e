"""Documents of lines: plain text, tables, and a JSON object on each line."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from regard.documents.template import Slot, Template, build_template, plain_text_span, to_single_line
from regard.errors import DataError

TRANSLATION_FIELD = "translation"
"""The column or field of a translation."""
JSON_DECODER = json.JSONDecoder()
JSON_WHITESPACE = re.compile(r"[ \t\r\n]*")


def read_txt(text: str) -> Template:
    """Each line that is not blank is a text."""
    spans = (plain_text_span(text, start, end) for start, end in _line_spans(text))
    return build_template(text, [span for span in spans if span is not None])


def read_tsv(text: str, name: str, column: str | None, overwrite: bool = False) -> Template:
    """A column is the text, and the translation becomes a new last one: what was there stays.

    `column` is its number, from 1, or its name: then the first line holds the names of the columns. Where
    one of them is "translation", it is filled in place: cells that have one are left alone, unless
    `overwrite` asks for them. A row with fewer cells than others gets empty ones, so that all translations
    stand below each other.
    """
    lines = [(number, start, end) for number, (start, end) in enumerate(_line_spans(text), 1) if start < end]
    first = text[lines[0][1] : lines[0][2]] if lines else ""
    at, titled = _text_column(first, name, column)
    titles = _column_names(first) if titled else []
    filled = TRANSLATION_FIELD in titles and column != TRANSLATION_FIELD
    widest = max((text.count("\t", start, end) + 1 for _, start, end in lines), default=0)
    into = titles.index(TRANSLATION_FIELD) if filled else widest
    parts: list[str | Slot] = []
    done = 0
    for number, start, end in lines:
        cells = text[start:end].split("\t")
        if len(cells) <= at:
            raise DataError(f"{name} line {number} has {len(cells)} columns, and none with number {at + 1}")
        title = titled and number == lines[0][0]
        words = cells[at].strip()
        if filled and (title or not words or (_has_cell(cells, into) and not overwrite)):
            continue
        cell: str | Slot = Slot(words, to_single_line) if words else ""
        before, after = _surrounding_cells(cells, into)
        parts += [text[done:start], before, TRANSLATION_FIELD if title else cell, after]
        done = end
    return Template([*parts, text[done:]])


def _has_cell(cells: list[str], at: int) -> bool:
    return at < len(cells) and bool(cells[at].strip())


def _surrounding_cells(cells: list[str], at: int) -> tuple[str, str]:
    """The row before its cell number `at` and after it; one that is too short reaches there."""
    before = cells[:at] + [""] * (at - len(cells))
    return "".join(f"{cell}\t" for cell in before), "".join(f"\t{cell}" for cell in cells[at + 1 :])


def _text_column(first: str, name: str, column: str | None) -> tuple[int, bool]:
    """Which cell of a row is the text, and whether the first row is names."""
    if column is None:
        return 0, False
    if column.isdecimal() and int(column) > 0:
        return int(column) - 1, False
    titles = _column_names(first)
    if column not in titles:
        raise DataError(f"{name} has no column {column!r}; it has {', '.join(map(repr, titles))}")
    return titles.index(column), True


def _column_names(first: str) -> list[str]:
    return [title.strip() for title in first.split("\t")]


def read_jsonl(text: str, name: str, field: str | None, overwrite: bool) -> Template:
    """A field is the text ("text", or else "source"), and the translation becomes another.

    One that is null or blank is no translation yet: it is filled in its place.
    """
    fields = ("text", "source") if field is None else (field,)
    parts: list[str | Slot] = []
    done = 0
    for number, (start, end) in enumerate(_line_spans(text), 1):
        line = text[start:end]
        if not line.strip():
            continue
        document = _parse_object(line, name, number)
        words = next((document[key] for key in fields if key in document), None)
        if not isinstance(words, str):
            wanted = " or ".join(map(json.dumps, fields))
            raise DataError(f"{name} line {number} has no text in {wanted}; say which field holds it")
        if words.strip() and (overwrite or _is_blank(document.get(TRANSLATION_FIELD))):
            parts += [text[done:start], Slot(words.strip(), _json_line_writer(line, document))]
            done = end
    return Template([*parts, text[done:]])


def _parse_object(line: str, name: str, number: int) -> dict[str, Any]:
    try:
        document = json.loads(line)
        json.dumps(document, ensure_ascii=False).encode()  # half a character can be written in JSON only
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} line {number} is not sound JSON: {error}") from None
    if not isinstance(document, dict):
        raise DataError(f"{name} line {number} is not a JSON object; each line must be one")
    return document


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _json_line_writer(line: str, document: dict[str, Any]) -> Callable[[str], str]:
    """Writes the line as it was but for one value; a new field is its last, in the line's own style."""
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
    """Where the value of a field of the object starts and ends: of the last field of that name, which is
    the one that readers take. Numbers are not written anew, as not every spelling survives that."""
    start = end = 0
    place = _skip_whitespace(line, line.index("{") + 1)
    while line[place] != "}":
        name, place = JSON_DECODER.raw_decode(line, place)
        first = _skip_whitespace(line, _skip_whitespace(line, place) + 1)  # behind the colon
        _, place = JSON_DECODER.raw_decode(line, first)
        if name == key:
            start, end = first, place
        place = _skip_whitespace(line, place)
        if line[place] == ",":
            place = _skip_whitespace(line, place + 1)
    return start, end


def _skip_whitespace(line: str, place: int) -> int:
    found = JSON_WHITESPACE.match(line, place)
    return found.end() if found else place


def _line_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each line starts and ends, without the newline and the carriage return before it."""
    start = 0
    while start < len(text):
        newline = text.find("\n", start)
        end = len(text) if newline < 0 else newline
        yield start, end - (end > start and text[end - 1] == "\r" and newline >= 0)
        start = end + 1
