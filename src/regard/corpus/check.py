"""Corpus check before training: which lines are used, which are held out, and why others are excluded."""

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
from regard.corpus.positions import locate_findings
from regard.corpus.progress import FileProgressBar
from regard.data.cache import DiskCache, FileFacts
from regard.data.tokenization import NumberedPair
from regard.errors import DataError
from regard.text.compression import ChunkCallback
from regard.text.corpus_files import CorpusUnit, RawRow

TextPair = tuple[str, str]
"""A sentence and its translation, or a text and its label."""
SHARED_WITH_HELD_OUT = "sharing a sentence with the held-out part"


@runtime_checkable
class CorpusFiles(Protocol):
    """The one or two files of a corpus of pairs or of labelled texts."""

    @property
    def files(self) -> tuple[Path, ...]: ...

    @property
    def name(self) -> str: ...

    @property
    def reading_options(self) -> tuple[str | None, ...]:
        """What decides how the files are read, beside their suffixes."""
        ...

    def normalize_row(self, row: RawRow) -> TextPair:
        """Return a good line as training sees it; invalid UTF-8 is possible only while a file changes."""
        ...

    @property
    def unit_noun(self) -> str:
        """What the numbers of its rows count: lines, rows or units."""
        ...

    def read_rows(self, on_chunk: ChunkCallback | None = None) -> Iterator[RawRow]: ...

    def read_units(self, on_chunk: ChunkCallback | None = None) -> Iterator[CorpusUnit]:
        """Yield the same rows with their positions, and what is skipped between them."""
        ...

    def reject_other_content(self) -> None:
        """Raise an error if the first bytes of a file are of another type than its name says."""
        ...


AnyFiles = TypeVar("AnyFiles", bound=CorpusFiles)


@dataclass(frozen=True)
class CorpusChecker(Generic[AnyFiles]):
    """How one kind of corpus is checked."""

    settings: Any
    """The thresholds."""
    check: Callable[[AnyFiles, AnyFiles | None, ChunkCallback, HashFile], CorpusReport]
    """Checks a corpus, which must share nothing with another one, and stores the hashes of its lines."""
    noun: str
    """Name of a line in messages: a pair or a text."""
    validation_flag: str
    """The flag that gives a validation file."""


@dataclass(frozen=True)
class HoldOutSpec:
    """Number of lines held out where there is no validation file, and the seed that selects them."""

    pairs: int
    seed: int


@dataclass(frozen=True)
class CheckedCorpora:
    """The reports of all corpora, and the lines that are used for training."""

    key: str
    """The same for the same text, checked with the same settings."""
    corpora: tuple[CorpusFiles, ...]
    file_facts: Mapping[Path, FileFacts]
    keep: UInt8[np.ndarray, " lines"]
    """1 for each line, through all corpora, that is used for training; memory-mapped."""
    kept_count: int
    reports: tuple[dict[str, Any], ...]
    left_out: dict[str, int]
    """Number of excluded lines by reason."""
    held_out: tuple[TextPair, ...]

    @property
    def all_files(self) -> list[Path]:
        return [file for corpus in self.corpora for file in corpus.files]

    def read_texts(self, corpus: int, on_chunk: ChunkCallback | None = None) -> Iterator[NumberedPair]:
        """Yield the training lines of one corpus, normalized, with the numbers of their lines or units."""
        first = sum(report["pairs"] for report in self.reports[:corpus])
        keep = self.keep[first : first + self.reports[corpus]["pairs"]]
        units = (unit for unit in self.corpora[corpus].read_units(on_chunk) if unit.skipped is None)
        for unit, is_kept in zip(units, _iterate_mask(keep), strict=False):
            if is_kept:
                yield unit.number, self.corpora[corpus].normalize_row(unit.row)

    def reject_bad_lines(self) -> None:
        """Raise an error about the first line that would be excluded, for --strict."""
        for report in self.reports:
            bad = [finding for finding in report["findings"] if finding["severity"] == "bad"]
            if bad:
                first = min(bad, key=lambda finding: finding["lines"][0])
                kinds = ", ".join(f"{finding['kind']} ({finding['count']})" for finding in bad)
                raise DataError(
                    f"{' and '.join(report['files'])} {report['unit']} {first['lines'][0]}: {first['kind']}; "
                    f"in all {kinds}, and --strict refuses them"
                )


