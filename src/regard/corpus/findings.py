"""Kinds of corpus defects, findings, and the report of a corpus check."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["fatal", "bad", "note"]

MAX_REPORTED_LINES = 10_000
"""Line numbers of a kind in the JSON; the count is always complete."""


@dataclass(frozen=True)
class FindingKind:
    """A kind of defect: fatal (no training possible), bad (should not be trained on), or a note."""

    name: str
    severity: Severity
    meaning: str
    remedy: str
    excludes_line: bool = False
    """Whether it concerns single lines, which are excluded from training."""
    is_skipped: bool = False
    """Whether it concerns units that are not even read as pairs, since they are meant to be incomplete."""


LINE_COUNTS = FindingKind(
    "line counts differ",
    "fatal",
    "the two files do not match line by line",
    "find the line that is missing or was split in two",
)
NOTHING_USABLE = FindingKind(
    "nothing to learn from",
    "fatal",
    "a file is empty, or no line is usable",
    "check the paths and the other findings",
)
MISALIGNED = FindingKind(
    "misalignment",
    "bad",
    "from some line on, each source line fits a target line a few lines further up or down",
    "compare the two files around that line, and correct the one with a line too many or too few",
)
MALFORMED_PAIR = FindingKind(
    "no pair",
    "bad",
    "a row without both columns, or not JSON with both texts",
    "correct or remove it",
    excludes_line=True,
)
UNTRANSLATED = FindingKind(
    "untranslated",
    "note",
    "units and messages without a translation; they are left out",
    "nothing, unless you expected one",
    is_skipped=True,
)
FUZZY = FindingKind(
    "fuzzy",
    "note",
    "translations marked for review (fuzzy, needs-...); they are left out",
    "review them and remove the mark",
    is_skipped=True,
)
NOT_UTF8 = FindingKind(
    "not UTF-8", "bad", "bytes that are not text", "convert it: iconv -f latin1 -t utf-8", excludes_line=True
)
BLANK_SIDE = FindingKind(
    "blank side",
    "bad",
    "one side is empty",
    "remove it",
    excludes_line=True,
)
NUL_CHARACTER = FindingKind(
    "NUL",
    "bad",
    "the character U+0000: binary data, or UTF-16",
    "convert the file, or remove the line",
    excludes_line=True,
)
CONTROL_CHARACTERS = FindingKind(
    "control characters",
    "bad",
    "characters that print nothing; tabs are allowed",
    "remove them: they are noise",
    excludes_line=True,
)
LONG_LINE = FindingKind(
    "long line",
    "bad",
    "far longer than a sentence",
    "split it into sentences on both sides",
    excludes_line=True,
)
LENGTH_RATIO = FindingKind(
    "length ratio",
    "bad",
    "one side is many times as long as the other",
    "probably not a translation: look at it",
    excludes_line=True,
)
IDENTICAL_SIDES = FindingKind(
    "copy",
    "bad",
    "both sides are the same text",
    "the model would learn to copy: remove it",
    excludes_line=True,
)
SHARED_SENTENCE = FindingKind(
    "shared",
    "bad",
    "one side is also in the other corpus",
    "remove it, or the test measures memorization",
    excludes_line=True,
)
DUPLICATE_PAIR = FindingKind(
    "duplicate", "note", "the same pair as an earlier one", "harmless unless there are very many"
)

PAIR_FINDING_KINDS = (
    MALFORMED_PAIR,
    NOT_UTF8,
    BLANK_SIDE,
    NUL_CHARACTER,
    CONTROL_CHARACTERS,
    LONG_LINE,
    LENGTH_RATIO,
    IDENTICAL_SIDES,
    SHARED_SENTENCE,
)
"""Defects of single pairs; a pair with several counts under the first of these."""


@dataclass(frozen=True)
class Finding:
    """One kind of defect in one corpus."""

    kind: FindingKind
    count: int
    """Number of pairs that have it, or of lines without a counterpart."""
    lines: Sequence[int]
    """All of them, counted from 1; for a misalignment or missing lines, where it begins."""
    detail: str = ""
    """Description for this corpus, with its file names and numbers."""
    file_lines: Sequence[int] = ()
    """Line of the file on which each begins, where `lines` counts rows or units."""


@dataclass(frozen=True)
class CorpusReport:
    """Result of checking two files that match line by line, or one with both sides on each line."""

    files: tuple[str, ...]
    source_lines: int
    target_lines: int
    findings: tuple[Finding, ...]
    labels: Mapping[str, int] | None = None
    """Number of good texts of each label, if there are labels; the most frequent first."""
    unit: str = "line"
    """What the positions of the findings count: lines, rows or units."""

    @property
    def name(self) -> str:
        return " and ".join(self.files)

    @property
    def pairs(self) -> int:
        """Number of lines that have a counterpart."""
        return min(self.source_lines, self.target_lines)

    @property
    def fatal_finding(self) -> Finding | None:
        """The first finding that prevents training, if there is one."""
        return next((finding for finding in self.findings if finding.kind.severity == "fatal"), None)

    @property
    def bad_findings(self) -> tuple[Finding, ...]:
        """The findings that --strict refuses, though training is possible."""
        return tuple(finding for finding in self.findings if finding.kind.severity == "bad")

    @property
    def left_out(self) -> dict[str, int]:
        """Number of pairs excluded from training, by reason."""
        return {finding.kind.name: finding.count for finding in self.findings if finding.kind.excludes_line}

    @property
    def skipped(self) -> dict[str, int]:
        """Number of units that are no pairs, by reason; they do not count as pairs anywhere."""
        return {finding.kind.name: finding.count for finding in self.findings if finding.kind.is_skipped}

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the JSON, with the first line numbers of each kind."""
        return {
            "files": list(self.files),
            "source_lines": self.source_lines,
            "target_lines": self.target_lines,
            "pairs": self.pairs,
            "unit": self.unit,
            "fatal": self.fatal_finding is not None,
            "bad": sum(finding.count for finding in self.bad_findings if finding.kind.excludes_line),
            **({} if self.labels is None else {"labels": dict(self.labels)}),
            "findings": [_finding_to_dict(finding) for finding in self.findings],
        }


def _finding_to_dict(finding: Finding) -> dict[str, object]:
    return {
        "kind": finding.kind.name,
        "severity": finding.kind.severity,
        "count": finding.count,
        "lines": list(finding.lines[:MAX_REPORTED_LINES]),
        **({"file_lines": list(finding.file_lines[:MAX_REPORTED_LINES])} if finding.file_lines else {}),
        "detail": finding.detail,
        "meaning": finding.kind.meaning,
        "remedy": finding.kind.remedy,
    }
