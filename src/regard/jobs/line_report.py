"""What is to be said of lines that could not be translated or classified, or not as they are."""

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
FAILED_KINDS = (NOT_UTF8_LINE, TOO_LONG_LINE, IMPOSSIBLE_LINE)
"""These give an empty line; the others are translated, but not in one piece."""
MAX_REPORTED_LINES = 10
"""Line numbers of a kind that are named; all are counted."""


class UntranslatedError(RegardError):
    """Everything was done that could be, and some lines are empty that should not be."""

    exit_code = 4


class LineIssue(NamedTuple):
    """What is wrong with a line."""

    line: int
    kind: str
    message: str

    def to_json(self) -> str:
        return json.dumps(self._asdict(), ensure_ascii=False)


@dataclass
class JobReport:
    """Counts troubles and keeps the first line numbers of each kind, so that it never grows."""

    item: str = "line"
    """What is counted, and numbered from 1."""
    left_as: str = "empty"
    """What becomes of one that cannot be translated."""
    verb: str = "translated"
    """What is done with the others."""
    lines: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    first_lines: dict[str, list[int]] = field(default_factory=dict)

    def add(self, lines: int, issues: Sequence[LineIssue]) -> None:
        self.lines += lines
        for trouble in issues:
            self.counts[trouble.kind] = self.counts.get(trouble.kind, 0) + 1
            named = self.first_lines.setdefault(trouble.kind, [])
            if len(named) < MAX_REPORTED_LINES:
                named.append(trouble.line)

    def summary_lines(self) -> list[str]:
        """One line for each kind."""
        return [
            f"{self._list_lines(kind)} {_explain_kind(kind, self.left_as, self.verb)}"
            for kind in (*FAILED_KINDS, CUT_LINE, SPLIT_LINE)
            if kind in self.counts
        ]

    def raise_if_untranslated(self) -> None:
        """Ends the command with an exit code of its own."""
        if bad := sum(self.counts.get(kind, 0) for kind in FAILED_KINDS):
            raise UntranslatedError(
                f"{bad:,} of {self.lines:,} {self.item}s could not be {self.verb} and are left {self.left_as}"
            )

    def _list_lines(self, kind: str) -> str:
        count, named = self.counts[kind], self.first_lines[kind]
        numbers = ", ".join(map(str, named)) + (", ..." if count > len(named) else "")
        return f"{count:,} {self.item}{'s' if count > 1 else ''} ({numbers})"


def _explain_kind(kind: str, left: str, verb: str) -> str:
    match kind:
        case "not UTF-8":
            return f"not UTF-8: left {left}; convert the file to UTF-8"
        case "too long":
            return f"too long: left {left}; --long split takes up to 1 MiB, --long cut the beginning of any"
        case "impossible":
            return f"without a translation that has what is required: left {left}; ask for less"
        case "cut":
            return f"too long: only the beginning is {verb}"
        case _:
            return "too long: translated sentence by sentence"
