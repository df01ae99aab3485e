"""Training data given in memory: written once to the run folder, where a resume reads them again."""

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from regard.checkpoint import CONFIG_FILE, write_file_atomically
from regard.classification.label_types import find_label_type
from regard.data.frames import column_values, format_cells, has_time_index, is_table, table_columns
from regard.errors import ConfigError, DataError
from regard.text.pair_formats.table_pairs import (
    FIRST_TWO_COLUMNS,
    TARGET_COLUMN_NAMES,
    TRANSLATION_KEY,
    column_roles,
    select_pair_columns,
)
from regard.text.pair_formats.units import PairOptions, choose_direction
from regard.text.table_rows import (
    LABEL_COLUMN_NAMES,
    TEXT_COLUMN_NAMES,
    ColumnRole,
    reject_unnamed_column,
    select_columns,
)
from regard.text.unicode import reject_lone_surrogates
from regard.training.run_folder import MEMORY_DATA_FILES, MEMORY_DATA_FOLDER

PAIRS_FILE, VALID_PAIRS_FILE, LABELLED_FILE, VALID_LABELLED_FILE, SERIES_FILE = MEMORY_DATA_FILES
MAX_FILES_TO_CHECK = 100
"""Texts of a list that are compared with the names of files; a longer list cannot mean files."""
NEITHER_FILES_NOR_DATA = "{} must be a file, a list of files, or data: a list of texts or a table"
LINE_BREAKS = re.compile(r"[\r\n]+")
"""Become a space: a text is one line, in training and in use."""
Rows = list[tuple[str, str]]


class MemoryData(NamedTuple):
    """The arguments of a training as files and settings, and the files that hold what was in memory."""

    arguments: dict[str, Any]
    files: dict[str, str]
    """Content by file name."""
    origins: dict[str, str]
    """The arguments that the content of a file comes from, by file name."""
    settings: dict[str, dict[str, object]]
    """What the data decide, by section and key."""


def split_memory_data(arguments: Mapping[str, Any], out: Path) -> MemoryData:
    """Return the arguments with data in memory replaced by files in the run folder `out`."""
    data = MemoryData({name: value for name, value in arguments.items() if value is not None}, {}, {}, {})
    folder = Path(os.path.abspath(out)) / MEMORY_DATA_FOLDER
    for prefix, pairs_file, labelled_file in (
        ("", PAIRS_FILE, LABELLED_FILE),
        ("valid_", VALID_PAIRS_FILE, VALID_LABELLED_FILE),
    ):
        _take_pairs(data, prefix, folder / pairs_file)
        _take_labelled(data, prefix, folder / labelled_file)
    if is_table(series := data.arguments.get("series")) or _is_time_series(series):
        data.files[SERIES_FILE] = _take_series(data.arguments, series)
        data.origins[SERIES_FILE] = "series"
        data.arguments["series"] = str(folder / SERIES_FILE)
    return data


def write_memory_data(data: MemoryData, out: Path) -> None:
    """Write the files to the run folder; an existing run must have the same content."""
    for name, content in data.files.items():
        path = out / MEMORY_DATA_FOLDER / name
        try:
            if path.is_file() and path.read_bytes() == content.encode():
                continue
            if (out / CONFIG_FILE).exists():
                raise DataError(
                    f"{data.origins[name]}: these are not the data that {out} was started with; give the "
                    "same data to resume, none to use those of the run, or choose another out"
                )
            write_file_atomically(path, content)
        except OSError as error:
            raise DataError(f"{path} cannot be written: {error.strerror}") from None


def _take_pairs(data: MemoryData, prefix: str, path: Path) -> None:
    """Move pairs in memory, as `pairs` or as `source` and `target`, to a file of pairs."""
    names = [f"{prefix}{name}" for name in ("source", "target", "pairs")]
    source, target, pairs = (data.arguments.get(name) for name in names)
    options = PairOptions(*(data.arguments.get(field.name) for field in fields(PairOptions)))
    rows, origins = list[tuple[str, str]](), list[str]()
    if _is_in_memory(names[0], source) or _is_in_memory(names[1], target):
        rows += _zip_columns(names[0], source, names[1], target)
        origins += names[:2]
        del data.arguments[names[0]], data.arguments[names[1]]
    if is_table(pairs) or _is_in_memory(names[2], pairs):
        rows += _pair_rows(names[2], pairs, options)
        origins.append(names[2])
        del data.arguments[names[2]]
    if origins:
        keys = options.source_column or "source", options.target_column or "target"
        lines = [_json_line(dict(zip(keys, row, strict=True))) for row in rows]
        _add_file(data, names[2], path, "".join(lines), origins)


