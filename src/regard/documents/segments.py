"""The pieces of a sentence with markup, before anybody asks where they belong."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import groupby, pairwise
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


NOT_IN_ONE = r"\s<>()\[\]{}\"'«»“”"
ADDRESS = re.compile(
    rf"(?:(?:https?|ftp)://|(?<![\w.@/-])www\.(?=[\w-]+\.))[^{NOT_IN_ONE}]*[^{NOT_IN_ONE}.,;:!?…*_~|]"
    r"|(?<![\w.+@/-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])"
)
"""Of a page (https://..., www....) or of mail; the mark that ends the sentence is no part of it."""


def with_addresses(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The same pieces, with the addresses in their texts as what must be kept."""
    for is_text, some in groupby(pieces, key=lambda piece: piece.kind is Kind.TEXT):
        run = list(some)
        text = "".join(piece.text for piece in run) if is_text else ""
        found = [match.span() for match in ADDRESS.finditer(text)]
        yield from _kept(run, found) if found else run


def _kept(run: Sequence[Piece], found: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    """The texts of a run; of what lies at `found`, all together, each is one piece."""

    starts = [start for start, _ in found]

    def address(placed: tuple[int, Piece]) -> int | None:
        start, piece = placed
        at = bisect_right(starts, start) - 1
        return at if at >= 0 and start + len(piece.text) <= found[at][1] else None

    borders = sorted({border for span in found for border in span})
    for which, some in groupby(_at_borders(run, borders), key=address):
        parts = [piece for _, piece in some]
        if which is None:
            yield from parts
        else:
            yield Piece(Kind.KEPT, "".join(each.raw for each in parts), "".join(each.text for each in parts))


def _at_borders(run: Sequence[Piece], borders: Sequence[int]) -> Iterator[tuple[int, Piece]]:
    """Each piece and where it starts, cut wherever an address begins or ends; an entity cannot be."""
    place = 0
    for piece in run:
        end = place + len(piece.text)
        inside = borders[bisect_right(borders, place) : bisect_right(borders, end - 1)]
        cuts = [place, *inside, end] if piece.raw == piece.text else [place, end]
        for left, right in pairwise(cuts):
            whole = (left, right) == (place, end)
            part = piece if whole else Piece(Kind.TEXT, *[piece.raw[left - place : right - place]] * 2)
            yield left, part
        place = end
