"""Files of labelled texts: .tsv, .csv and .jsonl with both, or a file of texts and one of labels."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from regard.errors import DataError
from regard.text.compression import ChunkCallback
from regard.text.corpus_files import (
    MALFORMED_ROW,
    CorpusUnit,
    RawRow,
    encode_json_text,
    normalize_text,
)
from regard.text.file_types import file_type_by_content, is_binary, read_head
from regard.text.lines import read_lines
from regard.text.table_rows import (
    LABEL_COLUMN_NAMES,
    TABLE_SUFFIXES,
    TEXT_COLUMN_NAMES,
    ColumnRole,
    SelectedColumns,
    TableRow,
    file_suffix,
    read_table_rows,
    reject_unnamed_column,
    select_columns,
)

HEADER_ROW: RawRow = (b"text", b"label")
"""Stands for a first line that names the columns: a line like the others, but not training data."""
LABEL_FIRST = SelectedColumns((1, 0), has_header=False)
"""The columns of text and label in a table whose first row does not name them."""
CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
"""All but the tab."""
BLANKS = re.compile(r"\s+")


def clean_text(text: str) -> str:
    """Return a text as a classifier reads it, in training and in use.

    Control characters become spaces; the rest is stripped, and in Unicode form NFC.
    """
    return normalize_text(text if text.isprintable() else CONTROL_CHARACTERS.sub(" ", text))


def clean_label(label: str) -> str:
    """Return a label on one line: as a text, and each run of white space, a tab too, is one space."""
    return BLANKS.sub(" ", clean_text(label))


@dataclass(frozen=True)
class LabelledFiles:
    """A file of texts and one of labels, or one .tsv, .csv or .jsonl file; each plain, .gz, .xz or .zst.

    The columns of a table are those of `text_column` and `label_column`, a name or a number from 1, or
    else those that its first row names; without such a row it is label, text.
    """

    texts: Path
    labels: Path | None = None
    text_column: str | None = None
    label_column: str | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.texts,) if self.labels is None else (self.texts, self.labels)

    @property
    def name(self) -> str:
        return " and ".join(map(str, self.files))

    @property
    def reading_options(self) -> tuple[str | None, ...]:
        """What decides how the files are read, beside their suffixes."""
        return self.text_column, self.label_column

    @property
    def unit_noun(self) -> str:
        """What the numbers of its rows count."""
        return "line"

    @property
    def may_have_header(self) -> bool:
        """Whether a first row that is not recognised could still be a header."""
        is_table = self.labels is None and file_suffix(self.texts) in TABLE_SUFFIXES
        return is_table and self.reading_options == (None, None)

    def normalize_row(self, row: RawRow) -> tuple[str, str]:
        """Return text and label as training sees them."""
        text, label = ((side or b"").decode("utf-8", "replace") for side in row)
        return clean_text(text), clean_label(label)

    def read_rows(self, on_chunk: ChunkCallback | None = None) -> Iterator[RawRow]:
        """Yield the text and the label of each line; a row of a .csv with line breaks in it counts as one."""
        if self.labels is not None:
            return zip_longest(read_lines(self.texts, on_chunk), read_lines(self.labels, on_chunk))
        match suffix := file_suffix(self.texts):
            case ".tsv" | ".csv":
                return self._read_table(suffix, read_table_rows(self.texts, suffix, on_chunk))
            case ".jsonl":
                keys = self.text_column or "text", self.label_column or "label"
                return (_parse_labelled_json(line, *keys) for line in read_lines(self.texts, on_chunk))
            case _:
                raise DataError(
                    f"{self.texts} does not say how a line holds a text and its label; its name must end in "
                    ".tsv, .csv or .jsonl, optionally followed by .gz, .xz or .zst"
                )

    def read_units(self, on_chunk: ChunkCallback | None = None) -> Iterator[CorpusUnit]:
        """Yield the rows with their numbers."""
        return (CorpusUnit(number, number, row) for number, row in enumerate(self.read_rows(on_chunk), 1))

    def reject_other_content(self) -> None:
        """Raise an error about binary data, UTF-16 and archives."""
        for path in filter(Path.is_file, self.files):
            head = read_head(path)
            if is_binary(head) and (found := file_type_by_content(head)) is not None:
                raise DataError(f"{path} is {found.title}; convert it to UTF-8 text")

    def _read_table(self, suffix: str, rows: Iterator[TableRow]) -> Iterator[RawRow]:
        first = next(rows, None)
        if first is None:
            return
        selected = select_columns(str(self.texts), first.cells, self._column_roles)
        width = 2 if selected is None else len(first.cells)
        if selected is None and suffix == ".csv" and first.cells and len(first.cells) != width:
            reject_unnamed_column(str(self.texts), first.cells, self._column_roles)
        columns = selected or LABEL_FIRST
        if columns.has_header:
            yield HEADER_ROW
        else:
            rows = chain([first], rows)
        text, label = columns.indexes
        for _, cells in rows:
            is_row = len(cells) == width
            yield (_encode_cell(cells[text]), _encode_cell(cells[label])) if is_row else MALFORMED_ROW

    @property
    def _column_roles(self) -> tuple[ColumnRole, ...]:
        return (
            ColumnRole("texts", "--text-column", TEXT_COLUMN_NAMES, self.text_column),
            ColumnRole("labels", "--label-column", LABEL_COLUMN_NAMES, self.label_column),
        )


def _encode_cell(cell: str) -> bytes:
    return cell.encode("utf-8", "surrogateescape")


def _parse_labelled_json(line: bytes, text_key: str, label_key: str) -> RawRow:
    """Return the text and the label of an object; the label may be a number, true or false."""
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return MALFORMED_ROW
    text, label = (value.get(text_key), value.get(label_key)) if isinstance(value, dict) else (None, None)
    if not isinstance(text, str) or not isinstance(label, str | int):
        return MALFORMED_ROW
    return encode_json_text(text), encode_json_text(label if isinstance(label, str) else json.dumps(label))
