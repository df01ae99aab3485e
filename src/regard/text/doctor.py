"""The corpus doctor: one pass over two files, and everything that is wrong with them, by line number."""

import re
from array import array
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int64

from regard.errors import require
from regard.text import findings as kinds
from regard.text.corpus import clean
from regard.text.findings import Finding, Kind, Report
from regard.text.lines import read_lines
from regard.text.shift import BLOCK, Shift, ShiftWatch
from regard.text.unpack import Seen

Hashes = Int64[np.ndarray, " pairs"]
Known = Int64[np.ndarray, " _"]  # hashes of another corpus: sorted, each once

CONTROL = re.compile(r"[\x01-\x08\x0a-\x1f\x7f-\x9f]")
NONE = 0  # the hash of a pair that is bad
SLAB = 8192  # pairs whose numbers are gathered before numpy looks at them


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
    source: Path,
    target: Path,
    settings: DoctorConfig = DEFAULT,
    against: tuple[Path, Path] | None = None,
    seen: Seen | None = None,
) -> Report:
    """What is wrong with two files that should match line by line; raises only if one cannot be read.

    `against` is another corpus, such as the test set, that must share no sentence with this one.
    """
    known = None if against is None else (_hashes(against[0], seen), _hashes(against[1], seen))
    patient = _Examination(settings, known)
    source_lines = target_lines = 0
    for a, b in zip_longest(read_lines(source, seen), read_lines(target, seen)):
        source_lines += a is not None
        target_lines += b is not None
        if a is not None and b is not None:
            patient.take(a, b)
    found = patient.findings()
    names = (str(source), str(target))
    fatal = _fatal(names, (source_lines, target_lines), patient.good)
    return Report(*names, source_lines, target_lines, (*fatal, *found))


def _fatal(names: tuple[str, str], lines: tuple[int, int], good: int) -> list[Finding]:
    """Why nothing can be learned from the files, if nothing can."""
    for name, count in zip(names, lines, strict=True):
        if count == 0:
            return [Finding(kinds.EMPTY, 0, [], f"{name} is empty; it must hold one sentence per line")]
    if lines[0] != lines[1]:
        said = (
            f"{names[0]} has {lines[0]} lines and {names[1]} {lines[1]}; the two sides must pair line by line"
        )
        return [Finding(kinds.LINE_COUNTS, abs(lines[0] - lines[1]), [min(lines) + 1], said)]
    if good == 0:
        return [
            Finding(kinds.EMPTY, lines[0], [], f"{names[0]} and {names[1]} have no pair that could be used")
        ]
    return []


class _Examination:
    """What one pass over the pairs gathers: line numbers of bad pairs, and a hash of each good one."""

    def __init__(self, settings: DoctorConfig, known: tuple[Known, Known] | None) -> None:
        self._settings, self._known = settings, known
        self._pairs = array("q")
        self._bad = {kind: array("q") for kind in kinds.PAIRWISE}
        self._shift = ShiftWatch()
        self._slab = _Slab()

    @property
    def good(self) -> int:
        return len(self._pairs) - sum(map(len, self._bad.values()))

    def take(self, source: bytes, target: bytes) -> None:
        """The next line of each side."""
        verdict = judge(source, target, self._settings)
        if isinstance(verdict, Kind):
            self._bad[verdict].append(len(self._pairs) + 1)
            verdict = None
        self._pairs.append(NONE if verdict is None else hash(verdict))
        self._slab.source_length.append(len(source))
        self._slab.target_length.append(len(target))
        if self._known is not None:
            self._slab.source.append(NONE if verdict is None else hash(verdict[0]))
            self._slab.target.append(NONE if verdict is None else hash(verdict[1]))
        if len(self._slab.source_length) == SLAB:
            self._turn()

    def findings(self) -> list[Finding]:
        """All that was found, worst first."""
        self._turn()
        bad = [Finding(kind, len(lines), lines) for kind, lines in self._bad.items() if lines]
        return [*_shift(self._shift.shifts(), len(self._pairs)), *bad, *_duplicates(_numbers(self._pairs))]

    def _turn(self) -> None:
        """Looks at a whole slab at once, and begins the next."""
        slab, self._slab = self._slab, _Slab()
        self._shift.add(_numbers(slab.source_length), _numbers(slab.target_length))
        if self._known is not None:
            shared = _among(self._known[0], _numbers(slab.source))
            shared |= _among(self._known[1], _numbers(slab.target))
            before = len(self._pairs) - len(shared)
            self._bad[kinds.SHARED].extend((np.flatnonzero(shared) + before + 1).tolist())


class _Slab:
    """The lengths of some thousand pairs, and the hashes of their sentences if somebody will ask for them."""

    def __init__(self) -> None:
        self.source_length, self.target_length = array("q"), array("q")
        self.source, self.target = array("q"), array("q")


def judge(source: bytes, target: bytes, settings: DoctorConfig = DEFAULT) -> tuple[str, str] | Kind:
    """The pair as training sees it, or the first reason why it should not."""
    try:
        raw = source.decode("utf-8"), target.decode("utf-8")
    except UnicodeDecodeError:
        return kinds.NOT_UTF8
    a, b = clean(raw[0]), clean(raw[1])
    if not a or not b:
        return kinds.BLANK
    if not (raw[0].isprintable() and raw[1].isprintable()):  # quick, and true of nearly all lines
        if "\0" in raw[0] or "\0" in raw[1]:
            return kinds.NUL
        if CONTROL.search(raw[0]) or CONTROL.search(raw[1]):
            return kinds.CONTROL
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


def _hashes(path: Path, seen: Seen | None) -> Known:
    """The sentences of a file, as sorted numbers."""
    sentences = (clean(line.decode("utf-8", errors="replace")) for line in read_lines(path, seen))
    return np.unique(_numbers(array("q", (hash(sentence) for sentence in sentences if sentence))))


def _among(known: Known, hashes: Hashes) -> Bool[np.ndarray, " pairs"]:
    """Which of the hashes are known."""
    if not len(known):
        return np.zeros(len(hashes), dtype=bool)
    return known[np.minimum(np.searchsorted(known, hashes), len(known) - 1)] == hashes


def _duplicates(pairs: Hashes) -> list[Finding]:
    """The pairs that repeat an earlier one; one sorted copy, without places, saves memory."""
    ordered = np.sort(pairs)
    twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    del ordered
    where = _places(twice[twice != NONE], pairs)
    _, first = np.unique(pairs[where], return_index=True)
    lines = array("q", (np.delete(where, first) + 1).tobytes())
    return [Finding(kinds.DUPLICATE, len(lines), lines)] if lines else []


def _places(known: Known, hashes: Hashes) -> Int64[np.ndarray, " places"]:
    """Where the known are among the hashes."""
    slabs = (hashes[start : start + SLAB] for start in range(0, len(hashes), SLAB))
    places = [start * SLAB + np.flatnonzero(_among(known, slab)) for start, slab in enumerate(slabs)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *places])


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


def _numbers(numbers: array) -> Int64[np.ndarray, " numbers"]:
    return np.frombuffer(numbers, dtype=np.int64)
