"""Runs of text: a segment whose text is spread over several elements, and the edits that translate it.

The elements of a paragraph never move. The translation is divided at the inline codes between them (images,
links, changes of format), and each part replaces the text of the elements between two codes.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from regard.documents.markup_alignment import place_markup
from regard.documents.segments import (
    InlineCode,
    InlineFragment,
    InlineKind,
    Segment,
    SpacePosition,
    build_segment,
)

CODE_INDEX = re.compile(r"<[^<>]* (\d+)/?>")
"""The index of an inline code in the tag that stands for it during alignment."""


class TextEdit(NamedTuple):
    """New content for characters `start` to `end` of a part."""

    start: int
    end: int
    content: str


@dataclass
class TextRun:
    """An element with text of one format; empty positions are not known yet."""

    start: int
    end: int | None = None
    properties: str = ""
    """The markup of its format."""


@dataclass(frozen=True)
class RunText:
    """Characters `start` to `end` of a part: an element with text, or bare text without `tag`."""

    start: int
    end: int
    text: str
    tag: str = ""
    """The start tag of the element."""
    run: TextRun | None = None
    fixed: bool = False
    """Whether the element is a character, such as a hyphen, that cannot hold other text."""


@dataclass
class RunCode:
    """Something between two texts that stays in place."""

    kind: InlineKind
    before: int | TextRun | None
    """Where a run may be inserted before it: a position, before a run without text, or nowhere."""
    after: int | TextRun | None
    pair: str = ""
    """The name that it shares with its partner."""
    text: str = ""
    """Text that the model sees, but which is not changed."""


RunItem = RunText | RunCode


@dataclass(frozen=True)
class RunFormat:
    """How a document format compares, spells and creates runs."""

    format_key: Callable[[TextRun], str]
    """Returns what the format of a run looks like to a reader."""
    write_text: Callable[[RunText, str], str]
    """Returns the content that replaces a text."""
    write_run: Callable[[TextRun | None, str], str]
    """Returns a new run in the format of another."""
    escape_pattern: re.Pattern[str] | None = None
    """Characters that stand for white space in a text."""


@dataclass(frozen=True)
class RunSegment:
    """A segment with the edits of a part that replace its text."""

    text: str
    codes: Sequence[RunCode]
    gaps: "Sequence[_Gap]"
    """The texts before, between and after the codes."""
    segment: Segment
    lead: str
    tail: str
    run_format: RunFormat

    def edits(self, translation: str) -> Iterator[TextEdit]:
        """Yield the edits that put a translation in place of the text."""
        if translation == self.text:
            return
        contents = self._divide(translation)
        self._move_homeless_text(contents)
        for k, (gap, content) in enumerate(zip(self.gaps, contents, strict=True)):
            if gap.texts:
                yield from self._replace_texts(gap, content)
            elif content and (place := self._insertion_place(k)) is not None:
                yield TextEdit(place, place, self.run_format.write_run(gap.sample, content))

    def _divide(self, translation: str) -> list[str]:
        """Return the part of the translation that belongs to each gap."""
        contents = [""] * len(self.gaps)
        gap = 0
        for text, code in self._output(translation):
            if code is None:
                contents[gap] += text
            elif code >= gap:
                for skipped in range(gap + 1, code + 1):  # a word that stays must not touch the next one
                    contents[skipped] = " " if self.codes[skipped - 1].text else ""
                gap = code + 1
        return contents

    def _output(self, translation: str) -> Iterator[tuple[str, int | None]]:
        """Yield the texts and the indexes of the codes of the aligned translation."""
        parts = [(self.lead, True)]
        parts += [(part.text, part.is_raw) for part in place_markup(self.segment, translation)]
        for text, is_raw in [*parts, (self.tail, True)]:
            done = 0
            for match in CODE_INDEX.finditer(text) if is_raw else ():
                yield text[done : match.start()], None
                yield "", int(match[1])
                done = match.end()
            yield text[done:], None

    def _move_homeless_text(self, contents: list[str]) -> None:
        """Move text from a gap where no run can stand, or a lone space, to the gap with text before it."""
        homes = [k for k, gap in enumerate(self.gaps) if gap.texts]
        before_all = ""
        for k, content in enumerate(contents):
            if not content or self.gaps[k].texts:
                continue
            if content.isspace() or self._insertion_place(k) is None:
                contents[k] = ""
                if at := bisect_left(homes, k):
                    contents[homes[at - 1]] += content
                else:
                    before_all += content
        contents[homes[0]] = before_all + contents[homes[0]]

    def _insertion_place(self, gap: int) -> int | None:
        after = self.codes[gap - 1].after if gap else None
        before = self.codes[gap].before if gap < len(self.codes) else None
        for place, at_end in ((after, True), (before, False)):
            if isinstance(place, TextRun):
                return place.end if at_end else place.start
            if place is not None:
                return place
        return None

    def _replace_texts(self, gap: "_Gap", content: str) -> Iterator[TextEdit]:
        """Yield the edits of one gap: its longest text takes the content, the others become empty."""
        if content == "".join(text.text for text in gap.texts):
            return
        main = max(gap.texts, key=lambda text: (not text.fixed, len(text.text)))
        for text in gap.texts:
            if text is main:
                yield TextEdit(text.start, text.end, self.run_format.write_text(text, content))
            elif text.text:
                empty = "" if text.fixed else self.run_format.write_text(text, "")
                yield TextEdit(text.start, text.end, empty)


@dataclass
class _Gap:
    """The texts between two codes."""

    sample: TextRun | None
    """A run in the format of this gap."""
    texts: list[RunText] = field(default_factory=list)


def build_run_segment(
    items: Sequence[RunItem], start: int, end: int, run_format: RunFormat
) -> RunSegment | None:
    """Return the segment of a paragraph, or of its part between line breaks from `start` to `end`.

    None if it contains no letter: a number is not translated.
    """
    texts = [item for item in items if isinstance(item, RunText)]
    if not any(map(str.isalpha, "".join(text.text for text in texts))):
        return None
    occupied = {id(text.run) for text in texts}
    codes, gaps = _Formatter(items, run_format).separate()
    for code in codes:
        code.before = _free_place(code.before, occupied, start, end)
        code.after = _free_place(code.after, occupied, start, end)
    fragments = list(_fragments(codes, gaps, run_format.escape_pattern))
    segment = build_segment(fragments)
    if segment is None or not any(map(str.isalpha, segment.text)):
        return None
    raw = "".join(fragment.raw for fragment in fragments)
    lead, tail = raw[: segment.lead_length], raw[len(raw) - segment.tail_length :]
    segment, lead, tail = _release_partners(segment, codes, lead, tail)
    return RunSegment(segment.text, codes, gaps, segment, lead, tail, run_format)


def _release_partners(
    segment: Segment, codes: Sequence[RunCode], lead: str, tail: str
) -> tuple[Segment, str, str]:
    """Move codes at the edges into the segment if their partner is inside: a bold first word may move."""
    first, last = _code_indexes(lead), _code_indexes(tail)
    outside = Counter(codes[k].pair for k in [*first, *last])
    moved = {k for k in [*first, *last] if codes[k].pair and outside[codes[k].pair] == 1}
    start = next((at for at, k in enumerate(first) if k in moved), len(first))
    end = next((len(last) - at for at, k in enumerate(reversed(last)) if k in moved), 0)
    inner = [
        *(_inline_code(k, codes[k], 0, SpacePosition.AFTER) for k in first[start:]),
        *segment.codes,
        *(_inline_code(k, codes[k], len(segment.text), SpacePosition.BEFORE) for k in last[:end]),
    ]
    released = {*first[start:], *last[:end]}

    def remaining(raw: str) -> str:
        return CODE_INDEX.sub(lambda match: "" if int(match[1]) in released else match[0], raw)

    return replace(segment, codes=tuple(inner)), remaining(lead), remaining(tail)


def _code_indexes(raw: str) -> list[int]:
    return [int(match[1]) for match in CODE_INDEX.finditer(raw)]


def _inline_code(k: int, code: RunCode, position: int, side: SpacePosition) -> InlineCode:
    return InlineCode(position, _code_fragment(k, code).raw, code.kind, side)


def _free_place(
    place: int | TextRun | None, occupied: set[int], start: int, end: int
) -> int | TextRun | None:
    """Return a place for a new run if it does not cut a run with text or leave the segment."""
    if isinstance(place, TextRun):
        inside = place.end is not None and place.start >= start and place.end <= end
        return place if inside and id(place) not in occupied else None
    return place if place is None or start <= place <= end else None


def _fragments(
    codes: Sequence[RunCode], gaps: Sequence[_Gap], escape_pattern: re.Pattern[str] | None
) -> Iterator[InlineFragment]:
    for k, gap in enumerate(gaps):
        for text in gap.texts:
            yield from _text_fragments(text.text, escape_pattern)
        if k < len(codes):
            yield _code_fragment(k, codes[k])


def _text_fragments(text: str, escape_pattern: re.Pattern[str] | None) -> Iterator[InlineFragment]:
    done = 0
    for match in escape_pattern.finditer(text) if escape_pattern else ():
        yield InlineFragment(InlineKind.TEXT, text[done : match.start()], text[done : match.start()])
        yield InlineFragment(InlineKind.SPACE, match[0])
        done = match.end()
    yield InlineFragment(InlineKind.TEXT, text[done:], text[done:])


def _code_fragment(k: int, code: RunCode) -> InlineFragment:
    match code.kind:
        case InlineKind.OPEN:
            return InlineFragment(code.kind, f"<{code.pair} {k}>")
        case InlineKind.CLOSE:
            return InlineFragment(code.kind, f"</{code.pair} {k}>")
        case kind:
            return InlineFragment(kind, f"<s {k}/>", code.text)


class _Formatter:
    """Separates texts and codes, and adds codes around texts in another format than most."""

    def __init__(self, items: Sequence[RunItem], run_format: RunFormat) -> None:
        self._items = items
        self._key = run_format.format_key
        texts = [item for item in items if isinstance(item, RunText)]
        lengths: Counter[str] = Counter()
        for text in texts:
            lengths[self._format(text)] += len(text.text.strip())
        self._base = max(lengths, key=lambda key: lengths[key])
        self._samples = {self._format(text): text.run for text in reversed(texts)}
        self._opened = self._base
        self._run: TextRun | None = None
        self._pairs = 0
        self._pending: list[RunCode] = []
        self._codes: list[RunCode] = []
        self._gaps = [_Gap(self._samples[self._base])]

    def separate(self) -> tuple[list[RunCode], list[_Gap]]:
        """Return the codes, and the texts before, between and after them."""
        for item in self._items:
            if isinstance(item, RunText):
                self._switch_format(self._format(item) if item.text.strip() else self._opened, item.run)
                self._gaps[-1].texts.append(item)
                self._run = item.run
            elif item.kind in (InlineKind.OPEN, InlineKind.CLOSE):
                self._switch_format(self._base, None)
                self._add_code(item)
            else:
                self._pending.append(item)
        self._switch_format(self._base, None)
        return self._codes, self._gaps

    def _format(self, text: RunText) -> str:
        return "" if text.run is None else self._key(text.run)

    def _switch_format(self, key: str, run: TextRun | None) -> None:
        """End the format of the last text if another one follows; objects between the two are in neither."""
        changed = key != self._opened
        if changed and self._opened != self._base:
            end = None if self._run is None else self._run.end
            self._add_code(RunCode(InlineKind.CLOSE, end, end, f"format{self._pairs}"))
            self._gaps[-1].sample = self._samples[self._base]
        for code in self._pending:
            self._add_code(code)
        self._pending = []
        if changed and key != self._base:
            self._pairs += 1
            start = None if run is None else run.start
            self._add_code(RunCode(InlineKind.OPEN, start, start, f"format{self._pairs}"))
            self._gaps[-1].sample = self._samples[key]
        self._opened = key

    def _add_code(self, code: RunCode) -> None:
        self._codes.append(code)
        self._gaps.append(_Gap(self._gaps[-1].sample))
