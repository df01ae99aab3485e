"""Issues of input lines: lines that could not be translated or classified, or not as they are."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from regard.errors import RegardError

NOT_UTF8_LINE, TOO_LONG_LINE, IMPOSSIBLE_LINE, CUT_LINE, SPLIT_LINE = (
    "not UTF-8",
    "too long",
    "impossible",
    "cut",
    "split",
)
UNLIKE_TRAINING_LINE, GLOSSARY_LINE = "unlike training", "glossary"
GUESSED_LINE, BROKEN_LINE = "placeholder guessed", "broken message"
FAILED_KINDS = (NOT_UTF8_LINE, TOO_LONG_LINE, IMPOSSIBLE_LINE, BROKEN_LINE)
"""Issues of lines without a result; lines with another issue are translated: cut, in parts, or doubtful."""
MAX_REPORTED_LINES = 10
"""Line numbers listed for each kind of issue; all are counted."""


class UntranslatedError(RegardError):
    """The job is finished, and some lines have no result."""

    exit_code = 4


class LineIssue(NamedTuple):
    """What is wrong with one line."""

    line: int
    kind: str
    message: str

    def to_json(self) -> str:
        return json.dumps(self._asdict(), ensure_ascii=False)


@dataclass
class JobReport:
    """Counts the issues of each kind and keeps their first line numbers, in constant memory."""

    item: str = "line"
    """What is counted and numbered, from 1."""
    left_as: str = "empty"
    """The output of an item without a result."""
    verb: str = "translated"
    """What is done with the items."""
    lines: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    first_lines: dict[str, list[int]] = field(default_factory=dict)

    def add(self, lines: int, issues: Sequence[LineIssue]) -> None:
        self.lines += lines
        for issue in issues:
            self.counts[issue.kind] = self.counts.get(issue.kind, 0) + 1
            listed = self.first_lines.setdefault(issue.kind, [])
            if len(listed) < MAX_REPORTED_LINES:
                listed.append(issue.line)

    def summary_lines(self) -> list[str]:
        """Return one line of text for each kind of issue."""
        lines = [
            f"{self._list_lines(kind)} {_explain_kind(kind, self.left_as, self.verb)}"
            for kind in (*FAILED_KINDS, CUT_LINE, SPLIT_LINE, GUESSED_LINE, GLOSSARY_LINE)
            if kind in self.counts
        ]
        if unlike := self.counts.get(UNLIKE_TRAINING_LINE):
            are, those = ("is", "its translation") if unlike == 1 else ("are", "their translations")
            share = f"{unlike:,} of {self.lines:,} {self.item}{'s' if self.lines > 1 else ''}"
            lines.append(f"{share} {are} unlike the training text: do not rely on {those}")
        return lines

    def raise_if_untranslated(self) -> None:
        """End the command with its own exit code if any item has no result."""
        if failed := sum(self.counts.get(kind, 0) for kind in FAILED_KINDS):
            raise UntranslatedError(
                f"{failed:,} of {self.lines:,} {self.item}s could not be {self.verb} and are left "
                f"{self.left_as}"
            )

    def _list_lines(self, kind: str) -> str:
        count, listed = self.counts[kind], self.first_lines[kind]
        numbers = ", ".join(map(str, listed)) + (", ..." if count > len(listed) else "")
        return f"{count:,} {self.item}{'s' if count > 1 else ''} ({numbers})"


def _explain_kind(kind: str, left_as: str, verb: str) -> str:
    limits = "--long split takes up to 1 MiB, --long cut the beginning of any"
    explanations = {
        NOT_UTF8_LINE: f"not UTF-8: left {left_as}; convert the file to UTF-8",
        TOO_LONG_LINE: f"too long: left {left_as}; {limits}",
        IMPOSSIBLE_LINE: f"no translation with all required phrases found: left {left_as}; "
        "require fewer phrases",
        BROKEN_LINE: f"whose translation would break the message: left {left_as}; translate it by hand",
        CUT_LINE: f"too long: only the beginning is {verb}",
        SPLIT_LINE: "too long: translated sentence by sentence",
        GLOSSARY_LINE: "glossary term not in place: look at the translation; --report lists the terms",
        GUESSED_LINE: "lost a placeholder: put back by guess; check where it stands",
    }
    return explanations[kind]
