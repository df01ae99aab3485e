"""Corpus files: lines of text, rows of two sides, and positions in messages."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from regard.errors import DataError
from regard.text.lines import read_lines, read_sentence_lines
from regard.text.table_rows import file_suffix
from regard.text.unicode import normalize_nfc

SkipReason = Literal["header", "untranslated", "fuzzy"]
RawRow = tuple[bytes | None, bytes | None]
"""Both sides of a line; a side is None past the end of its file."""
MALFORMED_ROW: RawRow = (None, None)
"""Stands for a line that does not hold both sides."""
UNIT_NOUNS = {
    ".csv": "row",
    ".parquet": "row",
    ".pq": "row",
    **dict.fromkeys((".tmx", ".xliff", ".xlf"), "unit"),
}
"""What the positions in a file count, by its suffix; in other files it is lines."""
MAX_SHOWN_LINES = 20
"""Line numbers that a message lists."""


class CorpusUnit(NamedTuple):
    """A line, row, message or translation unit of a corpus file."""

    number: int
    """Its position as the user counts, from 1: see `unit_noun`."""
    line: int
    """Number of the line on which it begins; 0 in a binary file."""
    row: RawRow
    skipped: SkipReason | None = None
    """Why the unit is nothing to learn from, though nothing is wrong with it."""


def read_texts(path: Path) -> list[str]:
    """Return the lines of a plain or compressed file as they are, blank ones too; it must have some."""
    return _decode_lines(path, read_lines(path))


def read_sentences(path: Path) -> list[str]:
    """Return the lines of a file as `read_texts` does; reject a table, a document and binary data."""
    return _decode_lines(path, read_sentence_lines(path))


def _decode_lines(path: Path, lines: Iterable[bytes]) -> list[str]:
    texts = [_decode(line, path, number) for number, line in enumerate(lines, start=1)]
    if not texts:
        raise DataError(f"{path} is empty; it must hold one sentence per line")
    return texts


def normalize_text(line: str) -> str:
    """Return the line as training sees it: stripped, and in Unicode form NFC."""
    return normalize_nfc(line.strip())


def _decode(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} line {number} is not UTF-8 (byte {error.start + 1} is 0x{line[error.start]:02x}); "
            "convert the file to UTF-8"
        ) from None


def unit_noun(path: Path) -> str:
    """Return what the positions in a corpus file count."""
    return UNIT_NOUNS.get(file_suffix(path), "line")


@dataclass(frozen=True)
class FileLines:
    """Line numbers of parallel files, or of one file."""

    files: tuple[str, ...]
    numbers: tuple[int, ...]
    """Counted from 1, sorted and unique."""

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.numbers[:MAX_SHOWN_LINES]))
        hidden = len(self.numbers) - MAX_SHOWN_LINES
        more = f" and {hidden:,} more" if hidden > 0 else ""
        noun = unit_noun(Path(self.files[0])) if len(self.files) == 1 else "line"
        return f"{' and '.join(self.files)} {noun}{'s' if len(self.numbers) > 1 else ''} {shown}{more}"


def merge_file_lines(parts: Iterable[FileLines]) -> list[FileLines]:
    """Merge the line numbers of the same files."""
    merged: dict[tuple[str, ...], set[int]] = {}
    for part in parts:
        merged.setdefault(part.files, set()).update(part.numbers)
    return [FileLines(files, tuple(sorted(numbers))) for files, numbers in merged.items()]


def encode_json_text(text: str) -> bytes:
    """Encode a string from JSON; a lone surrogate is kept, and reported later as invalid UTF-8."""
    return text.encode("utf-8", "surrogatepass")
