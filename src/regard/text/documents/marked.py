"""A text and the markup that was inside it: what a translator reads, and what it must not see."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from regard.text.documents.addresses import with_addresses
from regard.text.documents.pieces import Kind, Piece


class Side(Enum):
    """On which side of a space a code stands."""

    BEFORE = "before"
    AFTER = "after"
    INSTEAD = "instead"


@dataclass(frozen=True)
class Code:
    """Markup at a place of the text."""

    at: int
    raw: str
    kind: Kind
    side: Side


@dataclass(frozen=True)
class Kept:
    """A part of the text that must come back as it is, and how the document spells it."""

    start: int
    end: int
    raw: str


@dataclass(frozen=True)
class Marked:
    """A text without its markup, and what was where. Markup around the whole text is no part of it:
    `lead` and `tail` say how much of the document's spelling that is."""

    text: str
    codes: tuple[Code, ...] = ()
    kept: tuple[Kept, ...] = ()
    lead: int = 0
    tail: int = 0


TAG = re.compile(r"</?[A-Za-z][^<>]*>")
WHITE = re.compile(r"\s{2,}|[^\S ]")


@dataclass
class _Growing:
    text: list[str] = field(default_factory=list)
    size: int = 0
    codes: list[Code] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    waiting: list[Piece] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.text.append(text)
        self.size += len(text)

    def settle(self) -> None:
        """Places what lies between two words: a space, markup on either side of it, or both mixed."""
        white = [k for k, piece in enumerate(self.waiting) if piece.kind is Kind.BREAK]
        if not white:
            for piece in self.waiting:
                side = Side.AFTER if piece.kind is Kind.OPEN else Side.BEFORE
                self.codes.append(Code(self.size, piece.raw, piece.kind, side))
        else:
            first, last = white[0], white[-1] + 1
            for piece in self.waiting[:first]:
                self.codes.append(Code(self.size, piece.raw, piece.kind, Side.BEFORE))
            between = "".join([piece.raw for piece in self.waiting[first:last]])
            if between != " ":
                kind = Kind.BREAK if len(white) == last - first else Kind.ALONE
                self.codes.append(Code(self.size, between, kind, Side.INSTEAD))
            self.add(" ")
            for piece in self.waiting[last:]:
                self.codes.append(Code(self.size, piece.raw, piece.kind, Side.AFTER))
        self.waiting = []


def marked(pieces: Iterable[Piece]) -> Marked | None:
    """The text of a sentence with markup; None where there is nothing to translate.

    White space, non-breaking too, counts as one space, and comes back as it was wherever the translation
    has a place for it.
    """
    growing = _Growing()
    lead = 0
    for piece in _words(with_addresses(pieces)):
        if piece.kind not in (Kind.TEXT, Kind.KEPT):
            growing.waiting.append(piece)
            continue
        if growing.size:
            growing.settle()
        else:
            lead = sum(len(waiting.raw) for waiting in growing.waiting)
            growing.waiting = []
        if piece.kind is Kind.KEPT:
            growing.kept.append(Kept(growing.size, growing.size + len(piece.text), piece.raw))
        growing.add(piece.text)
    text = "".join(growing.text)
    if not _says_something(text, growing.kept):
        return None
    tail = sum(len(waiting.raw) for waiting in growing.waiting)
    return Marked(text, tuple(growing.codes), tuple(growing.kept), lead, tail)


def _words(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces, with all white space cut out of texts but for single spaces inside them."""
    for piece in pieces:
        kind, raw, text = piece
        if kind is Kind.KEPT:
            text = " ".join(text.split())
            yield Piece(Kind.KEPT if text else Kind.ALONE, raw, text)
        elif kind is not Kind.TEXT:
            yield piece
        elif text != raw:  # an entity, an escaped character: spelled otherwise
            yield Piece(Kind.BREAK, raw) if text.isspace() else piece
        elif raw:
            yield from _cut(raw)


def _cut(raw: str) -> Iterator[Piece]:
    start, end = len(raw) - len(raw.lstrip()), len(raw.rstrip())
    if start:
        yield Piece(Kind.BREAK, raw[:start])
    done = start
    for white in WHITE.finditer(raw, start, end):
        yield Piece(Kind.TEXT, raw[done : white.start()], raw[done : white.start()])
        yield Piece(Kind.BREAK, white[0])
        done = white.end()
    if done < end:
        yield Piece(Kind.TEXT, raw[done:end], raw[done:end])
    if start <= end < len(raw):
        yield Piece(Kind.BREAK, raw[end:])


def _says_something(text: str, kept: list[Kept]) -> bool:
    """Whether there is a letter or a digit beside what must stay: bullets and bars are no text."""
    borders = [0, *(border for part in kept for border in (part.start, part.end)), len(text)]
    return any(
        letter.isalnum()
        for start, end in zip(borders[::2], borders[1::2], strict=True)
        for letter in text[start:end]
    )


def tag_pieces(text: str, tag: re.Pattern[str] = TAG) -> Iterator[Piece]:
    """A text that is no page but has tags in it, of which nobody knows whether they are closed."""
    done = 0
    for match in tag.finditer(text):
        yield Piece(Kind.TEXT, text[done : match.start()], text[done : match.start()])
        if match[0].startswith("</"):
            yield Piece(Kind.CLOSE, match[0])
        else:
            yield Piece(Kind.OPEN if match[0][0] == "<" and match[0][-2] != "/" else Kind.ALONE, match[0])
        done = match.end()
    yield Piece(Kind.TEXT, text[done:], text[done:])
