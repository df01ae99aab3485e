"""Tables and columns of pandas, polars and pyarrow as Python values, without importing those packages."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np

from regard.errors import DataError

DEFAULT_TIME_NAME = "time"
"""Name of the column that an index of times without a name becomes."""


def is_table(value: object) -> bool:
    """Return whether a value is a DataFrame, a pyarrow table, or a mapping of columns."""
    return isinstance(value, Mapping) or _is_lazy(value) or _is_arrow(value) or _is_frame(value)


def table_columns(table: Any) -> dict[str, list[Any]]:
    """Return the values of each column, by its name as text; missing values are None.

    A pandas index of times becomes the first column.
    """
    table = table.collect() if _is_lazy(table) else table
    if isinstance(table, Mapping):
        columns = {str(name): column_values(values) for name, values in table.items()}
    elif _is_arrow(table):
        columns = {name: column_values(values) for name, values in table.to_pydict().items()}
    else:
        columns = {str(name): column_values(table[name]) for name in table.columns}
        if len(columns) < len(table.columns):
            raise DataError("the table has two columns of the same name; give each its own")
        columns = {**_time_index(table, columns), **columns}
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        described = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise DataError(f"the columns of the table differ in length: {described}")
    return columns


def column_values(column: Any) -> list[Any]:
    """Return the values of a Series, an array or any iterable; missing values are None."""
    for method in ("to_list", "to_pylist", "tolist"):
        if hasattr(column, method):
            column = getattr(column, method)()
            break
    return [None if is_missing(value) else _plain_value(value) for value in column]


def _plain_value(value: Any) -> Any:
    """Return a number of numpy, as a list may hold, as one of Python."""
    return value.item() if isinstance(value, np.number | np.bool_) else value


def is_missing(value: object) -> bool:
    """Return whether a value stands for a missing one: None, NaN, or NA and NaT of pandas."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return type(value).__name__ in ("NAType", "NaTType")


def format_cells(values: Sequence[Any]) -> list[str]:
    """Return the values of a column as the cells of a CSV file; all its times in one format."""
    has_fraction = any(isinstance(value, datetime) and value.microsecond for value in values)
    return [_format_cell(value, "microseconds" if has_fraction else "seconds") for value in values]


def _format_cell(value: object, time_precision: str) -> str:
    match value:
        case None:
            return ""
        case datetime():
            return value.isoformat(" ", timespec=time_precision)
        case date():
            return value.isoformat()
        case bool():
            return str(int(value))
        case float():
            return repr(value)
        case _:
            return str(value)


def _is_lazy(value: object) -> bool:
    """Return whether a value is a LazyFrame of polars."""
    return hasattr(value, "collect_schema") and hasattr(value, "collect")


def _is_arrow(value: object) -> bool:
    return hasattr(value, "to_pydict")


def _is_frame(value: object) -> bool:
    return hasattr(value, "columns") and hasattr(value, "__getitem__")


def has_time_index(value: Any) -> bool:
    """Return whether a value is a Series or DataFrame of pandas with an index of times."""
    return type(getattr(value, "index", None)).__name__ in ("DatetimeIndex", "PeriodIndex")


def _time_index(frame: Any, columns: Iterable[str]) -> dict[str, list[Any]]:
    """Return the index of a pandas DataFrame as a column if it holds times."""
    if not has_time_index(frame):
        return {}
    index = frame.index
    name = DEFAULT_TIME_NAME if index.name is None else str(index.name)
    if name in columns:
        raise DataError(f"the table has a column {name!r} and an index of that name; rename one of them")
    return {name: column_values(index)}
