"""Text files, read as what lies between newline bytes and nothing else."""

import json
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from regard.errors import DataError
from regard.text.compression import COMPRESSED_SUFFIXES, ChunkCallback
from regard.text.lines import read_lines


def read_texts(path: Path) -> list[str]:
    """The lines of a file, packed or not, that must have some; blank ones too, and none mended."""
    texts = [_decoded(line, str(path), number) for number, line in enumerate(read_lines(path), start=1)]
    if not texts:
        raise DataError(f"{path} is empty; it must hold one sentence per line")
    return texts


def split_lines(content: bytes, name: str) -> list[str]:
    """Lines end at a newline byte; U+2028 and its like are text, and a final newline starts no line."""
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [decode_line(line, name, number) for number, line in enumerate(lines, start=1)]


def decode_line(line: bytes, name: str, number: int) -> str:
    """One line, without the carriage return that Windows leaves at its end."""
    return _decoded(line.removesuffix(b"\r"), name, number)


def normalize_text(line: str) -> str:
    """The line as training sees it: without blanks around it, and in one spelling."""
    return unicodedata.normalize("NFC", line.strip())


def _decoded(line: bytes, name: str, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name} line {number} is not UTF-8 (byte {error.start + 1} is 0x{line[error.start]:02x}); "
            "convert the file to UTF-8"
        ) from None


RawRow = tuple[bytes | None, bytes | None]
MALFORMED_ROW: RawRow = (None, None)
"""What a line gives that does not hold both."""


def make_row_parser(
    path: Path, parse_json: Callable[[Any], RawRow], content: str
) -> Callable[[bytes], RawRow]:
    """How the lines of a file are read, by its name; `document` finds the two texts in a line of JSON."""
    name = path.with_suffix("") if path.suffix.lower() in COMPRESSED_SUFFIXES else path
    match name.suffix.lower():
        case ".tsv":
            return _split_columns
        case ".jsonl":
            return lambda line: _parse_json_line(line, parse_json)
        case _:
            raise DataError(
                f"{path} does not say how a line holds {content}; its name must end in .tsv or .jsonl, "
                "and then perhaps .gz, .xz or .zst"
            )


def encode_json_text(text: str) -> bytes:
    """A text of JSON as a file would have it; half a surrogate pair is found later, as not UTF-8."""
    return text.encode("utf-8", "surrogatepass")


def _split_columns(line: bytes) -> RawRow:
    match line.split(b"\t"):
        case [first, second]:
            return first, second
        case _:
            return MALFORMED_ROW


def _parse_json_line(line: bytes, document: Callable[[Any], RawRow]) -> RawRow:
    try:
        return document(json.loads(line))
    except (ValueError, RecursionError):
        return MALFORMED_ROW


@dataclass(frozen=True)
class PairFiles:
    """A source and its target, or one .tsv or .jsonl file; each plain, .gz, .xz or .zst."""

    source: Path
    target: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.source,) if self.target is None else (self.source, self.target)

    @property
    def name(self) -> str:
        return " and ".join(map(str, self.files))

    def read_rows(self, on_chunk: ChunkCallback | None = None) -> Iterator[RawRow]:
        """Both sides of each line as bytes; a side is None past the end of its file."""
        if self.target is not None:
            return zip_longest(read_lines(self.source, on_chunk), read_lines(self.target, on_chunk))
        parse = make_row_parser(self.source, _parse_pair_json, "a pair")
        return (parse(line) for line in read_lines(self.source, on_chunk))


def _parse_pair_json(document: Any) -> RawRow:
    """{"source": ..., "target": ...}, and whatever else beside them."""
    match document:
        case {"source": str(source), "target": str(target)}:
            return encode_json_text(source), encode_json_text(target)
        case _:
            return MALFORMED_ROW


HEADER_ROW: RawRow = (b"text", b"label")
"""What the first line gives if it names the columns: a line like the others, but nothing to learn from."""
TEXT_COLUMN_NAMES = ("text", "sentence")
"""What a header may call the column of texts; the other one is `label`."""


@dataclass(frozen=True)
class LabelledFiles:
    """A file of texts and one of labels, or one .tsv or .jsonl file; each plain, .gz, .xz or .zst.

    A line of the .tsv is label<TAB>text, unless its first line, text<TAB>label, says otherwise. Nothing
    is guessed: a text may well look like a label.
    """

    texts: Path
    labels: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.texts,) if self.labels is None else (self.texts, self.labels)

    @property
    def name(self) -> str:
        return " and ".join(map(str, self.files))

    def read_rows(self, on_chunk: ChunkCallback | None = None) -> Iterator[RawRow]:
        """The text and the label of each line as bytes; one is None past the end of its file."""
        if self.labels is not None:
            return zip_longest(read_lines(self.texts, on_chunk), read_lines(self.labels, on_chunk))
        parse = make_row_parser(self.texts, _parse_labelled_json, "a text and its label")
        return _text_first(parse(line) for line in read_lines(self.texts, on_chunk))


def _text_first(rows: Iterator[RawRow]) -> Iterator[RawRow]:
    """Rows of label and text, in that order unless a header says otherwise, as text and label."""
    first = next(rows, None)
    if first is None:
        return
    names = [(name or b"").strip().lower() for name in first]
    heads = [[text.encode(), b"label"] for text in TEXT_COLUMN_NAMES]
    label_first = names not in heads
    if not label_first or names[::-1] in heads:
        yield HEADER_ROW
    else:
        rows = chain([first], rows)
    for row in rows:
        yield (row[1], row[0]) if label_first and row is not MALFORMED_ROW else row


def _parse_labelled_json(document: Any) -> RawRow:
    """{"label": ..., "text": ...}, in the order of a .tsv; a label may be a number, or true or false."""
    match document:
        case {"label": (str() | int()) as label, "text": str(text)}:
            return encode_json_text(label if isinstance(label, str) else json.dumps(label)), encode_json_text(
                text
            )
        case _:
            return MALFORMED_ROW
