"""The pieces of a sentence with markup, before anybody asks where they belong."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import groupby, pairwise
from typing import NamedTuple


class InlineKind(Enum):
    """What a piece of a sentence with markup is."""

    TEXT = "text"
    OPEN = "open"  # <b>: belongs to what follows
    CLOSE = "close"  # </b>: belongs to what precedes
    STANDALONE = "alone"  # <img>: between the two
    SPACE = "break"  # a line's end and what begins the next line: stands for a space
    PROTECTED = "kept"  # text that must come back as it is: `code`, %s


class InlineFragment(NamedTuple):
    """A part of a sentence as the document spells it, and the text it stands for, if any."""

    kind: InlineKind
    raw: str
    text: str = ""


class SpacePosition(Enum):
    """On which side of a space a code stands."""

    BEFORE = "before"
    AFTER = "after"
    INSTEAD = "instead"


@dataclass(frozen=True)
class InlineCode:
    """Markup at a place of the text."""

    position: int
    raw: str
    kind: InlineKind
    side: SpacePosition


@dataclass(frozen=True)
class ProtectedSpan:
    """A part of the text that must come back as it is, and how the document spells it."""

    start: int
    end: int
    raw: str


@dataclass(frozen=True)
class Segment:
    """A text without its markup, and what was where. Markup around the whole text is no part of it:
    `lead` and `tail` say how much of the document's spelling that is."""

    text: str
    codes: tuple[InlineCode, ...] = ()
    protected: tuple[ProtectedSpan, ...] = ()
    lead_length: int = 0
    tail_length: int = 0


INLINE_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
IRREGULAR_WHITESPACE = re.compile(r"\s{2,}|[^\S ]")


@dataclass
class _SegmentBuilder:
    text: list[str] = field(default_factory=list)
    length: int = 0
    codes: list[InlineCode] = field(default_factory=list)
    protected: list[ProtectedSpan] = field(default_factory=list)
    pending: list[InlineFragment] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.text.append(text)
        self.length += len(text)

    def flush_pending(self) -> None:
        """Places what lies between two words: a space, markup on either side of it, or both mixed."""
        white = [k for k, piece in enumerate(self.pending) if piece.kind is InlineKind.SPACE]
        if not white:
            for piece in self.pending:
                side = SpacePosition.AFTER if piece.kind is InlineKind.OPEN else SpacePosition.BEFORE
                self.codes.append(InlineCode(self.length, piece.raw, piece.kind, side))
        else:
            first, last = white[0], white[-1] + 1
            for piece in self.pending[:first]:
                self.codes.append(InlineCode(self.length, piece.raw, piece.kind, SpacePosition.BEFORE))
            between = "".join([piece.raw for piece in self.pending[first:last]])
            if between != " ":
                kind = InlineKind.SPACE if len(white) == last - first else InlineKind.STANDALONE
                self.codes.append(InlineCode(self.length, between, kind, SpacePosition.INSTEAD))
            self.add(" ")
            for piece in self.pending[last:]:
                self.codes.append(InlineCode(self.length, piece.raw, piece.kind, SpacePosition.AFTER))
        self.pending = []


def build_segment(fragments: Iterable[InlineFragment]) -> Segment | None:
    """The text of a sentence with markup; None where there is nothing to translate.

    White space, non-breaking too, counts as one space, and comes back as it was wherever the translation
    has a place for it.
    """
    growing = _SegmentBuilder()
    lead = 0
    for piece in _separate_whitespace(protect_urls_and_emails(fragments)):
        if piece.kind not in (InlineKind.TEXT, InlineKind.PROTECTED):
            growing.pending.append(piece)
            continue
        if growing.length:
            growing.flush_pending()
        else:
            lead = sum(len(waiting.raw) for waiting in growing.pending)
            growing.pending = []
        if piece.kind is InlineKind.PROTECTED:
            growing.protected.append(
                ProtectedSpan(growing.length, growing.length + len(piece.text), piece.raw)
            )
        growing.add(piece.text)
    text = "".join(growing.text)
    if not _has_translatable_text(text, growing.protected):
        return None
    tail = sum(len(waiting.raw) for waiting in growing.pending)
    return Segment(text, tuple(growing.codes), tuple(growing.protected), lead, tail)


def _separate_whitespace(pieces: Iterable[InlineFragment]) -> Iterator[InlineFragment]:
    """The pieces, with all white space cut out of texts but for single spaces inside them."""
    for piece in pieces:
        kind, raw, text = piece
        if kind is InlineKind.PROTECTED:
            text = " ".join(text.split())
            yield InlineFragment(InlineKind.PROTECTED if text else InlineKind.STANDALONE, raw, text)
        elif kind is not InlineKind.TEXT:
            yield piece
        elif text != raw:  # an entity, an escaped character: spelled otherwise
            yield InlineFragment(InlineKind.SPACE, raw) if text.isspace() else piece
        elif raw:
            yield from _split_whitespace(raw)


