"""Fields of Word: an instruction, and a result that is either text to translate or computed."""

from dataclasses import dataclass, field

from regard.documents.office.runs import RunCode, RunItem, RunText, TextRun
from regard.documents.segments import InlineKind

TRANSLATED_FIELDS = frozenset(("HYPERLINK", "TOC", "TOA", "INDEX", "REF", "STYLEREF", "QUOTE", "INCLUDETEXT"))
"""Fields with a result of words that an author wrote; all others are numbers, dates and names."""


@dataclass
class _OpenField:
    start: int | TextRun
    pair: str
    instruction: list[str] = field(default_factory=list)
    separated: bool = False
    opened: bool = False
    """Whether its result is translated, between two inline codes."""

    @property
    def is_translated(self) -> bool:
        words = "".join(self.instruction).split()
        return bool(words) and words[0].upper() in TRANSLATED_FIELDS


class FieldTracker:
    """The fields that are open; a field may contain fields, and reach over several paragraphs."""

    def __init__(self) -> None:
        self._open: list[_OpenField] = []
        self._result: list[str] = []
        self._pairs = 0
        self._hiding = 0
        """The number of open fields whose text is not translated."""
        self._instructions = 0
        """The number of open fields whose result has not started."""

    def begin(self, start: int | TextRun) -> None:
        self._pairs += 1
        self._hiding += 1
        self._instructions += 1
        self._open.append(_OpenField(start, f"field{self._pairs}"))

    def add_instruction(self, text: str) -> None:
        if self._open and not self._open[-1].separated:
            self._open[-1].instruction.append(text)

    def separate(self, end: int | TextRun) -> RunCode | None:
        """Start the result of the innermost field; return the code that opens it if it is translated."""
        if not self._open or self._open[-1].separated:
            return None
        inner = self._open[-1]
        inner.separated = True
        self._instructions -= 1
        if not inner.is_translated or self._hiding > 1:
            return None
        inner.opened = True
        self._hiding = 0
        return RunCode(InlineKind.OPEN, inner.start, end, inner.pair)

    def end(self, end: int | TextRun) -> RunCode | None:
        """End the innermost field; return the code that closes it or stands for it, if any."""
        if not self._open:
            return None
        inner = self._open.pop()
        self._instructions -= not inner.separated
        if inner.opened:
            return RunCode(InlineKind.CLOSE, end, end, inner.pair)
        self._hiding -= 1
        return None if self._hiding else self._computed_code(inner.start, end)

    def hides(self, item: RunItem) -> bool:
        """Whether an item is inside an instruction or a computed result, whose text is remembered."""
        if self._hiding and isinstance(item, RunText) and not self._instructions:
            self._result.append(item.text)
        return self._hiding > 0

    def end_paragraph(self) -> RunCode | None:
        """Return the code of a computed field that reaches over the end of the paragraph."""
        return self._computed_code(None, None) if self._result else None

    def _computed_code(self, start: int | TextRun | None, end: int | TextRun | None) -> RunCode:
        text = "".join(self._result).strip()
        self._result = []
        return RunCode(InlineKind.PROTECTED if text else InlineKind.STANDALONE, start, end, text=text)
