"""Series in memory: tables of pandas, polars and pyarrow, and arrays; forecasts of the same kind."""

import importlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import numpy as np

from regard.data.frames import (
    DEFAULT_TIME_NAME,
    column_values,
    format_cells,
    has_time_index,
    is_table,
    table_columns,
)
from regard.errors import ConfigError, DataError
from regard.forecasting.series.read_table import TableCells, parse_series_table
from regard.forecasting.series.table import SeriesTable
from regard.forecasting.series.time_axis import TimeAxis, Times, format_times, time_grid

Columns = dict[str, list[Any]]


class SeriesContext(NamedTuple):
    """What the model knows of its series."""

    time_column: str
    columns: tuple[str, ...]
    time_axis: TimeAxis
    longest_gap: int
    has_calendar: bool
    """Whether the forecast depends on the date."""


def is_in_memory(value: object) -> bool:
    """Return whether a value is a table, a Series, an array or a list, and no file."""
    return is_table(value) or hasattr(value, "__array__") or isinstance(value, list | tuple)


def read_memory_series(value: Any, context: SeriesContext, start: object = None) -> SeriesTable:
    """Read series in memory as a file with the same cells would be read.

    `start` is the time of the first row of an array, which has none of its own.
    """
    if is_table(value) or has_time_index(value):
        if start is not None:
            raise ConfigError("start is for arrays; the times of a table are its own")
        name, columns, time_column = _named_columns(value, context)
    else:
        name, columns, time_column = "the array", _array_columns(value, context, start), context.time_column
    cells = list(zip(*map(format_cells, columns.values()), strict=True))
    table = TableCells(list(columns), list(map(list, cells)), list(range(1, len(cells) + 1)))
    return parse_series_table(name, table, time_column, context.columns, context.longest_gap)


def _named_columns(value: Any, context: SeriesContext) -> tuple[str, Columns, str | None]:
    """Return what errors call a table, its columns, and the name of its time column if that is known."""
    name = "the table"
    if not is_table(value):  # a Series with an index of times
        only = context.columns[0] if len(context.columns) == 1 else value.name
        name, value = "the Series", value.to_frame(name=only)
    columns = {_plain_name(column): values for column, values in table_columns(value).items()}
    if has_time_index(value):
        return name, columns, _plain_name(value.index.name or DEFAULT_TIME_NAME)
    return name, columns, context.time_column if context.time_column in columns else None


def _plain_name(name: object) -> str:
    """Return the name of a column as a file of the training data has it."""
    return " ".join(str(name).split())


def _array_columns(value: Any, context: SeriesContext, start: object) -> Columns:
    values = np.array(column_values(value), np.float64)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or values.shape[1] != len(context.columns):
        expected = f"{len(context.columns)} columns ({', '.join(context.columns)})"
        raise DataError(f"the array has the shape {values.shape}; the model needs rows of {expected}")
    times = time_grid(_first_time(context, start), context.time_axis.step, len(values))
    texts: list[Any] = format_times(times, context.time_axis.format)
    return {context.time_column: texts, **dict(zip(context.columns, values.T.tolist(), strict=True))}


def _first_time(context: SeriesContext, start: object) -> np.datetime64:
    if start is None and context.has_calendar:
        raise ConfigError(
            "an array has no times, and the model reads the calendar; give start, the first time"
        )
    try:
        first: Any = "2000-01-01" if start is None else start
        return np.datetime64(first, "us")
    except (TypeError, ValueError):
        raise ConfigError(f"start = {start!r} is not a time; write it as 2024-12-31 23:00:00") from None


def to_kind_of(value: Any, table: SeriesTable, times: Times, columns: Mapping[str, Sequence[float]]) -> Any:
    """Return columns of numbers, with their times, as the kind of table that `value` is.

    `table` was read from `value`. A file gets a mapping, with times as it has them.
    """
    library = type(value).__module__.partition(".")[0]
    if not is_table(value) and not has_time_index(value) and is_in_memory(value):
        array = np.array(list(columns.values())).T
        array = array[:, 0] if np.ndim(value) == 1 and array.shape[1] == 1 else array
        return type(value)(array.tolist()) if isinstance(value, list | tuple) else array
    if library == "pandas":
        return _to_pandas_like(value, table, times, columns)
    named: dict[str, Any] = {table.time_column: _times_like(value, table, times), **columns}
    if library == "pyarrow":
        return importlib.import_module("pyarrow").table(named)
    if library == "polars":
        return _to_polars_like(value, table.time_column, named)
    return named


def _to_pandas_like(
    value: Any, table: SeriesTable, times: Times, columns: Mapping[str, Sequence[float]]
) -> Any:
    pandas = importlib.import_module("pandas")
    if has_time_index(value):
        frame = pandas.DataFrame(columns, index=_index_like(value.index, times))
        return frame if is_table(value) or len(columns) > 1 else frame.iloc[:, 0].rename(value.name)
    column = pandas.Series(_times_like(value, table, times))
    dtype = _column(value, table.time_column).dtype
    return pandas.DataFrame({table.time_column: column.astype(dtype), **columns})


def _index_like(index: Any, times: Times) -> Any:
    """Return an index of these times with the unit, time zone or period, and frequency of another one."""
    pandas = importlib.import_module("pandas")
    if type(index).__name__ == "PeriodIndex":
        return pandas.PeriodIndex(times, freq=index.freq, name=index.name)
    moments = pandas.DatetimeIndex(times, name=index.name).as_unit(index.unit)
    if index.tz is not None:
        moments = moments.tz_localize("UTC").tz_convert(index.tz)
    if index.freq is not None:
        with suppress(ValueError):  # the step of the model is another one
            moments.freq = index.freq
    return moments


def _to_polars_like(value: Any, time_column: str, columns: Mapping[str, Any]) -> Any:
    polars = importlib.import_module("polars")
    dtype = value.schema[time_column]
    times = polars.Series(time_column, columns[time_column])
    if zone := getattr(dtype, "time_zone", None):
        times = times.dt.convert_time_zone(zone)
    return polars.DataFrame({**columns, time_column: times.cast(dtype)})


def _times_like(value: Any, table: SeriesTable, times: Times) -> list[Any]:
    """Return times of the Python type that those of the table have."""
    if not is_table(value):  # a file
        return format_times(times, table.time_axis.format)
    known = next(each for each in column_values(_column(value, table.time_column)) if each is not None)
    moments: list[datetime] = times.tolist()
    match known:
        case datetime() if known.tzinfo is not None:
            return [moment.replace(tzinfo=UTC).astimezone(known.tzinfo) for moment in moments]
        case datetime():
            return moments
        case date():
            return [moment.date() for moment in moments]
        case int():
            return [int(text) for text in format_times(times, table.time_axis.format)]
        case _:
            return format_times(times, table.time_axis.format)


def _column(value: Any, name: str) -> Any:
    """Return the column that the model calls `name`."""
    keys = value if isinstance(value, Mapping) else getattr(value, "column_names", value.columns)
    return next(value[key] for key in keys if _plain_name(key) == name)
