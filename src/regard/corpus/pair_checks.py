"""Checks of sentence pairs: encoding, lengths, copies, duplicates, overlap and misalignment."""

from array import array
from collections import Counter
from dataclasses import dataclass
from functools import partial

import numpy as np

from regard.config import check_ranges, setting
from regard.corpus import findings as kinds
from regard.corpus.dedup import HashFile, KnownHashes, find_duplicates
from regard.corpus.findings import MAX_REPORTED_LINES, CorpusReport, Finding, FindingKind
from regard.corpus.misalignment import BLOCK_LINES, Misalignment, MisalignmentDetector
from regard.corpus.positions import positioned_finding
from regard.corpus.scan import CorpusScan, RowFindingKinds, find_unprintable, int64_view
from regard.text.compression import ChunkCallback
from regard.text.corpus_files import CorpusUnit, normalize_text
from regard.text.pair_formats.pair_files import PairFiles

PAIR_ROW_KINDS = RowFindingKinds(
    kinds.PAIR_FINDING_KINDS, malformed=kinds.MALFORMED_PAIR, shared=kinds.SHARED_SENTENCE, noun="pair"
)
SKIPPED_KINDS = {"untranslated": kinds.UNTRANSLATED, "fuzzy": kinds.FUZZY}
"""The finding of each reason to skip a unit; the header of a table is none."""


@dataclass(frozen=True)
class PairCheckConfig:
    """Thresholds of the pair checks; lengths in characters."""

    max_length: int = setting(5000, at_least=1, at_most=10**9)
    """A longer line is not a sentence."""
    max_ratio: float = setting(9.0, at_least=1, at_most=1000000000.0)
    """A side more than this many times as long as the other is probably not its translation..."""
    ratio_min_length: int = setting(20, at_least=1, at_most=10**9)
    """...if it has at least this many characters: "Yes." may be longer in another language."""
    copy_min_length: int = setting(10, at_least=1, at_most=10**9)
    """Shorter copies are names and numbers, which are correct."""

    def __post_init__(self) -> None:
        check_ranges(self, "check")


DEFAULT_PAIR_CHECKS = PairCheckConfig()


def check_pair_corpus(
    corpus: PairFiles,
    settings: PairCheckConfig = DEFAULT_PAIR_CHECKS,
    against: PairFiles | None = None,
    on_chunk: ChunkCallback | None = None,
    hashes: HashFile | None = None,
) -> CorpusReport:
    """Report the defects of a corpus; raise an error only if a file cannot be read.

    `against` is another corpus, such as the test set, that must share no sentence with this one.
    `hashes` receives the hashes of every pair.
    """
    if hashes is None:
        with HashFile() as own:
            return check_pair_corpus(corpus, settings, against, on_chunk, own)
    known = None if against is None else _known_hashes(against, on_chunk)
    detector = MisalignmentDetector()
    scan = CorpusScan(PAIR_ROW_KINDS, partial(_hash_pair, settings=settings), hashes, known, detector)
    skipped = _SkippedUnits()
    scan.scan(corpus.read_rows(on_chunk, skipped.add))
    names = tuple(map(str, corpus.files))
    duplicates = find_duplicates(hashes.read())
    findings = (
        *(_no_unit_findings(corpus, scan, skipped) or scan.fatal_findings(names)),
        *skipped.findings,
        *_misalignment_findings(detector.find_misalignments(), scan.row_count),
        *scan.row_findings,
        *([Finding(kinds.DUPLICATE_PAIR, len(duplicates), duplicates)] if duplicates else []),
    )
    return CorpusReport(names, *scan.line_counts, findings, unit=corpus.unit_noun)