def _take_labelled(data: MemoryData, prefix: str, path: Path) -> None:
    """Move labelled texts in memory, as `labelled` or as `texts` and `labels`, to a file of both."""
    names = [f"{prefix}{name}" for name in ("texts", "labels", "labelled")]
    texts, labels, labelled = (data.arguments.get(name) for name in names)
    rows, origins, values = list[tuple[str, str]](), list[str](), list[Any]()
    if _is_in_memory(names[0], texts) or _is_in_memory(names[1], labels):
        if _is_in_memory(names[1], labels) and not is_table(labels):
            values = labels = column_values(labels)
        rows += _zip_columns(names[0], texts, names[1], labels)
        origins += names[:2]
        del data.arguments[names[0]], data.arguments[names[1]]
    text_key, label_key = (data.arguments.get(f"{kind}_column") for kind in ("text", "label"))
    if is_table(labelled) or _is_in_memory(names[2], labelled):
        roles = (
            ColumnRole("texts", "text_column", TEXT_COLUMN_NAMES, text_key),
            ColumnRole("labels", "label_column", LABEL_COLUMN_NAMES, label_key),
        )
        columns = _to_columns(names[2], labelled)
        rows += _rows_by_role(names[2], columns, roles)
        values = [*values, *columns[_names_by_role(names[2], columns, roles)[1]]]
        origins.append(names[2])
        del data.arguments[names[2]]
    if origins:
        lines = [_json_line({text_key or "text": text, label_key or "label": label}) for text, label in rows]
        _add_file(data, names[2], path, "".join(lines), origins)
        only_memory = len(data.arguments[names[2]]) == 1
        if not prefix and only_memory and (label_type := find_label_type(values)) not in (None, "text"):
            data.settings["data"] = {"label_type": label_type}


def _add_file(data: MemoryData, argument: str, path: Path, content: str, origins: list[str]) -> None:
    """Add a file, and name it in the argument, which may be a list of files."""
    data.files[path.name], data.origins[path.name] = content, " and ".join(origins)
    if argument.startswith("valid_") and argument in data.arguments:
        raise ConfigError(f"{argument} takes the place of {' and '.join(origins)}; give one of them")
    data.arguments[argument] = (
        str(path)
        if argument.startswith("valid_")
        else [*file_names(argument, data.arguments.get(argument)), str(path)]
    )


def file_names(argument: str, value: Any) -> list[str]:
    """Return the names of one file or several; an error for a value that names none."""
    if value is not None and not isinstance(value, Iterable | os.PathLike):
        raise ConfigError(NEITHER_FILES_NOR_DATA.format(argument))
    values = [] if value is None else [value] if isinstance(value, str | os.PathLike) else list(value)
    if not all(isinstance(each, str | os.PathLike) for each in values):
        raise ConfigError(NEITHER_FILES_NOR_DATA.format(argument))
    return [os.fspath(each) for each in values]


def _is_in_memory(argument: str, value: object) -> bool:
    """Return whether a value holds texts; a text or a path alone, and a list of paths, name files."""
    if value is None or isinstance(value, str | os.PathLike):
        return False
    if not isinstance(value, Iterable):
        raise ConfigError(NEITHER_FILES_NOR_DATA.format(argument))
    if isinstance(value, list | tuple):
        if value and all(isinstance(each, os.PathLike) for each in value):
            return False
        if 0 < len(value) <= MAX_FILES_TO_CHECK and all(_is_file(each) for each in value):
            raise ConfigError(
                f"{argument} is a list of texts, but each is the name of a file; for files give pathlib.Path"
            )
    return True


def _is_file(text: object) -> bool:
    try:
        return isinstance(text, str) and Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a NUL
        return False


def _zip_columns(first_name: str, first: Any, second_name: str, second: Any) -> Rows:
    """Return the rows of two columns in memory."""
    for name, value, other in ((first_name, first, second_name), (second_name, second, first_name)):
        if value is None:
            raise ConfigError(f"{other} needs {name}, with a text for each of its own")
        if isinstance(value, str | os.PathLike) or is_table(value):
            raise ConfigError(f"{first_name} and {second_name} must both be files, or both lists of texts")
    firsts, seconds = column_values(first), column_values(second)
    if len(firsts) != len(seconds):
        raise DataError(
            f"{first_name} has {len(firsts):,} texts and {second_name} {len(seconds):,}; "
            "they go together one by one"
        )
    return _text_rows(first_name, firsts, second_name, seconds)


