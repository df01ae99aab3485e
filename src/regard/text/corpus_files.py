"""Corpus files: lines of text and sentence pairs in plain, .tsv and .jsonl files."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from regard.errors import DataError
from regard.text.compression import COMPRESSED_SUFFIXES, ChunkCallback
from regard.text.lines import read_lines, read_sentence_lines
from regard.text.unicode import normalize_nfc

RawRow = tuple[bytes | None, bytes | None]
"""Both sides of a line; a side is None past the end of its file."""
MALFORMED_ROW: RawRow = (None, None)
"""Stands for a line that does not hold both sides."""
MAX_SHOWN_LINES = 20
"""Line numbers that a message lists."""


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


@dataclass(frozen=True)
class PairFiles:
    """A source and a target file, or one .tsv or .jsonl file with both; each plain, .gz, .xz or .zst."""

    source: Path
    target: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.source,) if self.target is None else (self.source, self.target)

    @property
    def name(self) -> str:
        return " and ".join(map(str, self.files))

    @property
    def reading_options(self) -> tuple[str | None, ...]:
        """What decides how the files are read, beside their suffixes."""
        return ()

    def normalize_row(self, row: RawRow) -> tuple[str, str]:
        """Return both sides as training sees them."""
        source, target = (normalize_text((side or b"").decode("utf-8", "replace")) for side in row)
        return source, target

    def read_rows(self, on_chunk: ChunkCallback | None = None) -> Iterator[RawRow]:
        """Yield the source and the target of each line."""
        if self.target is not None:
            return zip_longest(
                read_sentence_lines(self.source, on_chunk), read_sentence_lines(self.target, on_chunk)
            )
        parse = make_row_parser(self.source, _parse_pair_json, "a pair")
        return (parse(line) for line in read_lines(self.source, on_chunk))


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
        return f"{' and '.join(self.files)} line{'s' if len(self.numbers) > 1 else ''} {shown}{more}"


def merge_file_lines(parts: Iterable[FileLines]) -> list[FileLines]:
    """Merge the line numbers of the same files."""
    merged: dict[tuple[str, ...], set[int]] = {}
    for part in parts:
        merged.setdefault(part.files, set()).update(part.numbers)
    return [FileLines(files, tuple(sorted(numbers))) for files, numbers in merged.items()]


def make_row_parser(
    path: Path, parse_json: Callable[[Any], RawRow], content: str
) -> Callable[[bytes], RawRow]:
    """Return the function that parses the lines of a .tsv or .jsonl file; `content` is for the error."""
    name = path.with_suffix("") if path.suffix.lower() in COMPRESSED_SUFFIXES else path
    match name.suffix.lower():
        case ".tsv":
            return _split_columns
        case ".jsonl":
            return lambda line: _parse_json_line(line, parse_json)
        case _:
            raise DataError(
                f"{path} does not say how a line holds {content}; its name must end in .tsv or .jsonl, "
                "optionally followed by .gz, .xz or .zst"
            )


def _split_columns(line: bytes) -> RawRow:
    match line.split(b"\t"):
        case [first, second]:
            return first, second
        case _:
            return MALFORMED_ROW


def _parse_json_line(line: bytes, parse_json: Callable[[Any], RawRow]) -> RawRow:
    try:
        return parse_json(json.loads(line))
    except (ValueError, RecursionError):
        return MALFORMED_ROW


def _parse_pair_json(value: Any) -> RawRow:
    """Return the sides of {"source": ..., "target": ...}; other keys are ignored."""
    match value:
        case {"source": str(source), "target": str(target)}:
            return encode_json_text(source), encode_json_text(target)
        case _:
            return MALFORMED_ROW


def encode_json_text(text: str) -> bytes:
    """Encode a string from JSON; a lone surrogate is kept, and reported later as invalid UTF-8."""
    return text.encode("utf-8", "surrogatepass")
