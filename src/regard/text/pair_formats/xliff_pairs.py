"""Sentence pairs in XLIFF 1.2 and 2 files: source and target of each unit, streamed."""

from collections.abc import Iterator
from pathlib import Path

from regard.errors import DataError
from regard.text.compression import ChunkCallback, read_decompressed
from regard.text.corpus_files import CorpusUnit, RawRow, SkipReason
from regard.text.languages import Direction
from regard.text.pair_formats.units import NO_ROW, PairOptions, is_reversed
from regard.text.pair_formats.xml_segments import SegmentText
from regard.text.xml_parser import parse_xml_chunks

UNIT_ELEMENTS = ("trans-unit", "segment")
UNTRANSLATED_STATES = ("new", "needs-translation", "initial")
"""States of a target without a translation yet: some tools copy the source there."""
GUESSED_SUBSTATE = "regard:placeholder-guessed"
"""With state="initial", the mark of a target of XLIFF 2 in which `regard translate` guessed a place."""


def read_xliff_units(
    path: Path, options: PairOptions, on_chunk: ChunkCallback | None = None
) -> Iterator[CorpusUnit]:
    """Yield the units of a file; one without a finished translation is skipped.

    The sides are swapped if the languages that are asked for are those of the file in reverse.
    """
    reader = _XliffReader(str(path), options)
    for _ in parse_xml_chunks(str(path), read_decompressed(path, on_chunk), reader):
        yield from reader.take_units()


def find_xliff_languages(path: Path) -> Direction:
    """Return the languages that a file declares before its first unit."""
    reader = _XliffReader(str(path), PairOptions())
    for _ in parse_xml_chunks(str(path), read_decompressed(path), reader):
        if reader.take_units():
            break
    return reader.declared


class _XliffReader:
    """Collects units from the events of the parser."""

    def __init__(self, name: str, options: PairOptions) -> None:
        self._name, self._options = name, options
        self.declared: Direction = (None, None)
        self._is_reversed = False
        self._units: list[CorpusUnit] = []
        self._open: list[tuple[str, str]] = []
        """The names of the open elements, and whether their content is translated: yes or no."""
        self._number = self._line = 0
        self._states: tuple[str, str] = ("", "")
        """state and subState of the open unit, or of its target."""
        self._sides: dict[str, bytes] = {}
        self._side = ""
        self._segment: SegmentText | None = None

    def take_units(self) -> list[CorpusUnit]:
        """Return the units since the last call."""
        units, self._units = self._units, []
        return units

    def start(self, name: str, attributes: dict[str, str], line: int) -> None:
        if not self._open and name != "xliff":
            raise DataError(f"{self._name} is XML, but not XLIFF; its outermost element must be <xliff>")
        if self._segment is not None:
            self._segment.start(name, attributes)
            return
        parent, translate = self._open[-1] if self._open else ("", "yes")
        if name == "xliff":
            self._declare(attributes.get("srcLang"), attributes.get("trgLang"), line)
        elif name == "file":
            self._declare(attributes.get("source-language"), attributes.get("target-language"), line)
        elif name in UNIT_ELEMENTS:
            self._number, self._line, self._sides = self._number + 1, line, {}
            self._states = attributes.get("state", ""), attributes.get("subState", "")
        elif name in ("source", "target") and parent in UNIT_ELEMENTS:
            self._side, self._segment = name, SegmentText(self._name, line)
            if name == "target" and "state" in attributes:
                self._states = attributes["state"], attributes.get("state-qualifier", "")
        self._open.append((name, attributes.get("translate", translate)))

    def end(self, name: str) -> None:
        if self._segment is not None and self._segment.depth:
            self._segment.end()
            return
        if self._segment is not None:
            self._sides.setdefault(self._side, self._segment.encode())
            self._segment = None
        elif name in UNIT_ELEMENTS:
            self._units.append(self._make_unit(self._open[-1][1]))
        self._open.pop()

    def text(self, text: str) -> None:
        if self._segment is not None:
            self._segment.text(text)

    def _declare(self, source: str | None, target: str | None, line: int) -> None:
        """Note the languages of the document or of one of its files."""
        if source is None and target is None:
            return
        declared = source or self.declared[0], target or self.declared[1]
        reverse = is_reversed(f"{self._name} line {line}", declared, self._options)
        if self._options.languages == (None, None) and self._number and declared != self.declared:
            before, now = (" to ".join(code or "?" for code in pair) for pair in (self.declared, declared))
            raise DataError(
                f"{self._name} line {line} begins a file in other languages ({now}, not {before}); "
                "choose with --source-language and --target-language"
            )
        self.declared, self._is_reversed = declared, reverse

    def _make_unit(self, translate: str) -> CorpusUnit:
        source, target = self._sides.get("source", b""), self._sides.get("target", b"")
        state, detail = self._states
        skipped: SkipReason | None = None
        is_guessed = detail == GUESSED_SUBSTATE
        if translate == "no" or not target or (state in UNTRANSLATED_STATES and not is_guessed):
            skipped = "untranslated"
        elif is_guessed or state.startswith("needs-"):
            skipped = "fuzzy"
        row: RawRow = (target, source) if self._is_reversed else (source, target)
        return CorpusUnit(self._number, self._line, NO_ROW if skipped else row, skipped)
