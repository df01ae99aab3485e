"""The corpus doctor: one pass over a corpus, and everything that is wrong with them, by line number."""

from array import array
from dataclasses import dataclass
from functools import partial

import numpy as np

from regard.corpus import findings as kinds
from regard.corpus.dedup import HashFile, Known, repeats
from regard.corpus.findings import Finding, Kind, Report
from regard.corpus.misalignment import BLOCK, Shift, ShiftWatch
from regard.corpus.scan import Examination, Kinds, no_print, numbers
from regard.errors import require
from regard.text.compression import Seen
from regard.text.corpus_files import PairFiles, clean

PAIR_KINDS = Kinds(kinds.PAIRWISE, missing=kinds.NO_PAIR, shared=kinds.SHARED, noun="pair")


@dataclass(frozen=True)
class DoctorConfig:
    """Where a pair begins to be odd; all in characters."""

    longest: int = 5000
    """A longer line is no sentence."""
    ratio: float = 9.0
    """A side more than this many times as long as the other is hardly its translation..."""
    ratio_from: int = 20
    """...if it has this many characters: "Yes." may well be longer elsewhere."""
    copy_from: int = 10
    """Shorter copies are names and numbers, which are right."""

    def __post_init__(self) -> None:
        for name in ("longest", "ratio_from", "copy_from"):
            require(getattr(self, name) >= 1, f"doctor.{name}", getattr(self, name), "it must be at least 1")
        require(self.ratio >= 1, "doctor.ratio", self.ratio, "it must be at least 1")


DEFAULT = DoctorConfig()


def examine(
    corpus: PairFiles,
    settings: DoctorConfig = DEFAULT,
    against: PairFiles | None = None,
    seen: Seen | None = None,
    hashes: HashFile | None = None,
) -> Report:
    """What is wrong with a corpus; raises only if a file cannot be read.

    `against` is another corpus, such as the test set, that must share no sentence with this one.
    `hashes` is filled with those of every pair, for whoever wants to compare them further.
    """
    if hashes is None:
        with HashFile() as own:
            return examine(corpus, settings, against, seen, own)
    known = None if against is None else _known(against, seen)
    shift = ShiftWatch()
    patient = Examination(PAIR_KINDS, partial(_hashed, settings=settings), hashes, known, shift)
    patient.read(corpus.rows(seen))
    names = tuple(map(str, corpus.files))
    repeated = repeats(hashes.pairs())
    noted = [Finding(kinds.DUPLICATE, len(repeated), repeated)] if repeated else []
    found = [*_shift(shift.shifts(), patient.rows), *patient.bad, *noted]
    return Report(names, *patient.lines, (*patient.fatal(names), *found))


def _hashed(source: bytes, target: bytes, settings: DoctorConfig) -> tuple[int, int] | Kind:
    verdict = judge(source, target, settings)
    return verdict if isinstance(verdict, Kind) else (hash(verdict[0]), hash(verdict[1]))


def judge(source: bytes, target: bytes, settings: DoctorConfig = DEFAULT) -> tuple[str, str] | Kind:
    """The pair as training sees it, or the first reason why it should not."""
    try:
        raw = source.decode("utf-8"), target.decode("utf-8")
    except UnicodeDecodeError:
        return kinds.NOT_UTF8
    a, b = clean(raw[0]), clean(raw[1])
    if not a or not b:
        return kinds.BLANK
    if (unprintable := no_print(*raw)) is not None:
        return unprintable
    return _odd_lengths(len(a), len(b), settings) or (kinds.COPY if _is_copy(a, b, settings) else (a, b))


def _odd_lengths(a: int, b: int, settings: DoctorConfig) -> Kind | None:
    short, long = (a, b) if a < b else (b, a)
    if long > settings.longest:
        return kinds.LONG
    if long >= settings.ratio_from and long > settings.ratio * short:
        return kinds.RATIO
    return None


def _is_copy(a: str, b: str, settings: DoctorConfig) -> bool:
    return len(a) == len(b) >= settings.copy_from and a.lower() == b.lower()


def _known(corpus: PairFiles, seen: Seen | None) -> tuple[Known, Known]:
    """The sentences of each side, as sorted numbers."""
    sides = array("q"), array("q")
    for row in corpus.rows(seen):
        for side, line in zip(sides, row, strict=True):
            if line is not None and (sentence := clean(line.decode("utf-8", errors="replace"))):
                side.append(hash(sentence))
    return np.unique(numbers(sides[0])), np.unique(numbers(sides[1]))


def _shift(shifts: list[Shift], pairs: int) -> list[Finding]:
    if not shifts:
        return []
    said = "; ".join(_describe(shift, pairs) for shift in shifts)
    count = sum(shift.last - shift.first + 1 for shift in shifts)
    return [Finding(kinds.SHIFT, count, [shift.first for shift in shifts], said)]


def _describe(shift: Shift, pairs: int) -> str:
    until = "to the end" if pairs - shift.last < 2 * BLOCK else f"to about line {shift.last}"
    lines = f"{abs(shift.offset)} line{'s' if abs(shift.offset) > 1 else ''}"
    where = f"{lines} {'further down' if shift.offset > 0 else 'further up'}"
    return f"from about line {shift.first} {until} each source line fits the target {where}"