class _SkippedUnits:
    """Counts the units that are no pairs, and keeps the first positions."""

    def __init__(self) -> None:
        self._counts = Counter[str]()
        self._units: dict[str, list[CorpusUnit]] = {}

    def add(self, unit: CorpusUnit) -> None:
        if unit.skipped in SKIPPED_KINDS:
            self._counts[unit.skipped] += 1
            kept = self._units.setdefault(unit.skipped, [])
            if len(kept) < MAX_REPORTED_LINES:
                kept.append(unit)

    @property
    def findings(self) -> list[Finding]:
        return [
            positioned_finding(Finding(kind, self._counts[reason], []), self._units[reason])
            for reason, kind in SKIPPED_KINDS.items()
            if self._counts[reason]
        ]


def _no_unit_findings(corpus: PairFiles, scan: CorpusScan, skipped: _SkippedUnits) -> list[Finding]:
    """Return the reason why a file of units has no pair at all."""
    if scan.row_count or corpus.target is not None:
        return []
    counts = ", ".join(f"{finding.kind.name} ({finding.count:,})" for finding in skipped.findings)
    detail = f"{corpus.name} has no pair with both sides{f': {counts}' if counts else ''}"
    return [Finding(kinds.NOTHING_USABLE, 0, [], detail)]


def _hash_pair(source: bytes, target: bytes, settings: PairCheckConfig) -> tuple[int, int] | FindingKind:
    result = check_pair(source, target, settings)
    return result if isinstance(result, FindingKind) else (hash(result[0]), hash(result[1]))


def check_pair(
    source: bytes, target: bytes, settings: PairCheckConfig = DEFAULT_PAIR_CHECKS
) -> tuple[str, str] | FindingKind:
    """Return the pair as training sees it, or the kind of its first defect."""
    try:
        raw = source.decode("utf-8"), target.decode("utf-8")
    except UnicodeDecodeError:
        return kinds.NOT_UTF8
    a, b = normalize_text(raw[0]), normalize_text(raw[1])
    if not a or not b:
        return kinds.BLANK_SIDE
    if (unprintable := find_unprintable(*raw)) is not None:
        return unprintable
    return _check_lengths(len(a), len(b), settings) or (
        kinds.IDENTICAL_SIDES if _is_copy(a, b, settings) else (a, b)
    )


def _check_lengths(a: int, b: int, settings: PairCheckConfig) -> FindingKind | None:
    short, long = (a, b) if a < b else (b, a)
    if long > settings.max_length:
        return kinds.LONG_LINE
    if long >= settings.ratio_min_length and long > settings.max_ratio * short:
        return kinds.LENGTH_RATIO
    return None


def _is_copy(a: str, b: str, settings: PairCheckConfig) -> bool:
    return len(a) == len(b) >= settings.copy_min_length and a.lower() == b.lower()


def _known_hashes(corpus: PairFiles, on_chunk: ChunkCallback | None) -> tuple[KnownHashes, KnownHashes]:
    """Return the sorted hashes of the sentences of each side."""
    sides = array("q"), array("q")
    for row in corpus.read_rows(on_chunk):
        for side, line in zip(sides, row, strict=True):
            if line is not None and (sentence := normalize_text(line.decode("utf-8", errors="replace"))):
                side.append(hash(sentence))
    return np.unique(int64_view(sides[0])), np.unique(int64_view(sides[1]))


def _misalignment_findings(misalignments: list[Misalignment], pairs: int) -> list[Finding]:
    if not misalignments:
        return []
    detail = "; ".join(_describe(each, pairs) for each in misalignments)
    count = sum(each.last_line - each.first_line + 1 for each in misalignments)
    return [Finding(kinds.MISALIGNED, count, [each.first_line for each in misalignments], detail)]


def _describe(misalignment: Misalignment, pairs: int) -> str:
    first, last, offset = misalignment.first_line, misalignment.last_line, misalignment.offset
    until = "to the end" if pairs - last < 2 * BLOCK_LINES else f"to about line {last}"
    distance = f"{abs(offset)} line{'s' if abs(offset) > 1 else ''}"
    direction = "further down" if offset > 0 else "further up"
    return f"from about line {first} {until} each source line fits the target {distance} {direction}"
