"""Readers of tables (.tsv, .csv): one column is the text, the translation is a column of its own."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from regard.documents.line_formats import TRANSLATION_FIELD, line_spans
from regard.documents.template import Slot, Template, to_single_line
from regard.errors import DataError

TEXT_COLUMNS = ("text", "source")
"""Names of the text column in the first row, which is then a header."""
DELIMITERS = ",;\t"
SNIFFED_ROWS, SNIFFED_CHARACTERS = 50, 2**16
"""The part of a .csv that shows its delimiter."""
SEPARATOR_LINE = re.compile(r'"?sep=([,;\t|])"?\r?\n', re.IGNORECASE)
"""The first line of a .csv in which spreadsheet programs name the delimiter."""
MAX_SHOWN_COLUMNS, MAX_SHOWN_NAME = 12, 24
"""Columns that an error lists, and characters of each."""


class _Row(NamedTuple):
    """A row: the number of its first line, its span without the line break, and its cells as spelled."""

    line: int
    start: int
    end: int
    cells: Sequence[str]


class _TableSyntax(NamedTuple):
    """How a kind of table spells its cells."""

    delimiter: str
    text_of: Callable[[str], str]
    """Maps the spelling of a cell to its text."""
    cell_like: Callable[[str, str], str]
    """Maps a text to the spelling of its cell, in the style of another cell."""


def read_tsv(text: str, name: str, column: str | None, overwrite: bool = False) -> Template:
    """Return the template of a tab-separated table.

    `column` is the number of the text column, from 1, or its name; with a name the first row is the header.
    The translation becomes a new last column. A column named "translation" is filled in place: cells with a
    translation stay unless `overwrite` is set. Shorter rows are padded with empty cells, so that all
    translations are in one column.
    """
    rows = [
        _Row(number, start, end, text[start:end].split("\t"))
        for number, (start, end) in enumerate(line_spans(text), 1)
        if start < end
    ]
    syntax = _TableSyntax("\t", lambda cell: cell, lambda words, _: to_single_line(words))
    return _table_template(text, name, rows, syntax, column, overwrite)


def read_csv(text: str, name: str, column: str | None, overwrite: bool = False) -> Template:
    """Return the template of a table with quoted cells, as `read_tsv` does; the delimiter is found in it."""
    separator = SEPARATOR_LINE.match(text)
    start = separator.end() if separator else 0
    delimiter = separator[1] if separator else _find_delimiter(text[:SNIFFED_CHARACTERS], name)
    rows = list(_csv_rows(text, name, delimiter, start))
    for row in rows:
        if any(cell.strip() for cell in row.cells[len(rows[0].cells) :]):
            raise DataError(
                f"{name} line {row.line} has {len(row.cells)} cells, and the first row {len(rows[0].cells)}; "
                f'write a cell that contains {delimiter!r} in quotes: "a{delimiter} b"'
            )
    syntax = _TableSyntax(
        delimiter, _unquote_cell, lambda words, like: _quote_cell(words, delimiter, '"' in like)
    )
    return _table_template(text, name, rows, syntax, column, overwrite)


def _table_template(
    text: str, name: str, rows: Sequence[_Row], syntax: _TableSyntax, column: str | None, overwrite: bool
) -> Template:
    names = [syntax.text_of(cell).strip() for cell in rows[0].cells] if rows else []
    if rows and any("\r" in cell and syntax.text_of(cell) == cell for cell in rows[0].cells):
        raise DataError(
            f"{name} line {rows[0].line} has a carriage return without a line feed; if its lines end so "
            "(old Mac OS), save it with other line ends"
        )
    widest = max((len(row.cells) for row in rows), default=0)
    at, has_header = _text_column(names, widest, name, column)
    in_place = has_header and TRANSLATION_FIELD in names and column != TRANSLATION_FIELD
    target = names.index(TRANSLATION_FIELD) if in_place else widest
    parts: list[str | Slot] = []
    done = 0
    for row in rows:
        if len(row.cells) <= at:
            raise DataError(
                f"{name} line {row.line} has {len(row.cells)} columns, and none with number {at + 1}"
            )
        is_header = has_header and row is rows[0]
        source = row.cells[at]
        words = syntax.text_of(source).strip()
        filled = target < len(row.cells) and bool(syntax.text_of(row.cells[target]).strip())
        if in_place and (is_header or not words or (filled and not overwrite)):
            continue
        cell: str | Slot = Slot(words, _cell_writer(syntax, source)) if words else ""
        if is_header:
            cell = syntax.cell_like(TRANSLATION_FIELD, source)
        before, after = _surrounding_cells(row.cells, target, syntax.delimiter)
        parts += [text[done : row.start], before, cell, after]
        done = row.end
    return Template([*parts, text[done:]])


def _cell_writer(syntax: _TableSyntax, source: str) -> Callable[[str], str]:
    return lambda translation: syntax.cell_like(translation, source)


def _surrounding_cells(cells: Sequence[str], at: int, delimiter: str) -> tuple[str, str]:
    """Return the row before and after cell number `at`, padded if it is too short."""
    before = [*cells[:at], *[""] * (at - len(cells))]
    return (
        "".join(f"{cell}{delimiter}" for cell in before),
        "".join(f"{delimiter}{cell}" for cell in cells[at + 1 :]),
    )


def _text_column(names: Sequence[str], widest: int, name: str, column: str | None) -> tuple[int, bool]:
    """Return the index of the text column, and whether the first row is a header; ask if it is not clear."""
    if column is not None and column.isdecimal() and int(column) > 0:
        return int(column) - 1, False
    if column is not None:
        if column not in names:
            raise DataError(f"{name} has no column {column!r}; it has {', '.join(map(repr, names))}")
        return names.index(column), True
    lower = [each.casefold() for each in names]
    if found := [title for title in TEXT_COLUMNS if title in lower]:
        return lower.index(found[0]), True
    if widest <= 1:
        return 0, False
    shown = [f"{number} {_shorten(each)!r}" for number, each in enumerate(names[:MAX_SHOWN_COLUMNS], 1)]
    raise DataError(
        f"{name} has {widest} columns; choose the text with --column NAME, or --column NUMBER if the first "
        f"row is not a header: {', '.join(shown)}"
    )


def _shorten(title: str) -> str:
    return title if len(title) <= MAX_SHOWN_NAME else f"{title[: MAX_SHOWN_NAME - 3]}..."


def _csv_rows(text: str, name: str, delimiter: str, start: int = 0) -> Iterator[_Row]:
    """Yield the rows of a table with quoted cells, which may contain line breaks; blank lines are skipped."""
    sign = re.escape(delimiter)
    cell = re.compile(
        rf' *+"(?:[^"]|"")*+" *+(?=\r?\n|\r?\Z|{sign})|(?P<broken> *+")|(?P<plain>[^\n{sign}]*)'
    )
    line = text.count("\n", 0, start) + 1
    while start < len(text):
        newline = text.find("\n", start)
        end = after = len(text) if newline < 0 else newline
        if text.find('"', start, end) < 0:
            end -= end > start and text[end - 1] == "\r"
            cells = text[start:end].split(delimiter)
        else:
            cells, end = _quoted_cells(text, start, cell, f"{name} line {line}")
            newline = text.find("\n", end)
            after = len(text) if newline < 0 else newline
        if start < end:
            yield _Row(line, start, end, cells)
        line += text.count("\n", start, after) + 1
        start = after + 1


def _quoted_cells(text: str, start: int, cell: re.Pattern[str], place: str) -> tuple[list[str], int]:
    """Return the cells of the row that starts here, and its end before the line break."""
    cells: list[str] = []
    while match := cell.match(text, start):
        content = match[0]
        if match["broken"] is not None:
            raise DataError(
                f'{place} has a cell whose quotes are not closed, or not at its end; write a quote as ""'
            )
        start = match.end()
        is_last = start == len(text) or text[start] in "\r\n"
        if is_last and match["plain"] is not None and content.endswith("\r"):
            content, start = content[:-1], start - 1
        cells.append(content)
        if is_last:
            break
        start += 1
    return cells, start


def _find_delimiter(head: str, name: str) -> str:
    """Return the delimiter by which most rows have as many cells as the first one, and more than one."""

    def fit(delimiter: str) -> tuple[float, int]:
        widths: list[int] = []
        with suppress(DataError):  # the part may end inside a cell; errors are raised when all is read
            for row in islice(_csv_rows(head, name, delimiter), SNIFFED_ROWS):
                widths.append(len(row.cells))
        if not widths or widths[0] == 1:
            return 0.0, 0
        return widths.count(widths[0]) / len(widths), widths[0]

    return max(DELIMITERS, key=fit)


def _unquote_cell(cell: str) -> str:
    words = cell.strip(" ")
    return words[1:-1].replace('""', '"') if words.startswith('"') else cell


def _quote_cell(words: str, delimiter: str, quoted: bool) -> str:
    """Return the spelling of a cell; in quotes if it needs them or `quoted` is set."""
    words = words.strip()
    if not quoted and not any(sign in words for sign in (delimiter, '"', "\n", "\r")):
        return words
    return '"' + words.replace('"', '""') + '"'
