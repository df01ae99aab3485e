"""The doctor before every training: which lines of the corpora are learned from, and why not the others."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import UInt8
from rich.console import Console

from regard.corpus.dedup import SLAB, HashFile, slabs
from regard.corpus.findings import Report
from regard.corpus.holdout import HeldOut, hold_out
from regard.corpus.progress import Bar
from regard.data.cache import Cache, FileFacts
from regard.data.tokenization import Numbered
from regard.errors import DataError
from regard.text.compression import Seen
from regard.text.corpus_files import Row, clean

Text = tuple[str, str]
SHARING = "sharing a sentence with the held-out part"


@runtime_checkable
class Files(Protocol):
    """Where two texts that belong together lie: a sentence and its translation, or a text and its label."""

    @property
    def files(self) -> tuple[Path, ...]: ...

    @property
    def name(self) -> str: ...

    def rows(self, seen: Seen | None = None) -> Iterator[Row]: ...


AnyFiles = TypeVar("AnyFiles", bound=Files)


@dataclass(frozen=True)
class Doctor(Generic[AnyFiles]):
    """Who examines one kind of corpus."""

    settings: Any
    """What counts as odd."""
    examine: Callable[[AnyFiles, AnyFiles | None, Seen, HashFile], Report]
    """A corpus, against another that it must share nothing with; fills in the hashes of its lines."""
    unit: str
    """What a line holds."""
    valid_flag: str
    """How to give what is validated on."""


@dataclass(frozen=True)
class Part:
    """What is held out where there are no validation files: at most so many pairs, drawn by the seed."""

    pairs: int
    seed: int


@dataclass(frozen=True)
class Checked:
    """What the doctor said of each corpus, and the lines that may be learned from."""

    key: str
    """The same for the same text, checked in the same way."""
    corpora: tuple[Files, ...]
    files: Mapping[Path, FileFacts]
    keep: UInt8[np.ndarray, " lines"]
    """1 for each line, through all corpora, that is learned from; mapped, not read."""
    kept: int
    reports: tuple[dict[str, Any], ...]
    left_out: dict[str, int]
    held_out: tuple[Text, ...]

    def texts(self, corpus: int, seen: Seen | None = None) -> Iterator[Numbered]:
        """The rows of one corpus that are learned from, as training sees them, and their lines."""
        first = sum(report["pairs"] for report in self.reports[:corpus])
        keep = self.keep[first : first + self.reports[corpus]["pairs"]]
        rows = zip(self.corpora[corpus].rows(seen), _each(keep), strict=False)
        for line, (row, kept) in enumerate(rows, start=1):
            if kept:
                yield line, _as_text(row)

    def refuse_bad(self) -> None:
        """What `strict` asks for: the first line that would be left out ends it."""
        for report in self.reports:
            bad = [finding for finding in report["findings"] if finding["severity"] == "bad"]
            if bad:
                first = min(bad, key=lambda finding: finding["lines"][0])
                kinds = ", ".join(f"{finding['kind']} ({finding['count']})" for finding in bad)
                raise DataError(
                    f"{' and '.join(report['files'])} line {first['lines'][0]}: {first['kind']}; "
                    f"in all {kinds}, and --strict refuses them"
                )


def check(
    corpora: Sequence[AnyFiles],
    valid: AnyFiles | None,
    files: Mapping[Path, FileFacts],
    part: Part,
    doctor: Doctor[AnyFiles],
    cache: Cache,
    console: Console,
) -> Checked:
    """Examines the corpora, unless the same files have been examined before.

    Lines that share a text with `valid` are left out; if it is None, a part is held out.
    """
    made_from = {
        "format": 1,
        "files": [_as_read(corpus, files) for corpus in corpora],
        "valid": _as_read(valid, files) if valid else asdict(part),
        "doctor": asdict(doctor.settings),
    }

    def fill(place: Path) -> dict[str, Any]:
        facts = _examine(place, corpora, valid, part, doctor, cache.scratch(), console)
        cache.confirm(files)
        return facts

    path, known = cache.folder("checked", made_from, fill)
    reports = json.loads((path / "reports.json").read_bytes())
    for report, corpus in zip(reports, corpora, strict=True):
        report["files"] = [str(file) for file in corpus.files]  # the same text may have moved
    held = tuple((a, b) for a, b in json.loads((path / "held.json").read_bytes()))
    keep = np.asarray(np.memmap(path / "keep", np.uint8, "r"))
    return Checked(
        path.name, tuple(corpora), files, keep, known["kept"], tuple(reports), known["left_out"], held
    )


def _examine(
    place: Path,
    corpora: Sequence[AnyFiles],
    valid: AnyFiles | None,
    part: Part,
    doctor: Doctor[AnyFiles],
    scratch: Path,
    console: Console,
) -> dict[str, Any]:
    """Fills a folder with the reports, a mark for each line that is kept, and what is held out."""
    with ExitStack() as files:
        hashes = [files.enter_context(HashFile(scratch)) for _ in corpora]
        with Bar(
            f"checking the {doctor.unit}", [file for each in corpora for file in each.files], console
        ) as seen:
            reports = [
                doctor.examine(corpus, valid, seen, each)
                for corpus, each in zip(corpora, hashes, strict=True)
            ]
        for report in reports:
            if report.fatal is not None:
                raise DataError(report.fatal.detail)
        left_out = sum((Counter(report.left_out) for report in reports), Counter())
        good = sum(report.pairs for report in reports) - left_out.total()
        held = None
        if valid is None:
            held = hold_out([each.pairs() for each in hashes], max(1, min(part.pairs, good // 10)), part.seed)
        kept = _write_keep(place / "keep", reports, hashes, held)
    chosen = [] if held is None else _texts_at(corpora, held.pairs)
    if held is not None:
        left_out[SHARING] = good - kept - len(chosen)
    if not kept:
        raise DataError(
            f"{corpora[0].name}: too few different {doctor.unit} to hold some out; give {doctor.valid_flag}"
        )
    (place / "reports.json").write_text(json.dumps([report.as_document() for report in reports]), "utf-8")
    (place / "held.json").write_text(json.dumps(chosen), "utf-8")
    return {"kept": kept, "left_out": {why: count for why, count in left_out.items() if count}}


def _write_keep(
    path: Path, reports: Sequence[Report], hashes: Sequence[HashFile], held: HeldOut | None
) -> int:
    """A byte for each line of all corpora: 1 if it is learned from. Returns how many are."""
    kept, first = 0, 0
    keep = np.memmap(path, np.uint8, "w+", shape=(sum(report.pairs for report in reports),))
    keep[:] = 1
    for report, each in zip(reports, hashes, strict=True):
        here = keep[first : first + report.pairs]
        for finding in report.findings:
            if finding.kind.leaves_out:
                here[np.asarray(finding.lines, np.int64) - 1] = 0
        for start, slab in slabs(each.pairs()):
            if held is not None:
                here[start : start + SLAB] &= ~held.touches(slab)
        kept += int(np.count_nonzero(here))
        first += report.pairs
    keep.flush()
    return kept


def _texts_at(corpora: Sequence[Files], chosen: Sequence[Sequence[int]]) -> list[Text]:
    """What is on those lines."""
    found = []
    for corpus, indexes in zip(corpora, chosen, strict=True):
        wanted = set(indexes)
        found += [_as_text(row) for index, row in enumerate(corpus.rows()) if index in wanted]
    return found


def _as_text(row: Row) -> Text:
    """A good line as training sees it; what is not UTF-8 can only come from a file that is changing."""
    source, target = ((side or b"").decode("utf-8", "replace") for side in row)
    return clean(source), clean(target)


def _as_read(corpus: Files, files: Mapping[Path, FileFacts]) -> list[list[str]]:
    """What each file holds, and the endings that say how it is read."""
    return [[files[path].sha256, *map(str.lower, path.suffixes[-2:])] for path in corpus.files]


def _each(keep: UInt8[np.ndarray, " lines"]) -> Iterator[int]:
    for start in range(0, len(keep), SLAB):
        yield from keep[start : start + SLAB].tolist()
