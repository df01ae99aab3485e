"""Series tables from CSV and Parquet files: find the time column, parse times and numbers."""

import csv
import importlib
import math
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from regard.errors import DataError
from regard.forecasting.series.regularize import RawRows, regularize_rows
from regard.forecasting.series.table import SeriesTable
from regard.forecasting.series.time_axis import look_like_times, parse_times
from regard.text.lines import read_lines

TIME_COLUMN_NAMES = ("date", "datetime", "timestamp", "time", "ds", "day", "month", "year", "index")
MISSING_VALUES = frozenset(("", "na", "n/a", "nan", "null", "none", "?", "-"))
DELIMITERS = ",;\t|"
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
"""A number that may have thousands separators; refused if the delimiter is a comma, too."""
MAX_NUMBER = 1e100
"""Larger numbers are mistakes, and their squares overflow."""
MAX_CELL_CHARACTERS = 40
"""Characters of a cell that a message shows; after an unclosed quote, the rest of the file is one cell."""
PYARROW_NEEDED = '{} is a Parquet file, which needs pyarrow: pip install "regard[parquet]"'


class TableCells(NamedTuple):
    """Header and cells of a file as text, with the first line of each row."""

    header: list[str]
    rows: list[list[str]]
    lines: list[int]
    delimiter: str = ","


def read_series_table(
    path: Path, time_column: str | None = None, columns: Sequence[str] = (), longest_gap: int = 24
) -> SeriesTable:
    """Read the series of a file onto a regular time grid.

    Without `time_column` it is found by name or values; without `columns`, all others are series.
    """
    cells = _read_parquet(path) if is_parquet(path) else _read_csv(path)
    return parse_series_table(str(path), cells, time_column, columns, longest_gap)


def parse_series_table(
    name: str, cells: TableCells, time_column: str | None, columns: Sequence[str], longest_gap: int
) -> SeriesTable:
    """Parse the cells of a table onto a regular time grid; `name` is that of the file in errors."""
    if not cells.rows:
        raise DataError(f"{name} has no rows; give a header and a row for each time")
    time_column = _find_time_column(name, cells, time_column)
    names = list(columns) or [column for column in cells.header if column != time_column]
    if not names:
        raise DataError(f"{name} has no column beside {time_column!r}; there is nothing to forecast")
    indexes = [_column_index(name, cells.header, column) for column in (time_column, *names)]
    texts = [row[indexes[0]] for row in cells.rows]
    _reject_missing_times(name, texts, cells.lines, time_column)
    times, time_format = parse_times(texts, f"{name} column {time_column!r}")
    values = np.array([_parse_numbers(name, cells, index) for index in indexes[1:]]).T
    rows = RawRows(times, values, np.array(cells.lines, np.int64))
    return regularize_rows(name, time_format, time_column, names, rows, longest_gap)


def has_column(path: Path, name: str) -> bool:
    """Return whether the header of a file has a column of that name."""
    if is_parquet(path):
        return name in _read_parquet(path).header
    return name in _parse_header(path, next(_decoded_lines(path), ""))[0]


def is_parquet(path: Path) -> bool:
    """Return whether a file is Parquet, by its suffix or its first bytes."""
    if path.suffix in (".parquet", ".pq"):
        return True
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False  # reading it as CSV raises the error


def _parse_header(path: Path, line: str) -> tuple[list[str], str]:
    """Return the column names in the first line, and the delimiter."""
    if not line.strip():
        raise DataError(f"{path} has no header; its first line must name the columns")
    delimiter = max(DELIMITERS, key=line.count)
    names = [name.strip() for name in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))]
    if all(map(_is_value, names)):
        raise DataError(
            f"{path} line 1 holds values, {line[:MAX_CELL_CHARACTERS]!r}, and would be lost as the header; "
            "add a first line with the names of the columns, such as date,load"
        )
    return names, delimiter


def _is_value(cell: str) -> bool:
    """Return whether a cell is a number or a time, and no name of a column."""
    return cell != "" and (_parse_number(cell) is not None or look_like_times([cell]))


def _read_csv(path: Path) -> TableCells:
    texts = _decoded_lines(path)
    header, delimiter = _parse_header(path, next(texts, ""))
    if len(set(header)) < len(header):
        duplicate = next(name for name in header if header.count(name) > 1)
        raise DataError(f"{path} has two columns {duplicate!r}; give each column its own name")
    rows, lines = [], []
    for line, row in _csv_rows(path, texts, delimiter):
        if not any(map(str.strip, row)):
            continue
        if len(row) != len(header):
            raise DataError(
                f"{path} line {line} has {len(row)} cells and the header {len(header)}; "
                "every row needs as many cells as the header"
            )
        rows.append(row)
        lines.append(line)
    return TableCells(header, rows, lines, delimiter)


