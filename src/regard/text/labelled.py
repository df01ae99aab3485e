"""Where texts and their labels lie: in two files, line by line, or in one with both on each line."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from regard.text.lines import read_lines
from regard.text.rows import NO_PAIR, Row, as_bytes, parser
from regard.text.unpack import Seen

HEADER: Row = (b"text", b"label")
"""What the first line gives if it names the columns: a line like the others, but nothing to learn from."""
TEXTS = ("text", "sentence")
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

    def rows(self, seen: Seen | None = None) -> Iterator[Row]:
        """The text and the label of each line as bytes; one is None past the end of its file."""
        if self.labels is not None:
            return zip_longest(read_lines(self.texts, seen), read_lines(self.labels, seen))
        parse = parser(self.texts, _text_and_label, "a text and its label")
        return _in_order(parse(line) for line in read_lines(self.texts, seen))


def _in_order(rows: Iterator[Row]) -> Iterator[Row]:
    """Rows of label and text, in that order unless a header says otherwise, as text and label."""
    first = next(rows, None)
    if first is None:
        return
    names = [(name or b"").strip().lower() for name in first]
    heads = [[text.encode(), b"label"] for text in TEXTS]
    label_first = names not in heads
    if not label_first or names[::-1] in heads:
        yield HEADER
    else:
        rows = chain([first], rows)
    for row in rows:
        yield (row[1], row[0]) if label_first and row is not NO_PAIR else row


def _text_and_label(document: Any) -> Row:
    """{"label": ..., "text": ...}, in the order of a .tsv; a label may be a number, or true or false."""
    match document:
        case {"label": (str() | int()) as label, "text": str(text)}:
            return as_bytes(label if isinstance(label, str) else json.dumps(label)), as_bytes(text)
        case _:
            return NO_PAIR
