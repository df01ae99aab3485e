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

from regard.corpus.dedup import BLOCK_PAIRS, HashFile, iterate_hash_blocks
from regard.corpus.findings import CorpusReport
from regard.corpus.holdout import HeldOut, hold_out
from regard.corpus.progress import FileProgressBar
from regard.data.cache import DiskCache, FileFacts
from regard.data.tokenization import NumberedPair
from regard.errors import DataError
from regard.text.compression import ChunkCallback
from regard.text.corpus_files import RawRow, normalize_text

TextPair = tuple[str, str]
SHARED_WITH_HELD_OUT = "sharing a sentence with the held-out part"


@runtime_checkable
class CorpusFiles(Protocol):
    """Where two texts that belong together lie: a sentence and its translation, or a text and its label."""

    @property
    def files(self) -> tuple[Path, ...]: ...

    @property
    def name(self) -> str: ...

    def read_rows(self, on_chunk: ChunkCallback | None = None) -> Iterator[RawRow]: ...


AnyFiles = TypeVar("AnyFiles", bound=CorpusFiles)


@dataclass(frozen=True)
class CorpusChecker(Generic[AnyFiles]):
    """Who examines one kind of corpus."""

    settings: Any
    """What counts as odd."""
    check: Callable[[AnyFiles, AnyFiles | None, ChunkCallback, HashFile], CorpusReport]
    """A corpus, against another that it must share nothing with; fills in the hashes of its lines."""
    unit: str
    """What a line holds."""
    valid_flag: str
    """How to give what is validated on."""


@dataclass(frozen=True)
class HoldOutSpec:
    """What is held out where there are no validation files: at most so many pairs, drawn by the seed."""

    pairs: int
    seed: int


@dataclass(frozen=True)
class CheckedCorpora:
    """What the doctor said of each corpus, and the lines that may be learned from."""

    key: str
    """The same for the same text, checked in the same way."""
    corpora: tuple[CorpusFiles, ...]
    file_facts: Mapping[Path, FileFacts]
    keep: UInt8[np.ndarray, " lines"]
    """1 for each line, through all corpora, that is learned from; mapped, not read."""
    kept_count: int
    reports: tuple[dict[str, Any], ...]
    left_out: dict[str, int]
    held_out: tuple[TextPair, ...]

    def read_texts(self, corpus: int, on_chunk: ChunkCallback | None = None) -> Iterator[NumberedPair]:
        """The rows of one corpus that are learned from, as training sees them, and their lines."""
        first = sum(report["pairs"] for report in self.reports[:corpus])
        keep = self.keep[first : first + self.reports[corpus]["pairs"]]
        rows = zip(self.corpora[corpus].read_rows(on_chunk), _iterate_mask(keep), strict=False)
        for line, (row, kept) in enumerate(rows, start=1):
            if kept:
                yield line, _normalize_row(row)

    def reject_bad_lines(self) -> None:
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


def check_corpora(
    corpora: Sequence[AnyFiles],
    valid: AnyFiles | None,
    files: Mapping[Path, FileFacts],
    hold_out_spec: HoldOutSpec,
    checker: CorpusChecker[AnyFiles],
    cache: DiskCache,
    console: Console,
) -> CheckedCorpora:
    """Examines the corpora, unless the same files have been examined before.

    Lines that share a text with `valid` are left out; if it is None, a part is held out.
    """
    made_from = {
        "format": 1,
        "files": [_content_key(corpus, files) for corpus in corpora],
        "valid": _content_key(valid, files) if valid else asdict(hold_out_spec),
        "doctor": asdict(checker.settings),
    }

    def fill(place: Path) -> dict[str, Any]:
        facts = _check_and_hold_out(
            place, corpora, valid, hold_out_spec, checker, cache.scratch_folder(), console
        )
        cache.reject_changed_files(files)
        return facts

    path, known = cache.get_or_create("checked", made_from, fill)
    reports = json.loads((path / "reports.json").read_bytes())
    for report, corpus in zip(reports, corpora, strict=True):
        report["files"] = [str(file) for file in corpus.files]  # the same text may have moved
    held = tuple((a, b) for a, b in json.loads((path / "held.json").read_bytes()))
    keep = np.asarray(np.memmap(path / "keep", np.uint8, "r"))
    return CheckedCorpora(
        path.name, tuple(corpora), files, keep, known["kept"], tuple(reports), known["left_out"], held
    )


