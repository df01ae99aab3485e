"""Markup alignment: the positions of inline codes in a translation.

No word alignment is available, so positions are interpolated: markup before the fourth of eight words goes
before the second of four. Words that occur once on both sides (names, numbers) are anchors. The order of
the codes never changes, so nesting is preserved, and a pair of codes around words never ends up around
nothing or only punctuation while a word is left for it.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby

from regard.documents.protected_spans import find_protected
from regard.documents.segments import InlineCode, InlineKind, ProtectedSpan, Segment, SpacePosition
from regard.documents.template import Slot, SlotWriter, keep_if_unchanged
from regard.text.unicode import UNSPACED_LETTERS, UNSPACED_MARKS

PUNCTUATION = r"!-&(-,./:-@\[-^`{-~«»“”„‹›¿¡…–—、。，！？：；（）「」『』【】《》؟،؛।"
ALIGNMENT_UNIT = re.compile(
    f"[{UNSPACED_LETTERS}][{UNSPACED_MARKS}]*|[^\\s{UNSPACED_LETTERS}{PUNCTUATION}]+|[{PUNCTUATION}]"
)
"""A word, a punctuation mark, or a character of a script without spaces between words."""
UNSPACED_LETTER, PUNCTUATION_MARK = re.compile(f"[{UNSPACED_LETTERS}]"), re.compile(f"[{PUNCTUATION}]")


@dataclass(frozen=True)
class OutputPart:
    """A part of the output: text that still has to be escaped, or raw content of the document."""

    text: str
    is_raw: bool
    kind: InlineKind | None = None
    """The kind of an inline code."""


def segment_slot(segment: Segment, original: str, write: SlotWriter) -> Slot:
    """Return the slot of a segment that `write` fills with `place_markup`.

    `original` is its spelling in the document, kept if the translation equals the source.
    """
    write = keep_if_unchanged(segment.text, original, write)
    return Slot(segment.text, write, partial(find_missing_placeholders, segment))


def find_missing_placeholders(segment: Segment, translation: str) -> list[str]:
    """Return the protected texts that a translation lacks: `place_markup` interpolates their positions."""
    if not segment.protected or translation == segment.text:
        return []
    _, missing = find_protected(segment, translation.strip())
    return [code.raw.strip() for code in missing]


def place_markup(segment: Segment, translation: str) -> list[OutputPart]:
    """Return the translation with the markup of the source segment."""
    translation = translation.strip()
    if not segment.codes and not segment.protected:
        return [OutputPart(translation, is_raw=False)]
    protected, missing = find_protected(segment, translation)
    before = _AlignmentUnits(segment.text, segment.protected)
    after = _AlignmentUnits(translation, protected)
    codes = sorted([*segment.codes, *missing], key=lambda code: code.position)
    parts: list[OutputPart] = []
    done = 0
    positioned = zip(_CodePlacer(before, after).place_codes(codes), codes, strict=True)
    for at, group in groupby(positioned, key=lambda pair: pair[0]):
        left, right = after.gap(at)
        parts += after.parts(done, left)
        parts += _codes_in_gap(translation[left:right], [code for _, code in group], at.unit, after)
        done = right
    return [*parts, *after.parts(done, len(translation))]


@dataclass(frozen=True, order=True)
class _Position:
    """A position before a unit of the translation, or at an offset inside it."""

    unit: int
    offset: int = 0


class _AlignmentUnits:
    """The alignment units of a text; a protected span is one unit."""

    def __init__(self, text: str, protected: Sequence[ProtectedSpan]) -> None:
        self.text, self.raw = text, {span.start: span.raw for span in protected}
        units: list[tuple[int, int]] = []
        done = 0
        for span in [*protected, ProtectedSpan(len(text), len(text), "")]:
            units += [match.span() for match in ALIGNMENT_UNIT.finditer(text, done, span.start)]
            units += [(span.start, span.end)] if span.end > span.start else []
            done = span.end
        self.starts = [start for start, _ in units]
        self.ends = [end for _, end in units]

    def __len__(self) -> int:
        return len(self.starts)

    def word(self, unit: int) -> str:
        return self.text[self.starts[unit] : self.ends[unit]].casefold()

    @cached_property
    def words(self) -> list[int]:
        """The units with a letter or digit, and the protected spans."""
        return [
            unit
            for unit, start in enumerate(self.starts)
            if start in self.raw or any(map(str.isalnum, self.text[start : self.ends[unit]]))
        ]

    def next_word(self, unit: int) -> int | None:
        """Return the first word at or after this unit, if any."""
        at = bisect_left(self.words, unit)
        return self.words[at] if at < len(self.words) else None

    def is_punctuation(self, unit: int) -> bool:
        """Whether the unit is unprotected punctuation."""
        start = self.starts[unit]
        return start not in self.raw and PUNCTUATION_MARK.match(self.text, start) is not None

    def end_of_words(self, unit: int) -> int:
        """Return this position, or the one before the punctuation that ends here."""
        at = bisect_left(self._non_punctuation, unit)
        return self._non_punctuation[at - 1] + 1 if at else 0

    @cached_property
    def _non_punctuation(self) -> list[int]:
        return [unit for unit in range(len(self)) if not self.is_punctuation(unit)]

    def is_attached(self, unit: int) -> bool:
        """Whether no space precedes this unit."""
        return unit > 0 and self.ends[unit - 1] == self.starts[unit]

    def gap(self, at: _Position) -> tuple[int, int]:
        """Return the span of white space at a position."""
        if at.offset:
            return self.starts[at.unit] + at.offset, self.starts[at.unit] + at.offset
        left = self.ends[at.unit - 1] if at.unit else 0
        return left, self.starts[at.unit] if at.unit < len(self) else len(self.text)

    @cached_property
    def breaks(self) -> list[int]:
        """The units before which a line may break."""
        return [unit for unit in range(1, len(self)) if self._can_break(unit)]

    def _can_break(self, unit: int) -> bool:
        left, right = self.gap(_Position(unit))
        if left < right:
            return True
        around = self.text[left - 1 : left], self.text[right : right + 1]
        return all(map(UNSPACED_LETTER.match, around)) or bool(
            PUNCTUATION_MARK.match(around[0]) and UNSPACED_LETTER.match(around[1])
        )

    def parts(self, start: int, end: int) -> Iterator[OutputPart]:
        """Yield the text from start to end, with protected spans in their original spelling."""
        for unit in range(bisect_left(self.starts, start), bisect_left(self.starts, end)):
            if (raw := self.raw.get(self.starts[unit])) is not None:
                if start < self.starts[unit]:
                    yield OutputPart(self.text[start : self.starts[unit]], is_raw=False)
                yield OutputPart(raw, is_raw=True)
                start = self.ends[unit]
        if start < end:
            yield OutputPart(self.text[start:end], is_raw=False)


class _CodePlacer:
    """Assigns positions in the translation to codes, in order."""

    def __init__(self, before: _AlignmentUnits, after: _AlignmentUnits) -> None:
        self._before, self._after = before, after
        anchors = [(0, 0)]
        for old, new in _anchor_words(before, after):
            anchors += [(old, new), (old + 1, new + 1)]
        anchors.append((len(before), len(after)))
        self._source_anchors = [old for old, _ in anchors]
        self._target_anchors = [new for _, new in anchors]
        self._last = _Position(0)
        self._unchanged: dict[tuple[int, int], bool] = {}

    def place_codes(self, codes: Sequence[InlineCode]) -> list[_Position]:
        """Return the position of each code, never before that of the previous one."""
        partners = match_code_pairs([(code.raw, code.kind) for code in codes])
        positions: list[_Position] = []
        for k, code in enumerate(codes):
            partner = partners.get(k)
            other = None if partner is None else codes[partner]
            opened = positions[partner] if partner is not None and partner < k else _Position(0)
            self._last = max(self._last, self._preferred_position(code, other, opened))
            positions.append(self._last)
        return positions

    def _preferred_position(
        self, code: InlineCode, partner: InlineCode | None, opened: _Position
    ) -> _Position:
        unit = bisect_right(self._before.ends, code.position)
        within = code.position - self._before.starts[unit] if unit < len(self._before) else 0
        if within > 0 and (inside := self._position_within_word(unit, within)) is not None:
            return inside
        unit += within > 0 and code.kind is not InlineKind.OPEN
        match code.kind:
            case InlineKind.OPEN:
                return _Position(self._opening_unit(unit, self._encloses_words(code, partner)))
            case InlineKind.CLOSE:
                return _Position(self._closing_unit(unit, opened.unit, self._encloses_words(partner, code)))
            case _ if code.side is SpacePosition.INSTEAD:
                return _Position(self._nearest_break(self._project(unit)))
            case _:
                return _Position(self._project(unit, first=code.side is SpacePosition.BEFORE))

    def _position_within_word(self, unit: int, within: int) -> _Position | None:
        """Return the same offset for markup inside a word (H<sub>2</sub>O) if the word is unchanged."""
        new = self._project(unit)
        if (unit, new) not in self._unchanged:  # a word may be long and contain many codes
            same = new < len(self._after) and self._before.word(unit) == self._after.word(new)
            self._unchanged[unit, new] = same
        return _Position(new, within) if self._unchanged[unit, new] else None

    def _encloses_words(self, opening: InlineCode | None, closing: InlineCode | None) -> bool:
        """Whether a pair of codes encloses a word in the source; assumed for a code without partner."""
        if opening is None or closing is None:
            return True
        word = self._before.next_word(bisect_right(self._before.ends, opening.position))
        return word is not None and self._before.starts[word] < closing.position

    def _opening_unit(self, unit: int, words: bool) -> int:
        """Return the unit after punctuation of the previous word and before at least one word."""
        after = self._after
        target = max(min(self._project(unit), max(len(after) - 1, 0)), self._last.unit)
        word = after.next_word(target)
        if word is None or not words:
            return after.words[-1] if words and after.words else target
        starts_with_punctuation = unit < len(self._before) and self._before.is_punctuation(unit)
        if starts_with_punctuation and self._before.is_attached(unit):
            return target
        while (
            target < word
            and after.is_punctuation(target)
            and not (starts_with_punctuation and not after.is_attached(target))
        ):
            target += 1
        return target

    def _closing_unit(self, unit: int, opened: int, words: bool) -> int:
        """Return the unit after at least one word and before punctuation from outside the pair."""
        after = self._after
        target = min(max(self._project(unit, first=True), opened + 1), len(after))
        word = after.next_word(opened) if words else None
        if word is None:
            return target
        target = max(target, word + 1)
        if unit and not self._before.is_punctuation(unit - 1):
            return max(after.end_of_words(target), word + 1)
        return target

    def _nearest_break(self, unit: int) -> int:
        breaks = self._after.breaks
        at = bisect_left(breaks, unit)
        near = [other for other in breaks[max(at - 1, 0) : at + 1] if _Position(other) >= self._last]
        return min(near, key=lambda other: abs(other - unit), default=len(self._after))

    def _project(self, unit: int, first: bool = False) -> int:
        """Interpolate the start of a unit in the translation; with `first`, the end of the unit before it."""
        at = (
            bisect_left(self._source_anchors, unit) if first else bisect_right(self._source_anchors, unit) - 1
        )
        if self._source_anchors[at] == unit:
            return self._target_anchors[at]
        at -= first
        old, new = self._source_anchors[at], self._target_anchors[at]
        share = (unit - old) / (self._source_anchors[at + 1] - old)
        return new + int(share * (self._target_anchors[at + 1] - new) + 0.5)


CODE_NAME = re.compile(r"(?:<|&lt;)/?((?:[biucv]|ruby|rt|lang)(?=\.)|[\w:.-]+)")
"""The name of a tag: without the classes of WebVTT (<c.yellow>); also of a tag spelled with entities."""
OPENING_CODE_NAMES = {"ept": "bpt", "ex": "bx", "ec": "sc"}


def match_code_pairs(codes: Sequence[tuple[str, InlineKind | None]]) -> dict[int, int]:
    """Return the index of the partner of each paired opening and closing code."""
    opened: defaultdict[str, list[int]] = defaultdict(list)
    partners: dict[int, int] = {}
    for k, (raw, kind) in enumerate(codes):
        if kind is InlineKind.OPEN:
            opened[_pair_name(raw)].append(k)
        elif kind is InlineKind.CLOSE and opened[_pair_name(raw)]:
            partner = opened[_pair_name(raw)].pop()
            partners |= {k: partner, partner: k}
    return partners


def _pair_name(raw: str) -> str:
    """Return the name shared by an opening and a closing code: tag name or Markdown marker."""
    if tag := CODE_NAME.match(raw):
        return OPENING_CODE_NAMES.get(tag[1], tag[1])
    return "[" if raw.startswith("]") else raw


def _anchor_words(before: _AlignmentUnits, after: _AlignmentUnits) -> list[tuple[int, int]]:
    """Return the longest increasing sequence of words that occur once on both sides."""
    old, new = _unique_words(before), _unique_words(after)
    pairs = [(unit, new[word]) for word, unit in old.items() if word in new]
    ends: list[int] = []  # the smallest last unit of an increasing sequence, by length
    rows: list[
        tuple[int, int, int]
    ] = []  # each pair, and the length of the longest sequence that ends with it
    for left, right in pairs:
        length = bisect_left(ends, right)
        ends[length : length + 1] = [right]
        rows.append((left, right, length))
    anchors: list[tuple[int, int]] = []
    want, limit = len(ends) - 1, len(after)
    for left, right, length in reversed(rows):
        if length == want and right < limit:
            anchors.append((left, right))
            want, limit = want - 1, right
    return anchors[::-1]


def _unique_words(units: _AlignmentUnits) -> dict[str, int]:
    words = [units.word(unit) for unit in range(len(units))]
    counts = Counter(words)
    return {
        word: unit for unit, word in enumerate(words) if counts[word] == 1 and any(map(str.isalnum, word))
    }


def _codes_in_gap(
    white: str, codes: Sequence[InlineCode], unit: int, after: _AlignmentUnits
) -> Iterator[OutputPart]:
    """Yield the codes at one position in order, with one space or line break among them."""
    space = OutputPart(white, is_raw=False)
    has_text, has_break = unit > 0, False
    for code in codes:
        if code.kind is InlineKind.SPACE:
            space = (
                space
                if has_break or unit in (0, len(after))
                else OutputPart(code.raw, True, InlineKind.SPACE)
            )
            has_break = True
            continue
        body = code.raw
        if code.side is SpacePosition.INSTEAD:  # a code in place of a space may have spaces on both sides
            body = body.strip()
            lead = code.raw[: code.raw.index(body)]
            if has_text:
                yield space if has_break else OutputPart(lead, is_raw=True, kind=InlineKind.SPACE)
            space = OutputPart(code.raw[len(lead) + len(body) :], is_raw=True, kind=InlineKind.SPACE)
            has_text = has_break = True
        elif code.side is SpacePosition.AFTER:
            yield space
            space, has_break = OutputPart("", is_raw=True), True
        yield OutputPart(body, is_raw=True, kind=code.kind)
    if unit < len(after):
        yield space
