"""Segments: translatable text separated from its inline codes, protected spans and irregular white space.

A format reader splits a sentence into `InlineFragment`s, `build_segment` makes the plain text that a
model translates, and `markup_alignment` puts the codes into the translation.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import groupby, pairwise
from typing import NamedTuple


class InlineKind(Enum):
    """The kind of an inline fragment."""

    TEXT = "text"  # translatable text
    OPEN = "open"  # <b>: attached to the text after it
    CLOSE = "close"  # </b>: attached to the text before it
    STANDALONE = "standalone"  # <img>: attached to neither side
    SPACE = "space"  # a line break with the prefix of the next line: stands for one space
    PROTECTED = "protected"  # text that must be copied unchanged: `code`, %s


class InlineFragment(NamedTuple):
    """A part of a sentence: its spelling in the document, and the text it stands for, if any."""

    kind: InlineKind
    raw: str
    text: str = ""


class SpacePosition(Enum):
    """Where an inline code stands relative to the space next to it."""

    BEFORE = "before"
    AFTER = "after"
    INSTEAD = "instead"


@dataclass(frozen=True)
class InlineCode:
    """Markup at a position of the text."""

    position: int
    raw: str
    kind: InlineKind
    side: SpacePosition


@dataclass(frozen=True)
class ProtectedSpan:
    """A part of the text that must be copied unchanged, and its spelling in the document."""

    start: int
    end: int
    raw: str


@dataclass(frozen=True)
class Segment:
    """A text without markup, with the positions of its inline codes and protected spans.

    Markup around the whole text is not part of it: `lead_length` and `tail_length` count the characters
    of the document that it takes.
    """

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
        """Place the pending fragments between two words: a space, codes on either side, or both mixed."""
        white = [k for k, fragment in enumerate(self.pending) if fragment.kind is InlineKind.SPACE]
        if not white:
            for fragment in self.pending:
                side = SpacePosition.AFTER if fragment.kind is InlineKind.OPEN else SpacePosition.BEFORE
                self.codes.append(InlineCode(self.length, fragment.raw, fragment.kind, side))
        else:
            first, last = white[0], white[-1] + 1
            for fragment in self.pending[:first]:
                self.codes.append(InlineCode(self.length, fragment.raw, fragment.kind, SpacePosition.BEFORE))
            between = "".join([fragment.raw for fragment in self.pending[first:last]])
            if between != " ":
                kind = InlineKind.SPACE if len(white) == last - first else InlineKind.STANDALONE
                self.codes.append(InlineCode(self.length, between, kind, SpacePosition.INSTEAD))
            self.add(" ")
            for fragment in self.pending[last:]:
                self.codes.append(InlineCode(self.length, fragment.raw, fragment.kind, SpacePosition.AFTER))
        self.pending = []


def build_segment(
    fragments: Iterable[InlineFragment], protected: re.Pattern[str] | None = None
) -> Segment | None:
    """Return the segment of a sentence with markup; None if it has no translatable text.

    Text that matches `protected` is copied, by default URLs and e-mail addresses. A run of white space,
    including non-breaking spaces, becomes one space. Its original spelling is kept as a code and restored
    where the translation has a matching space.
    """
    builder = _SegmentBuilder()
    lead = 0
    for fragment in _separate_whitespace(protect_matches(fragments, protected or URL_OR_EMAIL)):
        if fragment.kind not in (InlineKind.TEXT, InlineKind.PROTECTED):
            builder.pending.append(fragment)
            continue
        if builder.length:
            builder.flush_pending()
        else:
            lead = sum(len(fragment.raw) for fragment in builder.pending)
            builder.pending = []
        if fragment.kind is InlineKind.PROTECTED:
            builder.protected.append(
                ProtectedSpan(builder.length, builder.length + len(fragment.text), fragment.raw)
            )
        builder.add(fragment.text)
    text = "".join(builder.text)
    if not _has_translatable_text(text, builder.protected):
        return None
    tail = sum(len(fragment.raw) for fragment in builder.pending)
    return Segment(text, tuple(builder.codes), tuple(builder.protected), lead, tail)


def _separate_whitespace(fragments: Iterable[InlineFragment]) -> Iterator[InlineFragment]:
    """Split off all white space from text fragments, except single spaces inside them."""
    for fragment in fragments:
        kind, raw, text = fragment
        if kind is InlineKind.PROTECTED:
            text = " ".join(text.split())
            yield InlineFragment(InlineKind.PROTECTED if text else InlineKind.STANDALONE, raw, text)
        elif kind is not InlineKind.TEXT:
            yield fragment
        elif text != raw:  # an entity or an escaped character
            yield InlineFragment(InlineKind.SPACE, raw) if text.isspace() else fragment
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


def _has_translatable_text(text: str, protected: list[ProtectedSpan]) -> bool:
    """Whether there is a letter or digit outside the protected spans: bullets and bars are not text."""
    boundaries = [0, *(edge for span in protected for edge in (span.start, span.end)), len(text)]
    return any(
        letter.isalnum()
        for start, end in zip(boundaries[::2], boundaries[1::2], strict=True)
        for letter in text[start:end]
    )


def split_inline_tags(text: str, tag: re.Pattern[str] = INLINE_TAG) -> Iterator[InlineFragment]:
    """Split a text that contains tags but is not well-formed markup: a tag may lack its partner."""
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
    r"(?:(?:https?|ftp)://|(?<![\w.@/-])www\.(?=[\w-]+\.))"
    rf"[^{ADDRESS_STOP_CHARACTERS}]*[^{ADDRESS_STOP_CHARACTERS}.,;:!?…*_~|]"
    r"|(?<![\w.+@/-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])"
)
"""A URL (https://..., www....) or an e-mail address, without the punctuation that ends the sentence."""


def protect_matches(
    fragments: Iterable[InlineFragment], protected: re.Pattern[str]
) -> Iterator[InlineFragment]:
    """Turn what matches a pattern inside text fragments into protected fragments."""
    return mark_text_spans(
        fragments, lambda text: [(*match.span(), InlineKind.PROTECTED) for match in protected.finditer(text)]
    )


TextSpan = tuple[int, int, InlineKind]
"""Start and end in a text, and the kind of what stands there."""


def mark_text_spans(
    fragments: Iterable[InlineFragment], find: Callable[[str], Sequence[TextSpan]]
) -> Iterator[InlineFragment]:
    """Give each span that `find` returns its kind; it may cover several text fragments, such as entities."""
    for is_text, group in groupby(fragments, key=lambda fragment: fragment.kind is InlineKind.TEXT):
        run = list(group)
        spans = find("".join(fragment.text for fragment in run)) if is_text else []
        yield from _merge_span_fragments(run, spans) if spans else run


def _merge_span_fragments(
    run: Sequence[InlineFragment], spans: Sequence[TextSpan]
) -> Iterator[InlineFragment]:
    """Merge the fragments of each span into one fragment of its kind."""
    starts = [start for start, *_ in spans]

    def span_index(positioned: tuple[int, InlineFragment]) -> int | None:
        start, fragment = positioned
        at = bisect_right(starts, start) - 1
        return at if at >= 0 and start + len(fragment.text) <= spans[at][1] else None

    boundaries = sorted({boundary for start, end, _ in spans for boundary in (start, end)})
    for index, group in groupby(_split_at_boundaries(run, boundaries), key=span_index):
        parts = [fragment for _, fragment in group]
        if index is None:
            yield from parts
        else:
            kind = spans[index][2]
            text = "".join(part.text for part in parts) if kind is InlineKind.PROTECTED else ""
            yield InlineFragment(kind, "".join(part.raw for part in parts), text)


def _split_at_boundaries(
    run: Sequence[InlineFragment], boundaries: Sequence[int]
) -> Iterator[tuple[int, InlineFragment]]:
    """Yield each fragment with its start, split where a span begins or ends; entities stay whole."""
    place = 0
    for fragment in run:
        end = place + len(fragment.text)
        inside = boundaries[bisect_right(boundaries, place) : bisect_right(boundaries, end - 1)]
        cuts = [place, *inside, end] if fragment.raw == fragment.text else [place, end]
        for left, right in pairwise(cuts):
            whole = (left, right) == (place, end)
            part = (
                fragment
                if whole
                else InlineFragment(InlineKind.TEXT, *[fragment.raw[left - place : right - place]] * 2)
            )
            yield left, part
        place = end
