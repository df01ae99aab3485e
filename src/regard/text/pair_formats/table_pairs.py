"""Sentence pairs in .tsv, .csv and .jsonl files: which columns or keys they are in, and the rows."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from regard.errors import DataError
from regard.text.compression import ChunkCallback
from regard.text.corpus_files import MALFORMED_ROW, CorpusUnit, RawRow, encode_json_text
from regard.text.languages import is_language_code, normalize_language
from regard.text.lines import read_lines
from regard.text.pair_formats.units import (
    NO_ROW,
    PairOptions,
    choose_direction,
    join_lines,
)
from regard.text.table_rows import (
    ColumnRole,
    SelectedColumns,
    read_table_rows,
    reject_unnamed_column,
    select_columns,
)

SOURCE_COLUMN_NAMES = frozenset(("source", "src", "source_text", "source text", "source sentence"))
TARGET_COLUMN_NAMES = frozenset(
    ("target", "tgt", "trg", "target_text", "target text", "target sentence", "translation")
)
"""Names of the columns in a header."""
TRANSLATION_KEY = "translation"
"""Key or column of an object with a text for each language, as in data sets of Hugging Face."""
FIRST_TWO_COLUMNS = SelectedColumns((0, 1), has_header=False)


def column_roles(options: PairOptions) -> tuple[ColumnRole, ColumnRole]:
    """Return the two columns, as `select_columns` looks for them."""
    return (
        ColumnRole("source texts", "--source-column", SOURCE_COLUMN_NAMES, options.source_column),
        ColumnRole("target texts", "--target-column", TARGET_COLUMN_NAMES, options.target_column),
    )


def select_pair_columns(name: str, first: Sequence[str], options: PairOptions) -> SelectedColumns | None:
    """Return the columns by what the user says, by usual names or by languages; None if nothing tells."""
    selected = select_columns(name, first, column_roles(options))
    titles = [cell.strip() for cell in first]
    languages = language_titles(titles, options)
    if selected is not None or len(languages) < 2:
        return selected
    source, target = choose_direction(name, languages, options)
    return SelectedColumns((titles.index(source), titles.index(target)), has_header=True)


def language_titles(titles: Sequence[str], options: PairOptions) -> list[str]:
    """Return the titles that are languages; a column `id` beside two others is a number, not Indonesian."""
    languages = [title for title in titles if is_language_code(normalize_language(title))]
    if len(languages) > 2 and "id" not in options.languages:
        languages = [title for title in languages if title.lower() != "id"]
    return languages


def read_table_units(
    path: Path, suffix: str, options: PairOptions, on_chunk: ChunkCallback | None = None
) -> Iterator[CorpusUnit]:
    """Yield the rows of a .tsv or .csv; the first one may name the columns, and is skipped then.

    The number of a row of a .tsv is its line; in a .csv, the row that names the columns is the first.
    """
    rows = _read_tsv(path, on_chunk) if suffix == ".tsv" else _read_csv(path, suffix, on_chunk)
    first = next(rows, None)
    if first is None:
        return
    cells = [cell.decode("utf-8", "replace") for cell in first[1]]
    selected = select_pair_columns(str(path), cells, options)
    if selected is None and len(cells) > 2 and suffix == ".csv":
        reject_unnamed_column(str(path), cells, column_roles(options))
    width = 2 if selected is None else len(cells)
    columns = selected or FIRST_TWO_COLUMNS
    if columns.has_header:
        yield CorpusUnit(1, first[0], NO_ROW, "header")
    else:
        rows = chain([first], rows)
    source, target = columns.indexes
    for number, (line, values) in enumerate(rows, 1 + columns.has_header):
        row = (
            (join_lines(values[source]), join_lines(values[target]))
            if len(values) == width
            else MALFORMED_ROW
        )
        yield CorpusUnit(number, line, row)


def _read_tsv(path: Path, on_chunk: ChunkCallback | None) -> Iterator[tuple[int, list[bytes]]]:
    return ((number, line.split(b"\t")) for number, line in enumerate(read_lines(path, on_chunk), 1))


def _read_csv(path: Path, suffix: str, on_chunk: ChunkCallback | None) -> Iterator[tuple[int, list[bytes]]]:
    return (
        (row.line, [cell.encode("utf-8", "surrogateescape") for cell in row.cells])
        for row in read_table_rows(path, suffix, on_chunk)
    )


def read_json_units(
    path: Path, options: PairOptions, on_chunk: ChunkCallback | None = None
) -> Iterator[CorpusUnit]:
    """Yield the pairs of a .jsonl file: two keys of each object, or two languages of its `translation`."""
    keys: tuple[str, ...] | None = None
    for number, line in enumerate(read_lines(path, on_chunk), 1):
        value = _parse_object(line)
        if value is None:
            yield CorpusUnit(number, number, MALFORMED_ROW)
            continue
        keys = keys or _find_keys(path, value, options)
        yield (
            _make_unit(number, *_read_keys(value, keys))
            if keys
            else CorpusUnit(number, number, MALFORMED_ROW)
        )


def _parse_object(line: bytes) -> Mapping[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _find_keys(path: Path, value: Mapping[str, Any], options: PairOptions) -> tuple[str, ...] | None:
    """Return the keys of the sides, or those of the languages in `translation`; None: this line has none."""
    if any(options.columns):
        source, target = options.source_column or "source", options.target_column or "target"
        for key, flag in ((source, "--source-column"), (target, "--target-column")):
            if key not in value:
                keys = ", ".join(map(repr, value))
                raise DataError(f"{path} has no key {key!r}; it has {keys}: choose with {flag}")
        return source, target
    nested = value.get(TRANSLATION_KEY)
    if isinstance(nested, dict):
        return TRANSLATION_KEY, *choose_direction(str(path), list(nested), options)
    if "source" in value or "target" in value:
        return "source", "target"
    languages = language_titles(list(value), options)
    return choose_direction(str(path), languages, options) if len(languages) > 1 else None


def _read_keys(value: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[Any, Any]:
    if len(keys) == 3:
        nested = value.get(keys[0])
        value = nested if isinstance(nested, dict) else {}
    return value.get(keys[-2], MALFORMED_ROW), value.get(keys[-1], MALFORMED_ROW)


def _make_unit(number: int, source: Any, target: Any) -> CorpusUnit:
    if isinstance(source, str) and target is None:
        return CorpusUnit(number, number, NO_ROW, "untranslated")
    row: RawRow = MALFORMED_ROW
    if isinstance(source, str) and isinstance(target, str):
        row = join_lines(encode_json_text(source)), join_lines(encode_json_text(target))
    return CorpusUnit(number, number, row)