def check_corpora(
    corpora: Sequence[AnyFiles],
    valid: AnyFiles | None,
    file_facts: Mapping[Path, FileFacts],
    hold_out_spec: HoldOutSpec,
    checker: CorpusChecker[AnyFiles],
    cache: DiskCache,
    console: Console,
) -> CheckedCorpora:
    """Check the corpora, unless the cache has the result for the same files.

    Lines that share a text with `valid` are excluded; without it, some lines are held out.
    """
    key = {
        "format": 4,
        "files": [content_key(corpus, file_facts) for corpus in corpora],
        "valid": content_key(valid, file_facts) if valid else asdict(hold_out_spec),
        "checks": asdict(checker.settings),
    }

    def fill(folder: Path) -> dict[str, Any]:
        scratch = cache.scratch_folder()
        facts = _check_and_hold_out(folder, corpora, valid, hold_out_spec, checker, scratch, console)
        cache.reject_changed_files(file_facts)
        return facts

    path, manifest = cache.get_or_create("checked", key, fill)
    reports = json.loads((path / "reports.json").read_bytes())
    for report, corpus in zip(reports, corpora, strict=True):
        report["files"] = [str(file) for file in corpus.files]  # the same text may have moved
    held_out = tuple((a, b) for a, b in json.loads((path / "held.json").read_bytes()))
    return CheckedCorpora(
        key=path.name,
        corpora=tuple(corpora),
        file_facts=file_facts,
        keep=np.asarray(np.memmap(path / "keep", np.uint8, "r")),
        kept_count=manifest["kept"],
        reports=tuple(reports),
        left_out=manifest["left_out"],
        held_out=held_out,
    )


def _check_and_hold_out(
    folder: Path,
    corpora: Sequence[AnyFiles],
    valid: AnyFiles | None,
    hold_out_spec: HoldOutSpec,
    checker: CorpusChecker[AnyFiles],
    scratch: Path,
    console: Console,
) -> dict[str, Any]:
    """Write the reports, a mask of the lines that are kept, and the held-out texts; return the counts."""
    all_files = [file for corpus in corpora for file in corpus.files]
    with ExitStack() as stack:
        hashes = [stack.enter_context(HashFile(scratch)) for _ in corpora]
        with FileProgressBar(f"checking the {checker.noun}s", all_files, console) as on_chunk:
            reports = [
                checker.check(corpus, valid, on_chunk, hash_file)
                for corpus, hash_file in zip(corpora, hashes, strict=True)
            ]
        for report in reports:
            if report.fatal_finding is not None:
                raise DataError(report.fatal_finding.detail)
        left_out = sum((Counter(report.left_out) for report in reports), Counter())
        good = sum(report.pairs for report in reports) - left_out.total()
        held = None
        if valid is None:
            size = max(1, min(hold_out_spec.pairs, good // 10))
            held = hold_out([each.read() for each in hashes], size, hold_out_spec.seed)
        kept = _write_keep_mask(folder / "keep", reports, hashes, held)
    held_texts = [] if held is None else _read_texts_at(corpora, held.pairs)
    if held is not None:
        left_out[SHARED_WITH_HELD_OUT] = good - kept - len(held_texts)
    if not kept:
        raise DataError(
            f"{corpora[0].name}: too few different {checker.noun}s to hold some out for validation; "
            f"give {checker.validation_flag}"
        )
    located = [locate_findings(report, corpus) for report, corpus in zip(reports, corpora, strict=True)]
    (folder / "reports.json").write_text(json.dumps([report.to_dict() for report in located]), "utf-8")
    (folder / "held.json").write_text(json.dumps(held_texts), "utf-8")
    skipped = sum((Counter(report.skipped) for report in reports), Counter())
    reasons = {reason: count for reason, count in (skipped + left_out).items() if count}
    return {"kept": kept, "left_out": reasons}


def _write_keep_mask(
    path: Path, reports: Sequence[CorpusReport], hashes: Sequence[HashFile], held: HeldOut | None
) -> int:
    """Write a byte for each line of all corpora, 1 for training lines; return how many there are."""
    kept, first = 0, 0
    mask = np.memmap(path, np.uint8, "w+", shape=(sum(report.pairs for report in reports),))
    mask[:] = 1
    for report, hash_file in zip(reports, hashes, strict=True):
        corpus_mask = mask[first : first + report.pairs]
        for finding in report.findings:
            if finding.kind.excludes_line:
                corpus_mask[np.asarray(finding.lines, np.int64) - 1] = 0
        for start, block in iterate_hash_blocks(hash_file.read()):
            if held is not None:
                corpus_mask[start : start + BLOCK_PAIRS] &= ~held.shares_sentence(block)
        kept += int(np.count_nonzero(corpus_mask))
        first += report.pairs
    mask.flush()
    return kept


def _read_texts_at(corpora: Sequence[CorpusFiles], lines: Sequence[Sequence[int]]) -> list[TextPair]:
    """Return the texts on these lines of each corpus, counted from 0."""
    texts = []
    for corpus, indexes in zip(corpora, lines, strict=True):
        selected = set(indexes)
        texts += [
            corpus.normalize_row(row) for index, row in enumerate(corpus.read_rows()) if index in selected
        ]
    return texts


def content_key(corpus: CorpusFiles, file_facts: Mapping[Path, FileFacts]) -> list[list[str | None]]:
    """Return the hash of each file, and the suffixes and options that decide how it is read."""
    return [
        *([file_facts[path].sha256, *map(str.lower, path.suffixes[-2:])] for path in corpus.files),
        list(corpus.reading_options),
    ]


def _iterate_mask(keep: UInt8[np.ndarray, " lines"]) -> Iterator[int]:
    for start in range(0, len(keep), BLOCK_PAIRS):
        yield from keep[start : start + BLOCK_PAIRS].tolist()
