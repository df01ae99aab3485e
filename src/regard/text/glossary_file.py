"""Glossary files: .tsv and .csv tables, and TBX term bases (ISO 30042), read into pairs of terms."""

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from regard.errors import DataError
from regard.text.compression import COMPRESSED_SUFFIXES
from regard.text.corpus_files import read_texts
from regard.text.languages import is_language_code, is_same_language, normalize_language
from regard.text.xml_parser import create_xml_parser, xml_syntax_error

LanguagePair = tuple[str | None, str | None]
"""Codes of the source and the target language; None: not given."""
GlossaryEntries = tuple[tuple[str, str], ...]

COLUMN_NAMES = {
    "source": ("source", "source_term", "source term", "source text", "source_text", "source string"),
    "target": ("target", "target_term", "target term", "target text", "target_text", "translation"),
}
"""Names of a column in a header, apart from language codes; in lower case."""
ENTRY_ELEMENTS, LANGUAGE_ELEMENTS = ("termEntry", "conceptEntry"), ("langSet", "langSec")
"""Elements of TBX before 2019 and since: a concept, and its terms in one language."""


def read_glossary_entries(path: Path, languages: LanguagePair = (None, None)) -> GlossaryEntries:
    """Read pairs of terms from a .csv or .tbx file, or from any other as .tsv; blank lines are skipped."""
    name = path.with_suffix("") if path.suffix.lower() in COMPRESSED_SUFFIXES else path
    match name.suffix.lower():
        case ".csv":
            return tuple(_read_table(path, _read_csv_rows, languages))
        case ".tbx" | ".xml":
            return _read_tbx(path, languages)
        case _:
            return tuple(_read_table(path, _read_tsv_rows, languages))


Row = tuple[int, Sequence[str]]
"""The number of a line and its fields."""


