"""Parquet files, through pyarrow where it is installed."""

import importlib
from datetime import date, datetime
from pathlib import Path
from typing import Any

from regard.errors import DataError

MISSING = '{} is Parquet, which needs pyarrow: pip install "regard[parquet]"'


def is_parquet(path: Path) -> bool:
    """By its name, or by its first bytes."""
    if path.suffix in (".parquet", ".pq"):
        return True
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False  # whoever reads it will say what is wrong


def read_cells(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header and the cells as text, times in ISO form."""
    try:
        reading: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise DataError(MISSING.format(path)) from None
    try:
        columns = reading.read_table(path).to_pydict()
    except FileNotFoundError:
        raise DataError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:  # what pyarrow raises for a damaged file
        raise DataError(f"{path} cannot be read as Parquet: {error}") from None
    texts = [[_text(value) for value in column] for column in columns.values()]
    return list(columns), [list(row) for row in zip(*texts, strict=True)]


def _text(value: object) -> str:
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
