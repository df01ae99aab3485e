"""The pieces of a sentence with markup, before anybody asks where they belong."""

from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """What a piece of a sentence with markup is."""

    TEXT = "text"
    OPEN = "open"  # <b>: belongs to what follows
    CLOSE = "close"  # </b>: belongs to what precedes
    ALONE = "alone"  # <img>: between the two
    BREAK = "break"  # a line's end and what begins the next line: stands for a space
    KEPT = "kept"  # text that must come back as it is: `code`, %s


class Piece(NamedTuple):
    """A part of a sentence as the document spells it, and the text it stands for, if any."""

    kind: Kind
    raw: str
    text: str = ""