def _csv_rows(path: Path, texts: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows after the header, each with the number of its first line."""
    reader = csv.reader(texts, delimiter=delimiter, skipinitialspace=True)
    while True:
        line = reader.line_num + 2
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise DataError(f"{path} line {line} cannot be read as CSV: {error}") from None
        if row is None:
            return
        yield line, row


def _decoded_lines(path: Path) -> Iterator[str]:
    for number, line in enumerate(read_lines(path), 1):
        try:
            yield line.decode()
        except UnicodeDecodeError:
            raise DataError(f"{path} line {number} is not UTF-8; convert the file first") from None


def _read_parquet(path: Path) -> TableCells:
    """Read all cells as text, with times in ISO format; needs pyarrow."""
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise DataError(PYARROW_NEEDED.format(path)) from None
    try:
        columns = parquet.read_table(path).to_pydict()
    except FileNotFoundError:
        raise DataError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:  # pyarrow's errors for a damaged file
        raise DataError(f"{path} cannot be read as Parquet: {error}") from None
    texts = [[_format_cell(value) for value in column] for column in columns.values()]
    rows = [list(row) for row in zip(*texts, strict=True)]
    return TableCells(list(columns), rows, list(range(1, len(rows) + 1)))


def _format_cell(value: object) -> str:
    match value:
        case None:
            return ""
        case datetime():
            return value.isoformat(" ", timespec="microseconds" if value.microsecond else "seconds")
        case date():
            return value.isoformat()
        case float():
            return repr(value)
        case _:
            return str(value)


def _find_time_column(table: str, cells: TableCells, requested: str | None) -> str:
    if requested is not None:
        return cells.header[_column_index(table, cells.header, requested)]
    by_name = [name for known in TIME_COLUMN_NAMES for name in cells.header if name.strip().lower() == known]
    if by_name:
        return by_name[0]
    for index, name in enumerate(cells.header):
        if look_like_times([row[index] for row in cells.rows]):
            return name
    raise DataError(
        f"{table} has no column that looks like time; a training names it with --time (data.time): "
        f"{', '.join(cells.header)}"
    )


def _column_index(table: str, header: Sequence[str], name: str) -> int:
    if name not in header:
        raise DataError(f"{table} has no column {name!r}; it has {', '.join(header)}")
    return header.index(name)


def _reject_missing_times(table: str, texts: Sequence[str], lines: Sequence[int], column: str) -> None:
    for text, line in zip(texts, lines, strict=True):
        if not text.strip():
            raise DataError(f"{table} line {line} has no time in column {column!r}; every row needs one")


def _parse_numbers(table: str, cells: TableCells, index: int) -> list[float]:
    numbers, marks = [], dict[str, int]()
    for row, line in zip(cells.rows, cells.lines, strict=True):
        text = row[index].strip()
        cell = f"{table} line {line} has {text[:MAX_CELL_CHARACTERS]!r} in column {cells.header[index]!r}"
        if cells.delimiter == "," and THOUSANDS.fullmatch(text):
            raise DataError(f"{cell}; write it as {text.replace(',', '')}, or with a decimal point")
        number = _parse_number(text)
        if number is not None and abs(number) > MAX_NUMBER:
            raise DataError(
                f"{cell}, which is beyond {MAX_NUMBER:g}; correct it, or write values in a larger unit"
            )
        if number is None:
            raise DataError(
                f"{cell}, which is not a number; correct it, or name the columns to use with data.columns"
            )
        for mark in ",.":
            if mark in text:
                marks.setdefault(mark, line)
        numbers.append(number)
    if len(marks) > 1:
        raise DataError(
            f"{table} column {cells.header[index]!r} has a decimal comma in line {marks[',']} and a point "
            f"in line {marks['.']}; write all numbers in one way, without thousands separators"
        )
    return numbers


def _parse_number(text: str) -> float | None:
    """Return NaN for a missing value, None for what is not a number; accept a decimal comma.

    A number of hundreds of digits is infinite.
    """
    if text.lower() in MISSING_VALUES:
        return math.nan
    try:
        number = float(text.replace(",", ".") if text.count(",") == 1 else text)
    except ValueError:
        return None
    return number if math.isfinite(number) or text.lstrip("+-")[:1].isdigit() else None
