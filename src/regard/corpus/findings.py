"""What can be wrong with a corpus, and the report that says what is."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["fatal", "bad", "note"]

MAX_REPORTED_LINES = 10_000  # line numbers of a kind that the JSON lists; the count is always whole


@dataclass(frozen=True)
class FindingKind:
    """A sort of trouble: fatal (nothing can be learned), bad (should not be learned from), or a note."""

    name: str
    severity: Severity
    meaning: str
    remedy: str
    excludes_line: bool = False
    """Whether it is a single line's, which training leaves out."""


LINE_COUNTS = FindingKind(
    "line counts differ",
    "fatal",
    "the two files cannot match line by line",
    "find the line that is missing, or that was cut in two",
)
NOTHING_USABLE = FindingKind(
    "nothing to learn from",
    "fatal",
    "a file, or every pair, is without text that could be used",
    "check the paths, and the findings beside this one",
)
MISALIGNED = FindingKind(
    "shift",
    "bad",
    "from some line on, the other side fits a few lines further up or down",
    "compare the two files around that line, and mend the one with a line too many or too few",
)
MALFORMED_PAIR = FindingKind(
    "no pair",
    "bad",
    "not two columns with a tab between them, or not JSON with the texts source and target",
    "mend it or leave it out",
    excludes_line=True,
)
NOT_UTF8 = FindingKind(
    "not UTF-8", "bad", "bytes that are no text", "convert it: iconv -f latin1 -t utf-8", excludes_line=True
)
BLANK_SIDE = FindingKind(
    "blank side",
    "bad",
    "a sentence without a translation, or the reverse",
    "leave it out",
    excludes_line=True,
)
NUL_CHARACTER = FindingKind(
    "NUL",
    "bad",
    "the character U+0000: binary data, or UTF-16",
    "convert the file, or leave it out",
    excludes_line=True,
)
CONTROL_CHARACTERS = FindingKind(
    "control characters",
    "bad",
    "characters that print nothing; tabs are fine",
    "remove them: they teach noise",
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
    "hardly a translation: look at it",
    excludes_line=True,
)
IDENTICAL_SIDES = FindingKind(
    "copy", "bad", "both sides are the same text", "teaches to copy: leave it out", excludes_line=True
)
SHARED_SENTENCE = FindingKind(
    "shared",
    "bad",
    "a side of it is in the other corpus too",
    "leave it out, or the test measures memory",
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
"""What makes a single pair bad; a pair that is bad in several ways counts under the first of these."""


@dataclass(frozen=True)
class Finding:
    """One kind of trouble in one corpus."""

    kind: FindingKind
    count: int
    """Pairs that have it, or lines without a partner."""
    lines: Sequence[int]
    """Counted from 1: all of them; for a shift or a lack of lines, where it begins."""
    detail: str = ""
    """What is to be said about this corpus, with its names and numbers."""


@dataclass(frozen=True)
class CorpusReport:
    """What was found in two files that should match line by line, or in one with both sides on each line."""

    files: tuple[str, ...]
    source_lines: int
    target_lines: int
    findings: tuple[Finding, ...]
    labels: Mapping[str, int] | None = None
    """How many good texts have each label, where there are labels; the most frequent first."""

    @property
    def name(self) -> str:
        return " and ".join(self.files)

    @property
    def pairs(self) -> int:
        """Lines that have a partner."""
        return min(self.source_lines, self.target_lines)

    @property
    def fatal_finding(self) -> Finding | None:
        """The first finding that forbids training, if there is one."""
        return next((finding for finding in self.findings if finding.kind.severity == "fatal"), None)

    @property
    def bad_findings(self) -> tuple[Finding, ...]:
        """The findings that a strict reader refuses, though training could go on."""
        return tuple(finding for finding in self.findings if finding.kind.severity == "bad")

    @property
    def bad_lines(self) -> dict[int, str]:
        """The pairs that training leaves out, by line number, and why."""
        found = ((line, f.kind.name) for f in self.findings if f.kind.excludes_line for line in f.lines)
        return dict(sorted(found))

    @property
    def left_out(self) -> dict[str, int]:
        """How many pairs training leaves out, by reason."""
        return {finding.kind.name: finding.count for finding in self.findings if finding.kind.excludes_line}

    def to_json(self) -> str:
        """Everything, for programs."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it; of each kind the first LISTED line numbers."""
        return {
            "files": list(self.files),
            "source_lines": self.source_lines,
            "target_lines": self.target_lines,
            "pairs": self.pairs,
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
        "detail": finding.detail,
        "meaning": finding.kind.meaning,
        "remedy": finding.kind.remedy,
    }
