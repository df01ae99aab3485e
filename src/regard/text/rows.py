"""Two texts on every line of one file: columns with a tab between them, or JSON."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from regard.errors import DataError
from regard.text.unpack import PACKED

Row = tuple[bytes | None, bytes | None]
NO_PAIR: Row = (None, None)
"""What a line gives that does not hold both."""


def parser(path: Path, document: Callable[[Any], Row], holds: str) -> Callable[[bytes], Row]:
    """How the lines of a file are read, by its name; `document` finds the two texts in a line of JSON."""
    name = path.with_suffix("") if path.suffix.lower() in PACKED else path
    match name.suffix.lower():
        case ".tsv":
            return _columns
        case ".jsonl":
            return lambda line: _parsed(line, document)
        case _:
            raise DataError(
                f"{path} does not say how a line holds {holds}; its name must end in .tsv or .jsonl, "
                "and then perhaps .gz, .xz or .zst"
            )


def as_bytes(text: str) -> bytes:
    """A text of JSON as a file would have it; half a surrogate pair is found later, as not UTF-8."""
    return text.encode("utf-8", "surrogatepass")


def _columns(line: bytes) -> Row:
    match line.split(b"\t"):
        case [first, second]:
            return first, second
        case _:
            return NO_PAIR


def _parsed(line: bytes, document: Callable[[Any], Row]) -> Row:
    try:
        return document(json.loads(line))
    except (ValueError, RecursionError):
        return NO_PAIR