def _split_whitespace(raw: str) -> Iterator[InlineFragment]:
    start, end = len(raw) - len(raw.lstrip()), len(raw.rstrip())
    if start:
        yield InlineFragment(InlineKind.SPACE, raw[:start])
    done = start
    for white in IRREGULAR_WHITESPACE.finditer(raw, start, end):
        yield InlineFragment(InlineKind.TEXT, raw[done : white.start()], raw[done : white.start()])
        yield InlineFragment(InlineKind.SPACE, white[0])
        done = white.end()
    if done < end:
        yield InlineFragment(InlineKind.TEXT, raw[done:end], raw[done:end])
    if start <= end < len(raw):
        yield InlineFragment(InlineKind.SPACE, raw[end:])


def _has_translatable_text(text: str, kept: list[ProtectedSpan]) -> bool:
    """Whether there is a letter or a digit beside what must stay: bullets and bars are no text."""
    borders = [0, *(border for part in kept for border in (part.start, part.end)), len(text)]
    return any(
        letter.isalnum()
        for start, end in zip(borders[::2], borders[1::2], strict=True)
        for letter in text[start:end]
    )


def split_inline_tags(text: str, tag: re.Pattern[str] = INLINE_TAG) -> Iterator[InlineFragment]:
    """A text that is no page but has tags in it, of which nobody knows whether they are closed."""
    done = 0
    for match in tag.finditer(text):
        yield InlineFragment(InlineKind.TEXT, text[done : match.start()], text[done : match.start()])
        if match[0].startswith("</"):
            yield InlineFragment(InlineKind.CLOSE, match[0])
        else:
            yield InlineFragment(
                InlineKind.OPEN if match[0][0] == "<" and match[0][-2] != "/" else InlineKind.STANDALONE,
                match[0],
            )
        done = match.end()
    yield InlineFragment(InlineKind.TEXT, text[done:], text[done:])


ADDRESS_STOP_CHARACTERS = r"\s<>()\[\]{}\"'«»“”"
URL_OR_EMAIL = re.compile(
    rf"(?:(?:https?|ftp)://|(?<![\w.@/-])www\.(?=[\w-]+\.))[^{ADDRESS_STOP_CHARACTERS}]*[^{ADDRESS_STOP_CHARACTERS}.,;:!?…*_~|]"
    r"|(?<![\w.+@/-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])"
)
"""Of a page (https://..., www....) or of mail; the mark that ends the sentence is no part of it."""


def protect_urls_and_emails(fragments: Iterable[InlineFragment]) -> Iterator[InlineFragment]:
    """The same pieces, with the addresses in their texts as what must be kept."""
    for is_text, some in groupby(fragments, key=lambda piece: piece.kind is InlineKind.TEXT):
        run = list(some)
        text = "".join(piece.text for piece in run) if is_text else ""
        found = [match.span() for match in URL_OR_EMAIL.finditer(text)]
        yield from _merge_address_fragments(run, found) if found else run


def _merge_address_fragments(
    run: Sequence[InlineFragment], found: Sequence[tuple[int, int]]
) -> Iterator[InlineFragment]:
    """The texts of a run; of what lies at `found`, all together, each is one piece."""

    starts = [start for start, _ in found]

    def address(placed: tuple[int, InlineFragment]) -> int | None:
        start, piece = placed
        at = bisect_right(starts, start) - 1
        return at if at >= 0 and start + len(piece.text) <= found[at][1] else None

    borders = sorted({border for span in found for border in span})
    for which, some in groupby(_split_at_boundaries(run, borders), key=address):
        parts = [piece for _, piece in some]
        if which is None:
            yield from parts
        else:
            yield InlineFragment(
                InlineKind.PROTECTED,
                "".join(each.raw for each in parts),
                "".join(each.text for each in parts),
            )


def _split_at_boundaries(
    run: Sequence[InlineFragment], borders: Sequence[int]
) -> Iterator[tuple[int, InlineFragment]]:
    """Each piece and where it starts, cut wherever an address begins or ends; an entity cannot be."""
    place = 0
    for piece in run:
        end = place + len(piece.text)
        inside = borders[bisect_right(borders, place) : bisect_right(borders, end - 1)]
        cuts = [place, *inside, end] if piece.raw == piece.text else [place, end]
        for left, right in pairwise(cuts):
            whole = (left, right) == (place, end)
            part = (
                piece
                if whole
                else InlineFragment(InlineKind.TEXT, *[piece.raw[left - place : right - place]] * 2)
            )
            yield left, part
        place = end