def _read_table(
    path: Path, read_rows: Callable[[Path], Iterator[Row]], languages: LanguagePair
) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a table; a first line that names both columns says which they are."""
    columns = None
    for number, row in read_rows(path):
        fields = [each.strip() for each in row]
        if not any(fields):
            continue
        if columns is None:
            named = _find_named_columns(path, fields, languages)
            columns = named or (0, 1)
            if named:
                continue
        source, target = (fields[column] if column < len(fields) else "" for column in columns)
        if not source or not target:
            raise DataError(
                f"{path} line {number} is no glossary entry; write the source phrase and its translation in "
                f"columns {columns[0] + 1} and {columns[1] + 1}"
            )
        yield source, target


def _find_named_columns(path: Path, fields: Sequence[str], languages: LanguagePair) -> tuple[int, int] | None:
    """Return the columns of source and target if the fields are a header; None: they are an entry."""
    names = [normalize_language(name) for name in fields]
    chosen = [_find_column(names, side, code) for side, code in zip(COLUMN_NAMES, languages, strict=True)]
    if None not in chosen:
        return chosen[0] or 0, chosen[1] or 0
    codes = [name for name in names if is_language_code(name)]
    is_header = len(codes) >= 2 and any(is_language_code(name) for name in names[:2]) and None in languages
    return _choose_two(str(path), names, codes, languages) if is_header else None


def _find_column(names: Sequence[str], side: str, language: str | None) -> int | None:
    """Return the column of a language, or else the one called source or target."""
    if language is not None:
        matching = [n for n, name in enumerate(names) if is_same_language(name, language)]
        if matching:
            return matching[0]
    known = [name.replace(" ", "-").replace("_", "-") for name in COLUMN_NAMES[side]]
    return next((n for n, name in enumerate(names) if name.replace(" ", "-") in known), None)


def _choose_two(
    name: str, names: Sequence[str], codes: Sequence[str], languages: LanguagePair
) -> tuple[int, int]:
    """Return the places of the languages asked for; of two languages the other one need not be named."""
    places = [
        next((names.index(code) for code in codes if language and is_same_language(code, language)), None)
        for language in languages
    ]
    for language, place in zip(languages, places, strict=True):
        if language is not None and place is None:
            raise DataError(f"{name} has no terms in {language}; it has {', '.join(codes)}")
    if None in places and len(codes) > 2:
        raise DataError(
            f"{name} has terms in {', '.join(codes)}; choose two with --source-language and --target-language"
        )
    free = [names.index(code) for code in codes if names.index(code) not in places]
    source, target = (free.pop(0) if place is None else place for place in places)
    return source, target


def _read_tsv_rows(path: Path) -> Iterator[Row]:
    for number, line in enumerate(read_texts(path), start=1):
        text = line.removeprefix("\ufeff") if number == 1 else line
        if text.strip() and "\t" not in text:
            raise DataError(
                f"{path} line {number} is no glossary entry; write the source phrase, a tab and its "
                "translation"
            )
        yield number, text.split("\t")


def _read_csv_rows(path: Path) -> Iterator[Row]:
    """Yield rows of fields between commas, or between semicolons if the first line has more of them."""
    lines = read_texts(path)
    lines[0] = lines[0].removeprefix("\ufeff")
    delimiter = max(",;\t", key=lines[0].count)
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    number = 1
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise DataError(f"{path} line {number} is not CSV: {error}") from None
        if row is None:
            return
        yield number, row
        number = reader.line_num + 1


@dataclass
class _TermBaseReader:
    """Collects the terms of a TBX document by concept and language, from the events of expat."""

    path: Path
    concepts: list[tuple[int, dict[str, list[str]]]] = field(default_factory=list)
    """The line of each concept, and its terms by language."""
    _terms: list[str] | None = None
    """The terms of the open language; None: none is open."""
    _text: list[str] | None = None
    """The text of the open term."""

    def read(self) -> None:
        parser = create_xml_parser(str(self.path))

        def start(name: str, attributes: dict[str, Any]) -> None:
            self._start(name.rpartition(":")[2], attributes, parser.CurrentLineNumber)

        parser.StartElementHandler = start
        parser.EndElementHandler = lambda name: self._end(name.rpartition(":")[2])
        parser.CharacterDataHandler = lambda text: None if self._text is None else self._text.append(text)
        try:
            parser.Parse("\n".join(read_texts(self.path)).removeprefix("\ufeff").encode(), True)
        except expat.ExpatError as error:
            raise xml_syntax_error(str(self.path), error) from None

    def _start(self, name: str, attributes: dict[str, Any], line: int) -> None:
        if name in ENTRY_ELEMENTS:
            self.concepts.append((line, {}))
        elif name in LANGUAGE_ELEMENTS and self.concepts:
            language = attributes.get("xml:lang") or attributes.get("lang")
            if not language:
                raise DataError(f"{self.path} line {line} has a {name} without its language; add xml:lang")
            self._terms = self.concepts[-1][1].setdefault(normalize_language(language), [])
        elif name == "term" and self._terms is not None:
            self._text = []

    def _end(self, name: str) -> None:
        if name == "term" and self._terms is not None and self._text is not None:
            if term := " ".join("".join(self._text).split()):
                self._terms.append(term)
            self._text = None
        elif name in LANGUAGE_ELEMENTS:
            self._terms = None


def _read_tbx(path: Path, languages: LanguagePair) -> GlossaryEntries:
    """Return each term of the source language with the first term of the target language."""
    reader = _TermBaseReader(path)
    reader.read()
    codes = list(dict.fromkeys(code for _, terms in reader.concepts for code in terms))
    if len(codes) < 2:
        raise DataError(f"{path} is no term base with two languages; TBX has a langSet or langSec for each")
    source, target = (codes[place] for place in _choose_two(str(path), codes, codes, languages))
    return tuple(
        (term, translation)
        for _, terms in reader.concepts
        for term in terms.get(source, ())
        for translation in terms.get(target, ())
    )
