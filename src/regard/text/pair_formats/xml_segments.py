"""Text of segments in TMX and XLIFF: inline codes are left out."""

from regard.errors import DataError
from regard.text.lines import MAX_CORPUS_LINE_BYTES
from regard.text.pair_formats.units import encode_segment

CODE_ELEMENTS = frozenset(
    ("bpt", "ept", "ph", "it", "ut", "bx", "ex", "x", "sc", "ec", "sm", "em", "cp")  # of TMX and both XLIFFs
)
"""Elements that stand for native code, such as <b> or {0}, whose content is no text of the segment."""
LINE_BREAK_TYPES = ("lb", "x-html-br", "fmt:lb")
"""Types of a code that stands for a line break."""


class SegmentText:
    """Collects the text of one segment from the events of the parser.

    A code is left out with its content; one that is a line break becomes a space. Other inline elements,
    such as <hi>, <g> and <mrk>, lose their tags and keep their text.
    """

    def __init__(self, name: str, line: int) -> None:
        self._name, self._line = name, line
        self._parts: list[str] = []
        self._size = self._code_depth = 0
        self.depth = 0
        """Number of inline elements that are open."""

    def start(self, element: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self._code_depth or element in CODE_ELEMENTS:
            if any(attributes.get(key) in LINE_BREAK_TYPES for key in ("type", "ctype", "subType")):
                self._parts.append("\n")
            self._code_depth += 1

    def end(self) -> None:
        self.depth -= 1
        if self._code_depth:
            self._code_depth -= 1

    def text(self, text: str) -> None:
        if self._code_depth:
            return
        self._parts.append(text)
        self._size += len(text)
        if self._size > MAX_CORPUS_LINE_BYTES:
            raise DataError(
                f"{self._name} line {self._line} has a segment of over {MAX_CORPUS_LINE_BYTES >> 20} MiB, "
                "which is no sentence"
            )

    def encode(self) -> bytes:
        """Return the text on one line in UTF-8, without white space around it."""
        return encode_segment("".join(self._parts).strip())
