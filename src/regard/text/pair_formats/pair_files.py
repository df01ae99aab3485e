"""A corpus of sentence pairs: two text files, or one file with both sides in any of the pair formats."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from regard.errors import DataError
from regard.text.compression import COMPRESSED_SUFFIXES, ChunkCallback
from regard.text.corpus_files import CorpusUnit, RawRow, normalize_text, unit_noun
from regard.text.file_types import FileType, file_type_by_content, file_type_by_name, read_head
from regard.text.languages import Direction, languages_of_file_names
from regard.text.lines import read_sentence_lines
from regard.text.pair_formats.parquet_pairs import read_parquet_units
from regard.text.pair_formats.po_pairs import find_po_languages, read_po_units
from regard.text.pair_formats.table_pairs import read_json_units, read_table_units
from regard.text.pair_formats.tmx_pairs import find_tmx_languages, read_tmx_units
from regard.text.pair_formats.units import PairOptions
from regard.text.pair_formats.xliff_pairs import find_xliff_languages, read_xliff_units
from regard.text.table_rows import TABLE_SUFFIXES, file_suffix

PARQUET_SUFFIXES = (".parquet", ".pq")
XLIFF_SUFFIXES = (".xliff", ".xlf")
PAIR_SUFFIXES = (*TABLE_SUFFIXES, ".jsonl", *PARQUET_SUFFIXES, ".tmx", *XLIFF_SUFFIXES, ".po")
"""Endings of files that hold both sides; all but Parquet may be compressed."""
UNIT_READERS = {
    ".jsonl": read_json_units,
    **dict.fromkeys(PARQUET_SUFFIXES, read_parquet_units),
    ".tmx": read_tmx_units,
    **dict.fromkeys(XLIFF_SUFFIXES, read_xliff_units),
    ".po": read_po_units,
}
TITLES_BY_SUFFIX = {
    ".jsonl": ("JSON lines", "JSON"),
    **dict.fromkeys(PARQUET_SUFFIXES, ("a Parquet file",)),
    ".tmx": ("a translation memory", "XML", "UTF-16 text"),
    **dict.fromkeys(XLIFF_SUFFIXES, ("XLIFF", "XML", "UTF-16 text")),
    ".po": ("gettext messages",),
}
"""The types of content that a file with this ending may have, beside plain text."""
OnSkip = Callable[[CorpusUnit], object]
"""Receives each unit that is no pair to learn from."""


@dataclass(frozen=True)
class PairFiles:
    """A source and a target file, or one file with both; each plain, .gz, .xz or .zst."""

    source: Path
    target: Path | None = None
    options: PairOptions = field(default_factory=PairOptions)

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.source,) if self.target is None else (self.source, self.target)

    @property
    def name(self) -> str:
        return " and ".join(map(str, self.files))

    @property
    def unit_noun(self) -> str:
        """What the numbers of its pairs count: lines, rows or units."""
        return unit_noun(self.source) if self.target is None else "line"

    @property
    def reading_options(self) -> tuple[str | None, ...]:
        """What decides how the files are read, beside their suffixes."""
        return () if self.target is not None else (*self.options.languages, *self.options.columns)

    def normalize_row(self, row: RawRow) -> tuple[str, str]:
        """Return both sides as training sees them."""
        source, target = (normalize_text((side or b"").decode("utf-8", "replace")) for side in row)
        return source, target

    def read_rows(
        self, on_chunk: ChunkCallback | None = None, on_skip: OnSkip | None = None
    ) -> Iterator[RawRow]:
        """Yield the source and the target of each pair; `on_skip` receives the units that are none."""
        if self.target is not None:
            return zip_longest(
                read_sentence_lines(self.source, on_chunk), read_sentence_lines(self.target, on_chunk)
            )
        return _rows_of_units(self.read_units(on_chunk), on_skip)

    def read_units(self, on_chunk: ChunkCallback | None = None) -> Iterator[CorpusUnit]:
        """Yield the lines, rows or units of the files with their positions, also those that are skipped."""
        if self.target is not None:
            return (CorpusUnit(number, number, row) for number, row in enumerate(self.read_rows(on_chunk), 1))
        self.reject_other_content()
        suffix = file_suffix(self.source)
        if suffix in TABLE_SUFFIXES:
            return read_table_units(self.source, suffix, self.options, on_chunk)
        return UNIT_READERS[suffix](self.source, self.options, on_chunk)

    def find_languages(self) -> Direction:
        """Return the languages that are given, that a file declares, or that the names of two files have."""
        if None not in self.options.languages:
            return self.options.languages
        if self.target is not None:
            declared = languages_of_file_names(str(self.source), str(self.target))
        elif (suffix := file_suffix(self.source)) == ".tmx":
            declared = find_tmx_languages(self.source, self.options)
        elif suffix in XLIFF_SUFFIXES:
            declared = find_xliff_languages(self.source)
        else:
            declared = find_po_languages(self.source) if suffix == ".po" else (None, None)
        source, target = self.options.languages
        return source or declared[0], target or declared[1]

    def reject_other_content(self) -> None:
        """Raise an error unless the content of each file is what its name and its use say."""
        if self.target is not None:
            for path in self.files:
                _reject_other_than_text(path)
        else:
            _reject_other_than_pairs(self.source)


def _rows_of_units(units: Iterator[CorpusUnit], on_skip: OnSkip | None) -> Iterator[RawRow]:
    for unit in units:
        if unit.skipped is None:
            yield unit.row
        elif on_skip is not None:
            on_skip(unit)


def _reject_other_than_text(path: Path) -> None:
    found = file_type_by_name(path)
    if found is None and path.is_file():  # a pipe would lose its first bytes
        found = file_type_by_content(read_head(path), path)
    if found is None:
        return
    if found.suffix in PAIR_SUFFIXES:
        raise DataError(
            f"{path} is {found.title}, not plain text with one sentence per line; if it holds both sides, "
            f"give it with --pairs{_suffix_hint(path, found)}"
        )
    raise DataError(
        f"{path} is {found.title}, not plain text with one sentence per line; convert it, or give it a name "
        "that ends in .txt if it is"
    )


def _reject_other_than_pairs(path: Path) -> None:
    suffix = file_suffix(path)
    if suffix in PARQUET_SUFFIXES and path.suffix.lower() in COMPRESSED_SUFFIXES:
        raise DataError(f"{path} is a compressed Parquet file; decompress it first")
    if suffix not in PAIR_SUFFIXES:
        found = file_type_by_content(read_head(path), path)
        if found is not None:
            raise DataError(f"{path} is {found.title}{_suffix_hint(path, found) or _endings_hint()}")
        raise DataError(f"{path} does not say how it holds pairs{_endings_hint()}")
    head = read_head(path)
    found = file_type_by_content(head, path)
    if suffix in PARQUET_SUFFIXES and (found is None or found.title != "a Parquet file"):
        raise DataError(f"{path} is {found.title if found else 'text'}, not Parquet; give it its own ending")
    if found is None or found.title in TITLES_BY_SUFFIX.get(suffix, ()):
        return
    if suffix == ".tsv" and found.title in ("HTML", "XML") and b"\t" in head.partition(b"\n")[0]:
        return  # the first cell looks like markup
    raise DataError(f"{path} is {found.title}, not {suffix}{_suffix_hint(path, found) or '; convert it'}")


def _suffix_hint(path: Path, found: FileType) -> str:
    """Return how to name a file of pairs whose name has another ending."""
    has_ending = file_suffix(path) in PAIR_SUFFIXES and found.suffix == file_suffix(path)
    return (
        f"; its name must end in {found.suffix}" if found.suffix in PAIR_SUFFIXES and not has_ending else ""
    )


def _endings_hint() -> str:
    return (
        "; its name must end in .tsv, .csv, .jsonl, .parquet, .tmx, .xliff or .po, all but .parquet "
        "optionally followed by .gz, .xz or .zst"
    )
