"""The corpus doctor: one pass over a corpus, and everything that is wrong with them, by line number."""

from array import array
from dataclasses import dataclass
from functools import partial

import numpy as np

from regard.corpus import findings as kinds
from regard.corpus.dedup import HashFile, KnownHashes, find_duplicates
from regard.corpus.findings import CorpusReport, Finding, FindingKind
from regard.corpus.misalignment import BLOCK_LINES, Misalignment, MisalignmentDetector
from regard.corpus.scan import CorpusScan, RowFindingKinds, find_unprintable, int64_view
from regard.errors import require_setting
from regard.text.compression import ChunkCallback
from regard.text.corpus_files import PairFiles, normalize_text

PAIR_ROW_KINDS = RowFindingKinds(
    kinds.PAIR_FINDING_KINDS, malformed=kinds.MALFORMED_PAIR, shared=kinds.SHARED_SENTENCE, noun="pair"
)


@dataclass(frozen=True)
class PairCheckConfig:
    """Where a pair begins to be odd; all in characters."""

    max_length: int = 5000
    """A longer line is no sentence."""
    max_ratio: float = 9.0
    """A side more than this many times as long as the other is hardly its translation..."""
    ratio_min_length: int = 20
    """...if it has this many characters: "Yes." may well be longer elsewhere."""
    copy_min_length: int = 10
    """Shorter copies are names and numbers, which are right."""

    def __post_init__(self) -> None:
        for name in ("max_length", "ratio_min_length", "copy_min_length"):
            require_setting(
                getattr(self, name) >= 1, f"check.{name}", getattr(self, name), "it must be at least 1"
            )
        require_setting(self.max_ratio >= 1, "check.max_ratio", self.max_ratio, "it must be at least 1")


DEFAULT_PAIR_CHECKS = PairCheckConfig()


def check_pair_corpus(
    corpus: PairFiles,
    settings: PairCheckConfig = DEFAULT_PAIR_CHECKS,
    against: PairFiles | None = None,
    on_chunk: ChunkCallback | None = None,
    hashes: HashFile | None = None,
) -> CorpusReport:
    """What is wrong with a corpus; raises only if a file cannot be read.

    `against` is another corpus, such as the test set, that must share no sentence with this one.
    `hashes` is filled with those of every pair, for whoever wants to compare them further.
    """
    if hashes is None:
        with HashFile() as own:
            return check_pair_corpus(corpus, settings, against, on_chunk, own)
    known = None if against is None else _known_hashes(against, on_chunk)
    shift = MisalignmentDetector()
    patient = CorpusScan(PAIR_ROW_KINDS, partial(_hash_pair, settings=settings), hashes, known, shift)
    patient.scan(corpus.read_rows(on_chunk))
    names = tuple(map(str, corpus.files))
    repeated = find_duplicates(hashes.read())
    noted = [Finding(kinds.DUPLICATE_PAIR, len(repeated), repeated)] if repeated else []
    found = [
        *_misalignment_findings(shift.find_misalignments(), patient.row_count),
        *patient.row_findings,
        *noted,
    ]
    return CorpusReport(names, *patient.line_counts, (*patient.fatal_findings(names), *found))


def _hash_pair(source: bytes, target: bytes, settings: PairCheckConfig) -> tuple[int, int] | FindingKind:
    verdict = check_pair(source, target, settings)
    return verdict if isinstance(verdict, FindingKind) else (hash(verdict[0]), hash(verdict[1]))


def check_pair(
    source: bytes, target: bytes, settings: PairCheckConfig = DEFAULT_PAIR_CHECKS
) -> tuple[str, str] | FindingKind:
    """The pair as training sees it, or the first reason why it should not."""
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


def _known_hashes(corpus: PairFiles, seen: ChunkCallback | None) -> tuple[KnownHashes, KnownHashes]:
    """The sentences of each side, as sorted numbers."""
    sides = array("q"), array("q")
    for row in corpus.read_rows(seen):
        for side, line in zip(sides, row, strict=True):
            if line is not None and (sentence := normalize_text(line.decode("utf-8", errors="replace"))):
                side.append(hash(sentence))
    return np.unique(int64_view(sides[0])), np.unique(int64_view(sides[1]))


def _misalignment_findings(shifts: list[Misalignment], pairs: int) -> list[Finding]:
    if not shifts:
        return []
    said = "; ".join(_describe(shift, pairs) for shift in shifts)
    count = sum(shift.last_line - shift.first_line + 1 for shift in shifts)
    return [Finding(kinds.MISALIGNED, count, [shift.first_line for shift in shifts], said)]


def _describe(shift: Misalignment, pairs: int) -> str:
    until = "to the end" if pairs - shift.last_line < 2 * BLOCK_LINES else f"to about line {shift.last_line}"
    lines = f"{abs(shift.offset)} line{'s' if abs(shift.offset) > 1 else ''}"
    where = f"{lines} {'further down' if shift.offset > 0 else 'further up'}"
    return f"from about line {shift.first_line} {until} each source line fits the target {where}"
