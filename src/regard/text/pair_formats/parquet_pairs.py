"""Sentence pairs in Parquet files: two text columns, or a struct with a text for each language."""

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.errors import DataError
from regard.runtime import missing_package
from regard.text.compression import ChunkCallback, wrap_read_errors
from regard.text.corpus_files import CorpusUnit, RawRow
from regard.text.pair_formats.table_pairs import TRANSLATION_KEY, column_roles, language_titles
from regard.text.pair_formats.units import (
    NO_ROW,
    PairOptions,
    choose_direction,
    join_lines,
)
from regard.text.table_rows import reject_unnamed_column, select_columns

BATCH_ROWS = 8192
"""Rows in memory at a time, beside the compressed pages of a row group."""
BUFFER_BYTES = 2**20
"""Bytes of a column that are read ahead."""


def read_parquet_units(
    path: Path, options: PairOptions, on_chunk: ChunkCallback | None = None
) -> Iterator[CorpusUnit]:
    """Yield the rows of a Parquet file; a row without a text on one side is skipped as untranslated."""
    with _open_parquet(path) as file:
        columns = find_parquet_columns(path, file.schema_arrow, options)
        size, rows, done = path.stat().st_size, max(file.metadata.num_rows, 1), 0
        for batch in _read_batches(file, columns):
            source, target = (_read_column(batch, column) for column in columns)
            for number, row in enumerate(zip(source, target, strict=True), done + 1):
                yield _make_unit(number, *row)
            done += batch.num_rows
            if on_chunk is not None:
                on_chunk(bytes(size * batch.num_rows // rows))


def _read_batches(file: Any, columns: Sequence[str]) -> Iterator[Any]:
    """Yield the rows in batches; of all row groups together pyarrow would keep what it has read."""
    for group in range(file.num_row_groups):
        yield from file.iter_batches(BATCH_ROWS, row_groups=[group], columns=list(columns), use_threads=False)


def find_parquet_columns(path: Path, schema: Any, options: PairOptions) -> tuple[str, str]:
    """Return the columns of both sides; that of a language in a struct is `translation.en`."""
    titles = [field.name for field in schema if _is_text(field.type)]
    structs = {field.name: _text_fields(field.type) for field in schema}
    structs = {name: fields for name, fields in structs.items() if len(fields) > 1}
    paths = [f"{name}.{field}" for name, fields in structs.items() for field in fields]
    selected = select_columns(str(path), titles + paths, column_roles(options))
    if selected is not None:
        source, target = ((titles + paths)[index] for index in selected.indexes)
        return source, target
    if len(structs) == 1 or TRANSLATION_KEY in structs:
        name = TRANSLATION_KEY if TRANSLATION_KEY in structs else next(iter(structs))
        source, target = choose_direction(str(path), structs[name], options)
        return f"{name}.{source}", f"{name}.{target}"
    languages = language_titles(titles, options)
    if len(languages) > 1:
        return choose_direction(str(path), languages, options)
    if len(titles + paths) < 2:
        found = ", ".join(map(repr, titles + paths)) or "none"
        raise DataError(f"{path} needs two columns of text, or a struct {TRANSLATION_KEY!r}; it has {found}")
    reject_unnamed_column(str(path), titles + paths, column_roles(options))


@contextmanager
def _open_parquet(path: Path) -> Iterator[Any]:
    if (problem := missing_package("pyarrow", "parquet")) is not None:
        raise DataError(f"{path} cannot be read: {problem}")
    arrow: Any = importlib.import_module("pyarrow")
    parquet: Any = importlib.import_module("pyarrow.parquet")
    with wrap_read_errors(path), path.open("rb"):
        pass  # pyarrow's messages about files that cannot be opened are long
    try:
        with parquet.ParquetFile(path, memory_map=False, buffer_size=BUFFER_BYTES, pre_buffer=False) as file:
            yield file
    except (arrow.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise DataError(f"{path} cannot be read as Parquet: {reason}; write it again") from None


def _is_text(kind: Any) -> bool:
    kind = getattr(kind, "value_type", kind) if str(kind).startswith("dictionary") else kind
    return str(kind) in ("string", "large_string", "string_view")


def _text_fields(kind: Any) -> list[str]:
    if not str(kind).startswith("struct<"):
        return []
    return [field.name for field in kind if _is_text(field.type)]


def _read_column(batch: Any, column: str) -> Sequence[bytes | None]:
    """Return the texts of a column as bytes: one that is not UTF-8 is a finding, not an error."""
    arrow: Any = importlib.import_module("pyarrow")
    name = column if column in batch.schema.names else column.partition(".")[0]
    values = batch.column(name)
    if name != column:
        compute: Any = importlib.import_module("pyarrow.compute")
        values = compute.struct_field(values, column[len(name) + 1 :])
    if str(values.type).startswith("dictionary"):
        values = values.dictionary_decode()
    return values.cast(arrow.large_binary()).to_pylist()


def _make_unit(number: int, source: bytes | None, target: bytes | None) -> CorpusUnit:
    if source is None or target is None:
        return CorpusUnit(number, 0, NO_ROW, "untranslated")
    row: RawRow = join_lines(source), join_lines(target)
    return CorpusUnit(number, 0, row)
