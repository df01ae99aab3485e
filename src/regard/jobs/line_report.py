"""What is to be said of lines that could not be translated or classified, or not as they are."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from regard.errors import RegardError

NOT_UTF8, TOO_LONG, IMPOSSIBLE, CUT, SPLIT = "not UTF-8", "too long", "impossible", "cut", "split"
UNTRANSLATED = (NOT_UTF8, TOO_LONG, IMPOSSIBLE)
"""These give an empty line; the others are translated, but not in one piece."""
NAMED = 10
"""Line numbers of a kind that are named; all are counted."""


class UntranslatedError(RegardError):
    """Everything was done that could be, and some lines are empty that should not be."""

    exit_code = 4


class Trouble(NamedTuple):
    """What is wrong with a line."""

    line: int
    kind: str
    said: str

    def to_json(self) -> str:
        return json.dumps(self._asdict(), ensure_ascii=False)


@dataclass
class Report:
    """Counts troubles and keeps the first line numbers of each kind, so that it never grows."""

    what: str = "line"
    """What is counted, and numbered from 1."""
    left: str = "empty"
    """What becomes of one that cannot be translated."""
    verb: str = "translated"
    """What is done with the others."""
    lines: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, list[int]] = field(default_factory=dict)

    def add(self, lines: int, troubles: Sequence[Trouble]) -> None:
        self.lines += lines
        for trouble in troubles:
            self.counts[trouble.kind] = self.counts.get(trouble.kind, 0) + 1
            named = self.first.setdefault(trouble.kind, [])
            if len(named) < NAMED:
                named.append(trouble.line)

    def said(self) -> list[str]:
        """One line for each kind."""
        return [
            f"{self._named(kind)} {_meaning(kind, self.left, self.verb)}"
            for kind in (*UNTRANSLATED, CUT, SPLIT)
            if kind in self.counts
        ]

    def refuse_untranslated(self) -> None:
        """Ends the command with an exit code of its own."""
        if bad := sum(self.counts.get(kind, 0) for kind in UNTRANSLATED):
            raise UntranslatedError(
                f"{bad:,} of {self.lines:,} {self.what}s could not be {self.verb} and are left {self.left}"
            )

    def _named(self, kind: str) -> str:
        count, named = self.counts[kind], self.first[kind]
        numbers = ", ".join(map(str, named)) + (", ..." if count > len(named) else "")
        return f"{count:,} {self.what}{'s' if count > 1 else ''} ({numbers})"


def _meaning(kind: str, left: str, verb: str) -> str:
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