def _pair_rows(argument: str, pairs: Any, options: PairOptions) -> Rows:
    """Return the rows of a table of pairs, or of a list of two texts each."""
    if not is_table(pairs):
        pairs = list(pairs)
        if all(isinstance(each, tuple | list) and len(each) == 2 for each in pairs):
            return _text_rows("source", [pair[0] for pair in pairs], "target", [pair[1] for pair in pairs])
    columns = _to_columns(argument, pairs)
    if (structs := columns.get(TRANSLATION_KEY)) and isinstance(structs[0], Mapping):
        source, target = choose_direction(argument, [str(language) for language in structs[0]], options)
        columns = {language: [each.get(language) for each in structs] for language in (source, target)}
        options = PairOptions()
    names = list(columns)
    is_by_place = len(names) == 2 and options.columns == options.languages == (None, None)
    selected = None
    if not is_by_place or TARGET_COLUMN_NAMES & {name.casefold() for name in names}:
        selected = select_pair_columns(argument, names, options)
    if selected is None and len(names) != 2:
        reject_unnamed_column(argument, names, column_roles(options))
    first, second = (names[index] for index in (selected or FIRST_TWO_COLUMNS).indexes)
    return _text_rows(f"{argument} column {first!r}", columns[first], f"column {second!r}", columns[second])


def _to_columns(argument: str, value: Any) -> dict[str, list[Any]]:
    """Return the columns of a table or of a list of mappings."""
    if is_table(value):
        return table_columns(value)
    rows = list(value)
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        advice = "tuples of two texts" if argument.endswith("pairs") else "two lists in texts and labels"
        raise ConfigError(f"{argument} must be files, a table or a list of mappings; or give {advice}")
    return {str(name): column_values(row.get(name) for row in rows) for name in rows[0]}


def _rows_by_role(argument: str, columns: Mapping[str, list[Any]], roles: tuple[ColumnRole, ...]) -> Rows:
    first, second = _names_by_role(argument, columns, roles)
    return _text_rows(f"{argument} column {first!r}", columns[first], f"column {second!r}", columns[second])


def _names_by_role(
    argument: str, columns: Mapping[str, list[Any]], roles: tuple[ColumnRole, ...]
) -> tuple[str, str]:
    names = list(columns)
    selected = select_columns(argument, names, roles)
    if selected is None:
        reject_unnamed_column(argument, names, roles)
    first, second = (names[index] for index in selected.indexes)
    return first, second


def _text_rows(first_name: str, first: list[Any], second_name: str, second: list[Any]) -> Rows:
    if not first:
        raise DataError(f"{first_name} has no texts; there is nothing to train on")
    return list(zip(_texts(first_name, first), _texts(second_name, second), strict=True))


def _texts(name: str, values: list[Any]) -> list[str]:
    """Return values as texts on one line each; whole numbers may be labels."""
    texts = []
    for number, value in enumerate(values):
        if not isinstance(value, str | int):
            what = "is missing" if value is None else f"is {type(value).__name__}, not text"
            raise DataError(f"{name} {what} in row {number}; drop that row, or correct it")
        text = str(value)
        if not text.isascii():
            reject_lone_surrogates(f"{name} in row {number}", text)
        texts.append(LINE_BREAKS.sub(" ", text))
    return texts


def _json_line(row: Mapping[str, str]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _is_time_series(value: object) -> bool:
    """Return whether a value is a pandas Series, whose index can be of times."""
    return hasattr(value, "to_frame") and hasattr(value, "index")


def _take_series(arguments: dict[str, Any], series: Any) -> str:
    """Return a table of series as CSV, and name its columns in the arguments as the file does.

    An index of times is the time column.
    """
    table = table_columns(series if is_table(series) else series.to_frame(name=series.name or "value"))
    columns = {" ".join(name.split()): values for name, values in table.items()}
    if has_time_index(series):
        arguments.setdefault("time", next(iter(columns)))
    if "time" in arguments:
        arguments["time"] = " ".join(arguments["time"].split())
    if "columns" in arguments:
        arguments["columns"] = [" ".join(name.split()) for name in arguments["columns"]]
    for name in (arguments.get("time"), *arguments.get("columns", ())):
        if name is not None and name not in columns:
            raise DataError(f"series has no column {name!r}; it has {', '.join(columns)}")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*map(format_cells, columns.values()), strict=True))
    return text.getvalue()