def _check_and_hold_out(
    place: Path,
    corpora: Sequence[AnyFiles],
    valid: AnyFiles | None,
    part: HoldOutSpec,
    doctor: CorpusChecker[AnyFiles],
    scratch: Path,
    console: Console,
) -> dict[str, Any]:
    """Fills a folder with the reports, a mark for each line that is kept, and what is held out."""
    with ExitStack() as files:
        hashes = [files.enter_context(HashFile(scratch)) for _ in corpora]
        with FileProgressBar(
            f"checking the {doctor.unit}", [file for each in corpora for file in each.files], console
        ) as seen:
            reports = [
                doctor.check(corpus, valid, seen, each) for corpus, each in zip(corpora, hashes, strict=True)
            ]
        for report in reports:
            if report.fatal_finding is not None:
                raise DataError(report.fatal_finding.detail)
        left_out = sum((Counter(report.left_out) for report in reports), Counter())
        good = sum(report.pairs for report in reports) - left_out.total()
        held = None
        if valid is None:
            held = hold_out([each.read() for each in hashes], max(1, min(part.pairs, good // 10)), part.seed)
        kept = _write_keep_mask(place / "keep", reports, hashes, held)
    chosen = [] if held is None else _read_texts_at(corpora, held.pairs)
    if held is not None:
        left_out[SHARED_WITH_HELD_OUT] = good - kept - len(chosen)
    if not kept:
        raise DataError(
            f"{corpora[0].name}: too few different {doctor.unit} to hold some out; give {doctor.valid_flag}"
        )
    (place / "reports.json").write_text(json.dumps([report.to_dict() for report in reports]), "utf-8")
    (place / "held.json").write_text(json.dumps(chosen), "utf-8")
    return {"kept": kept, "left_out": {why: count for why, count in left_out.items() if count}}


def _write_keep_mask(
    path: Path, reports: Sequence[CorpusReport], hashes: Sequence[HashFile], held: HeldOut | None
) -> int:
    """A byte for each line of all corpora: 1 if it is learned from. Returns how many are."""
    kept, first = 0, 0
    keep = np.memmap(path, np.uint8, "w+", shape=(sum(report.pairs for report in reports),))
    keep[:] = 1
    for report, each in zip(reports, hashes, strict=True):
        here = keep[first : first + report.pairs]
        for finding in report.findings:
            if finding.kind.excludes_line:
                here[np.asarray(finding.lines, np.int64) - 1] = 0
        for start, slab in iterate_hash_blocks(each.read()):
            if held is not None:
                here[start : start + BLOCK_PAIRS] &= ~held.shares_sentence(slab)
        kept += int(np.count_nonzero(here))
        first += report.pairs
    keep.flush()
    return kept


def _read_texts_at(corpora: Sequence[CorpusFiles], chosen: Sequence[Sequence[int]]) -> list[TextPair]:
    """What is on those lines."""
    found = []
    for corpus, indexes in zip(corpora, chosen, strict=True):
        wanted = set(indexes)
        found += [_normalize_row(row) for index, row in enumerate(corpus.read_rows()) if index in wanted]
    return found


def _normalize_row(row: RawRow) -> TextPair:
    """A good line as training sees it; what is not UTF-8 can only come from a file that is changing."""
    source, target = ((side or b"").decode("utf-8", "replace") for side in row)
    return normalize_text(source), normalize_text(target)


def _content_key(corpus: CorpusFiles, files: Mapping[Path, FileFacts]) -> list[list[str]]:
    """What each file holds, and the endings that say how it is read."""
    return [[files[path].sha256, *map(str.lower, path.suffixes[-2:])] for path in corpus.files]


def _iterate_mask(keep: UInt8[np.ndarray, " lines"]) -> Iterator[int]:
    for start in range(0, len(keep), BLOCK_PAIRS):
        yield from keep[start : start + BLOCK_PAIRS].tolist()
