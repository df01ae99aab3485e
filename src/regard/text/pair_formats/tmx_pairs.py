"""Sentence pairs in TMX translation memories: two languages of each unit, streamed."""

from collections.abc import Iterator
from pathlib import Path

from regard.errors import DataError
from regard.text.compression import ChunkCallback, read_decompressed
from regard.text.corpus_files import CorpusUnit, RawRow
from regard.text.languages import Direction, normalize_language
from regard.text.pair_formats.units import (
    NO_ROW,
    PairOptions,
    direction_error,
    find_language,
    join_names,
)
from regard.text.pair_formats.xml_segments import SegmentText
from regard.text.xml_parser import parse_xml_chunks


def read_tmx_units(
    path: Path, options: PairOptions, on_chunk: ChunkCallback | None = None
) -> Iterator[CorpusUnit]:
    """Yield the units of a translation memory; one without both languages is skipped as untranslated.

    A memory has no direction: at least one language must be given, and of two the other one is clear.
    """
    reader = _TmxReader(str(path), options)
    for _ in parse_xml_chunks(str(path), read_decompressed(path, on_chunk), reader):
        yield from reader.take_units()
    reader.reject_unusable()


def find_tmx_languages(path: Path, options: PairOptions) -> Direction:
    """Return the languages that are given, or that the first unit with both has."""
    if None not in options.languages:
        return options.languages
    reader = _TmxReader(str(path), options)
    for _ in parse_xml_chunks(str(path), read_decompressed(path), reader):
        if any(unit.skipped is None for unit in reader.take_units()):
            break
    return options.source_language or reader.other_language, options.target_language or reader.other_language


class _TmxReader:
    """Collects units from the events of the parser."""

    def __init__(self, name: str, options: PairOptions) -> None:
        self._name, self._options = name, options
        self.other_language: str | None = None
        """The language beside the only one that is given."""
        self._units: list[CorpusUnit] = []
        self._languages: dict[str, str] = {}
        """All languages in the order of their first segments, by their normalized codes."""
        self._open: list[str] = []
        self._number = self._line = self._pairs = 0
        self._variants: dict[str, bytes] = {}
        self._language = ""
        self._segment: SegmentText | None = None

    def take_units(self) -> list[CorpusUnit]:
        """Return the units since the last call."""
        units, self._units = self._units, []
        return units

    def reject_unusable(self) -> None:
        """Raise an error if the languages are unclear, or if no unit has both."""
        languages = list(self._languages.values())
        if self._options.languages == (None, None) or not languages:
            raise direction_error(self._name, languages, self._options)
        for requested in filter(None, self._options.languages):
            if find_language(languages, requested) is None:
                raise DataError(f"{self._name} has no text in {requested}; it has {join_names(languages)}")
        if not self._pairs and len(languages) < 2:
            raise direction_error(self._name, languages, self._options)

    def start(self, name: str, attributes: dict[str, str], line: int) -> None:
        if not self._open and name != "tmx":
            raise DataError(f"{self._name} is XML, but not TMX; its outermost element must be <tmx>")
        if self._segment is not None:
            self._segment.start(name, attributes)
            return
        parent = self._open[-1] if self._open else ""
        if name == "tu":
            self._number, self._line, self._variants = self._number + 1, line, {}
        elif name == "tuv" and parent == "tu":
            self._language = attributes.get("xml:lang") or attributes.get("lang") or ""
        elif name == "seg" and parent == "tuv":
            self._segment = SegmentText(self._name, line)
        self._open.append(name)

    def end(self, name: str) -> None:
        if self._segment is not None and self._segment.depth:
            self._segment.end()
            return
        if self._segment is not None:
            self._variants.setdefault(self._language, self._segment.encode())
            self._languages.setdefault(normalize_language(self._language), self._language)
            self._segment = None
        elif name == "tu":
            self._units.append(self._make_unit())
        self._open.pop()

    def text(self, text: str) -> None:
        if self._segment is not None:
            self._segment.text(text)

    def _make_unit(self) -> CorpusUnit:
        languages = [code for code in self._variants if code]
        found = [
            None if requested is None else find_language(languages, requested)
            for requested in self._options.languages
        ]
        if None in found and None in self._options.languages and found != [None, None]:
            found = [code or self._find_other(languages, found) for code in found]
        source, target = (None if code is None else self._variants[code] for code in found)
        if source is None or target is None or not target:
            return CorpusUnit(self._number, self._line, NO_ROW, "untranslated")
        self._pairs += 1
        row: RawRow = source, target
        return CorpusUnit(self._number, self._line, row)

    def _find_other(self, languages: list[str], found: list[str | None]) -> str | None:
        """Return the language beside the one that is given; raise an error if there are several."""
        others = [code for code in languages if code not in found]
        if len(others) > 1 or (others and self.other_language not in (None, others[0])):
            known = list(dict.fromkeys([*self._languages.values(), *languages]))
            raise direction_error(self._name, known, self._options)
        if others:
            self.other_language = others[0]
        return others[0] if others else None
