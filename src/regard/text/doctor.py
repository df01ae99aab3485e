"""The corpus doctor: one pass over a corpus, and everything that is wrong with them, by line number."""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from regard.errors import require
from regard.text import findings as kinds
from regard.text.corpus import clean
from regard.text.findings import Finding, Kind, Report
from regard.text.hashes import NONE, HashFile, Known, among, repeats
from regard.text.pairs import NO_PAIR, PairFiles
from regard.text.shift import BLOCK, Shift, ShiftWatch
from regard.text.unpack import Seen

CONTROL = re.compile(r"[\x01-\x08\x0a-\x1f\x7f-\x9f]")
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
    patient = _Examination(settings, None if against is None else _known(against, seen), hashes)
    source_lines = target_lines = 0
    for row in corpus.rows(seen):
        source, target = row
        source_lines += source is not None or row is NO_PAIR
        target_lines += target is not None or row is NO_PAIR
        if source is not None and target is not None:
            patient.take(source, target)
        elif row is NO_PAIR:
            patient.miss()
    found = patient.findings()
    names = tuple(map(str, corpus.files))
    fatal = _fatal(names, (source_lines, target_lines), patient)
    return Report(names, source_lines, target_lines, (*fatal, *found))


def _fatal(names: tuple[str, ...], lines: tuple[int, int], patient: "_Examination") -> list[Finding]:
    """Why nothing can be learned from the files, if nothing can."""
    for name, count in zip(names, lines, strict=False):
        if count == 0:
            return [Finding(kinds.EMPTY, 0, [], empty(name))]
    if lines[0] != lines[1]:
        said = differing(names, lines)
        return [Finding(kinds.LINE_COUNTS, abs(lines[0] - lines[1]), [min(lines) + 1], said)]
    if patient.good == 0:
        said = f"{' and '.join(names)}: no pair that could be used; most: {patient.worst}"
        return [Finding(kinds.EMPTY, lines[0], [], said)]
    return []


def differing(names: Sequence[str], lines: Sequence[int]) -> str:
    """What to say of two files that cannot match."""
    return f"{names[0]} has {lines[0]} lines and {names[1]} {lines[1]}; the two sides must pair line by line"


def empty(name: str) -> str:
    """What to say of a file with nothing in it."""
    return f"{name} is empty; it must hold one sentence per line"


class _Examination:
    """What one pass over the pairs gathers: line numbers of bad pairs, and the hashes of good ones."""

    def __init__(self, settings: DoctorConfig, known: tuple[Known, Known] | None, hashes: HashFile) -> None:
        self._settings, self._known, self._hashes = settings, known, hashes
        self._pairs = 0
        self._bad = {kind: array("q") for kind in kinds.PAIRWISE}
        self._shift = ShiftWatch()
        self._slab = _Slab()

    @property
    def good(self) -> int:
        return self._pairs - sum(map(len, self._bad.values()))

    @property
    def worst(self) -> str:
        """The kind that most bad pairs are of."""
        kind = max(self._bad, key=lambda kind: len(self._bad[kind]))
        return f"{kind.name} ({kind.meaning})"

    def take(self, source: bytes, target: bytes) -> None:
        """The next pair."""
        self._add(judge(source, target, self._settings), len(source), len(target))

    def miss(self) -> None:
        """A line that holds no pair."""
        self._add(kinds.NO_PAIR, 0, 0)

    def _add(self, verdict: tuple[str, str] | Kind, source_length: int, target_length: int) -> None:
        self._pairs += 1
        slab = self._slab
        if isinstance(verdict, Kind):
            self._bad[verdict].append(self._pairs)
            slab.hashes.extend((NONE, NONE))
        else:
            slab.hashes.extend((hash(verdict[0]), hash(verdict[1])))
        slab.source_length.append(source_length)
        slab.target_length.append(target_length)
        if len(self._slab.source_length) == SLAB:
            self._turn()

    def findings(self) -> list[Finding]:
        """All that was found, worst first."""
        self._turn()
        bad = [Finding(kind, len(lines), lines) for kind, lines in self._bad.items() if lines]
        repeated = repeats(self._hashes.pairs())
        noted = [Finding(kinds.DUPLICATE, len(repeated), repeated)] if repeated else []
        return [*_shift(self._shift.shifts(), self._pairs), *bad, *noted]

    def _turn(self) -> None:
        """Looks at a whole slab at once, and begins the next."""
        slab, self._slab = self._slab, _Slab()
        self._shift.add(_numbers(slab.source_length), _numbers(slab.target_length))
        hashes = _numbers(slab.hashes).reshape(-1, 2)
        self._hashes.add(hashes)
        if self._known is not None:
            shared = among(self._known[0], hashes[:, 0]) | among(self._known[1], hashes[:, 1])
            before = self._pairs - len(shared)
            self._bad[kinds.SHARED].extend((np.flatnonzero(shared) + before + 1).tolist())


class _Slab:
    """The lengths of some thousand pairs, and the hashes of their sentences, one side after the other."""

    def __init__(self) -> None:
        self.source_length, self.target_length, self.hashes = array("q"), array("q"), array("q")


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


def _known(corpus: PairFiles, seen: Seen | None) -> tuple[Known, Known]:
    """The sentences of each side, as sorted numbers."""
    sides = array("q"), array("q")
    for row in corpus.rows(seen):
        for side, line in zip(sides, row, strict=True):
            if line is not None and (sentence := clean(line.decode("utf-8", errors="replace"))):
                side.append(hash(sentence))
    return np.unique(_numbers(sides[0])), np.unique(_numbers(sides[1]))


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
