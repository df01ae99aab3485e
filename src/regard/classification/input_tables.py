"""Tables and JSON lines with texts to classify, and the same rows with the labels in new columns."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from regard.errors import DataError
from regard.text.file_types import file_type_by_content, file_type_by_name, read_head
from regard.text.lines import read_lines
from regard.text.table_rows import (
    TEXT_COLUMN_NAMES,
    ColumnRole,
    file_suffix,
    find_delimiter,
    format_table_row,
    read_table_rows,
    reject_unnamed_column,
    select_columns,
)
from regard.text.unicode import LONE_SURROGATE

InputFormat = Literal["lines", "csv", "tsv", "jsonl"]
INPUT_FORMATS: tuple[InputFormat, ...] = ("lines", "csv", "tsv", "jsonl")
PREDICTED = "predicted_"
"""Prefix of a new column whose name the file already has."""


def choose_input_format(path: Path, requested: InputFormat | None) -> InputFormat:
    """Return the format of an input file, by its name; reject one whose lines are not texts."""
    if requested is not None:
        return requested
    match file_suffix(path):
        case ".csv":
            return "csv"
        case ".tsv":
            return "tsv"
        case ".jsonl":
            return "jsonl"
        case _:
            reject_other_content(path)
            return "lines"


def reject_other_content(path: Path) -> None:
    """Reject a file that is no text with a line for each, by its name or its first bytes."""
    found = file_type_by_name(path)
    if found is None and path.is_file():
        found = file_type_by_content(read_head(path), path)
    if found is not None:
        raise DataError(
            f"{path} is {found.title}; convert it to a .csv, .tsv, .jsonl or text file with one text per "
            "line, or read its lines as they are with --format lines"
        )


class InputRow(NamedTuple):
    """A row with a text to classify."""

    line: int
    """Number of its first line, from 1."""
    text: str | None
    """None if it is not UTF-8."""
    content: Any
    """What the output repeats: the cells, or the line."""


@runtime_checkable
class InputTable(Protocol):
    """A file of rows, each with a text."""

    @property
    def rows(self) -> Iterator[InputRow]: ...

    def header(self, columns: Sequence[str]) -> str | None:
        """Return the first output line with these new columns, if there is one."""
        ...

    def format_row(self, row: InputRow, values: Mapping[str, Any]) -> str:
        """Return the output line of a row with the values of the new columns."""
        ...


def open_input_table(path: Path, kind: Literal["csv", "tsv", "jsonl"], column: str | None) -> InputTable:
    """Open a table of texts; `column` is the name or number of the text column, or the name of the field."""
    return _JsonRows(path, column) if kind == "jsonl" else _open_cell_table(path, f".{kind}", column)


@dataclass(frozen=True)
class _CellTable:
    """The rows of a .csv or .tsv."""

    path: Path
    titles: list[str] | None
    width: int
    delimiter: str
    text_index: int
    cells: Iterator[tuple[int, list[str]]]

    @property
    def rows(self) -> Iterator[InputRow]:
        for line, cells in self.cells:
            if len(cells) > self.width:
                raise DataError(
                    f"{self.path} line {line} has {len(cells)} cells and the first row {self.width}; quote a "
                    "cell that holds the delimiter"
                )
            padded = cells + [""] * (self.width - len(cells)) if cells else []
            yield InputRow(line, _text_or_none(padded[self.text_index] if padded else ""), padded)

    def header(self, columns: Sequence[str]) -> str | None:
        if self.titles is None:
            return None
        new = [PREDICTED + column if column in self.titles else column for column in columns]
        return format_table_row([*self.titles, *new], self.delimiter)

    def format_row(self, row: InputRow, values: Mapping[str, Any]) -> str:
        cells = [value if isinstance(value, str) else f"{value:.4f}" for value in values.values()]
        return format_table_row([*row.content, *cells], self.delimiter) if row.content else ""


def _open_cell_table(path: Path, suffix: str, column: str | None) -> _CellTable:
    delimiter = "\t"
    if suffix == ".csv":
        delimiter = find_delimiter(next(read_lines(path), b"").decode("utf-8", "replace"))
    rows = read_table_rows(path, suffix)
    first = next(rows, None)
    if first is None or not first.cells:
        raise DataError(f"{path} has no first row; it must name the columns, or hold a text")
    roles = [ColumnRole("texts", "--column", TEXT_COLUMN_NAMES, column)]
    selected = select_columns(str(path), first.cells, roles)
    if selected is None and len(first.cells) > 1:
        reject_unnamed_column(str(path), first.cells, roles)
    has_header = selected is not None and selected.has_header
    return _CellTable(
        path,
        titles=first.cells if has_header else None,
        width=len(first.cells),
        delimiter=delimiter,
        text_index=selected.indexes[0] if selected else 0,
        cells=rows if has_header else chain([first], rows),
    )


@dataclass(frozen=True)
class _JsonRows:
    """The objects of a .jsonl."""

    path: Path
    field: str | None

    @property
    def rows(self) -> Iterator[InputRow]:
        for number, line in enumerate(read_lines(self.path), start=1):
            text = line.decode("utf-8", "surrogateescape")
            yield InputRow(number, _text_or_none(self._find_text(number, text)), text)

    def _find_text(self, number: int, line: str) -> str:
        if not line.strip():
            return ""
        try:
            document = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{self.path} line {number} is not valid JSON: {error}") from None
        field = self.field or "text"
        text = document.get(field) if isinstance(document, dict) else None
        if not isinstance(text, str):
            raise DataError(
                f"{self.path} line {number} is no object with a text in {json.dumps(field)}; name the "
                "field with --column"
            )
        return text

    def header(self, columns: Sequence[str]) -> str | None:  # noqa: ARG002
        return None

    def format_row(self, row: InputRow, values: Mapping[str, Any]) -> str:
        """Return the line with new fields before its last brace: its own fields keep their spelling."""
        if not row.content.strip():
            return ""
        known = json.loads(row.content)
        new = {PREDICTED + key if key in known else key: value for key, value in values.items()}
        fields = json.dumps(new, ensure_ascii=False)[1:-1]
        return f"{row.content[: row.content.rindex('}')].rstrip()}, {fields}}}"


def _text_or_none(text: str) -> str | None:
    """Return the text, or None if it is not valid UTF-8 or holds a NUL, a sign of UTF-16."""
    return None if "\0" in text or (not text.isascii() and LONE_SURROGATE.search(text)) else text
