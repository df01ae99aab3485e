"""Rows of .csv and .tsv tables: quoted fields, delimiters, and columns by name or number."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple, NoReturn

from regard.errors import DataError
from regard.text.compression import COMPRESSED_SUFFIXES, ChunkCallback
from regard.text.lines import read_lines

TABLE_SUFFIXES = (".csv", ".tsv")
DELIMITERS = ",;\t|"
"""Delimiters of a .csv; the most frequent one in its first line is taken."""
MAX_QUOTED_BYTES = 2**22
"""Size of a quoted field with several lines from which on its closing quote is taken to be missing."""
MAX_SHOWN_COLUMNS = 20
"""Number of columns up to which a message names them."""
QUOTED_FIELD = re.compile(r'"((?:[^"]|"")*+)"')
TEXT_COLUMN_NAMES = frozenset(
    [
        "text",
        "texts",
        "sentence",
        "sentences",
        "review",
        "reviews",
        "comment",
        "comments",
        "content",
        "message",
        "messages",
        "tweet",
        "tweets",
        "question",
        "questions",
        "query",
        "utterance",
        "document",
        "body",
        "input",
        "source",
        "premise",
        "title",
        "headline",
        "description",
    ]
)
"""Names of a text column in a header."""
LABEL_COLUMN_NAMES = frozenset(
    [
        "label",
        "labels",
        "class",
        "classes",
        "category",
        "categories",
        "target",
        "sentiment",
        "intent",
        "topic",
        "tag",
        "tags",
        "y",
        "rating",
        "stars",
        "score",
        "polarity",
        "emotion",
        "output",
    ]
)
"""Names of a label column in a header."""


class TableRow(NamedTuple):
    """A row of a table."""

    line: int
    """Number of its first line, from 1."""
    cells: list[str]
    """Empty for a blank line. A byte that is not UTF-8 is a lone surrogate, as with `surrogateescape`."""


class ColumnRole(NamedTuple):
    """What a column is for, how the user can name it, and its usual names."""

    content: str
    flag: str
    known_names: frozenset[str]
    requested: str | None = None
    """Its name, or its number from 1."""


@dataclass(frozen=True)
class SelectedColumns:
    """The index of each column that is used, and whether the first row is a header."""

    indexes: tuple[int, ...]
    has_header: bool


def file_suffix(path: Path) -> str:
    """Return the lower-case suffix of a file name, without that of a compressed file."""
    name = path.with_suffix("") if path.suffix.lower() in COMPRESSED_SUFFIXES else path
    return name.suffix.lower()


def read_table_rows(path: Path, suffix: str, on_chunk: ChunkCallback | None = None) -> Iterator[TableRow]:
    """Yield the rows of a plain or compressed .csv or .tsv; a .tsv has no quoting."""
    lines = (line.decode("utf-8", "surrogateescape") for line in read_lines(path, on_chunk))
    if suffix == ".tsv":
        return (TableRow(number, line.split("\t") if line else []) for number, line in enumerate(lines, 1))
    first = next(lines, None)
    if first is None:
        return iter(())
    return _split_csv(path, chain([first], lines), find_delimiter(first))


def find_delimiter(first_line: str) -> str:
    """Return the delimiter of a .csv, by its first line without quoted fields."""
    return max(DELIMITERS, key=QUOTED_FIELD.sub("", first_line).count)


def format_table_row(cells: Sequence[str], delimiter: str) -> str:
    """Return the line of a row, quoted where a .csv needs it."""
    if delimiter == "\t":
        return "\t".join(cells)
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerow(cells)
    return text.getvalue().removesuffix("\r\n")  # as a line end, so that a cell with one is quoted


def select_columns(name: str, first: Sequence[str], roles: Sequence[ColumnRole]) -> SelectedColumns | None:
    """Return the columns of a table, by what the user says or else by the usual names in its first row.

    None if neither tells. A first row is a header if a column is named by the user, or if all of its
    columns that are used have a usual name.
    """
    titles = [cell.strip() for cell in first]
    indexes = [_find_column(name, titles, role) for role in roles]
    is_requested = any(role.requested for role in roles)
    if is_requested and len(titles) == len(roles) == 2 and indexes.count(None) == 1:
        indexes = [1 - sum(filter(None, indexes)) if index is None else index for index in indexes]
    if None in indexes:
        return reject_unnamed_column(name, first, roles) if is_requested else None
    found = tuple(index for index in indexes if index is not None)
    if len(set(found)) < len(found):
        raise DataError(f"{name}: {' and '.join(role.flag for role in roles)} name the same column")
    by_name = any(role.requested in titles and not _is_number(role.requested) for role in roles)
    by_usual_names = all(
        titles[index].casefold() in role.known_names for role, index in zip(roles, found, strict=True)
    )
    return SelectedColumns(found, by_name or by_usual_names)


def reject_unnamed_column(name: str, first: Sequence[str], roles: Sequence[ColumnRole]) -> NoReturn:
    """Raise the error that asks for the first column that cannot be told."""
    titles = [cell.strip() for cell in first]
    role = next((role for role in roles if _find_column(name, titles, role) is None), roles[0])
    shown = ", ".join(map(ascii, titles)) if len(titles) <= MAX_SHOWN_COLUMNS else f"{len(titles)} columns"
    raise DataError(
        f"{name} has the columns {shown}; name the one with the {role.content} with {role.flag}, by its name "
        "or number"
    )


def _find_column(name: str, titles: Sequence[str], role: ColumnRole) -> int | None:
    if role.requested is None:
        matches = [index for index, title in enumerate(titles) if title.casefold() in role.known_names]
        return matches[0] if len(matches) == 1 else None
    if role.requested in titles and not _is_number(role.requested):
        return titles.index(role.requested)
    if not _is_number(role.requested):
        raise DataError(f"{name} has no column {role.requested!r}; it has {', '.join(map(repr, titles))}")
    if int(role.requested) > len(titles):
        raise DataError(f"{name} has {len(titles)} columns, and none with number {role.requested}")
    return int(role.requested) - 1


def _is_number(column: str | None) -> bool:
    return column is not None and column.isdecimal() and int(column) > 0


def _split_csv(path: Path, lines: Iterable[str], delimiter: str) -> Iterator[TableRow]:
    numbered = enumerate(lines, start=1)
    for number, line in numbered:
        if line:
            yield TableRow(number, _split_csv_row(path, number, line, numbered, delimiter))
        else:
            yield TableRow(number, [])


def _split_csv_row(
    path: Path, number: int, text: str, more: Iterator[tuple[int, str]], delimiter: str
) -> list[str]:
    """Return the cells of a row, which goes on in the next line if a quote is open at the end."""
    cells, start = [], 0
    while True:
        if text.startswith('"', start):
            quoted = QUOTED_FIELD.match(text, start)
            if quoted is None:
                text = text[start:] + _read_until_quote(path, number, len(text), more)
                start, quoted = 0, QUOTED_FIELD.match(text)
                assert quoted is not None
            cell, start = quoted[1].replace('""', '"'), min(quoted.end(), len(text))
        else:
            cell = ""
        end = text.find(delimiter, start)
        cells.append(cell + text[start : len(text) if end < 0 else end])
        if end < 0:
            return cells
        start = end + len(delimiter)


def _read_until_quote(path: Path, number: int, size: int, more: Iterator[tuple[int, str]]) -> str:
    """Return the next lines, up to the one with the closing quote."""
    parts: list[str] = []
    for _, line in more:
        parts.append(f"\n{line}")
        size += len(line)
        if line.count('"') % 2:
            return "".join(parts)
        if size > MAX_QUOTED_BYTES:
            break
    raise DataError(f"{path} line {number} has an opening quote without a closing one; correct that line")
