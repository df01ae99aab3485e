"""Where the markup of a text belongs in its translation.

Nothing says which word became which, so places are taken in proportion: markup before the fourth of
eight words comes before the second of four. Words that occur once on both sides (names, numbers) are
fixed points in between. The order of the markup never changes, so what was nested stays nested, and
markup around words never ends up around nothing, or around a comma, while there is a word left for it.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from regard.documents.segments import Code, Kept, Kind, Marked, Side

IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
POINTS = r"!-&(-,./:-@\[-^`{-~«»“”„‹›¿¡…–—、。，！？：；（）「」『』【】《》؟،؛।"
UNIT = re.compile(f"[{IDEOGRAPHS}][\ufe00-\ufe0f\u3099\u309a]*|[^\\s{IDEOGRAPHS}{POINTS}]+|[{POINTS}]")
"""A word, a mark of punctuation, or a character of a script that puts no space between words."""
IDEOGRAPH, POINT = re.compile(f"[{IDEOGRAPHS}]"), re.compile(f"[{POINTS}]")
TOKEN = re.compile(r"\w+|[^\w\s]")
"""A word or a sign of what must come back as it is."""


@dataclass(frozen=True)
class Part:
    """A part of a translation in its markup: text yet to be spelled, or what the document says already."""

    text: str
    ready: bool
    kind: Kind | None = None
    """Of markup: what it is."""


def placed(source: Marked, translation: str) -> list[Part]:
    """The translation with the markup of the source inside it."""
    translation = translation.strip()
    if not source.codes and not source.kept:
        return [Part(translation, ready=False)]
    kept, lost = _find(source, translation)
    before = _Units(source.text, source.kept)
    after = _Units(translation, kept)
    codes = sorted([*source.codes, *lost], key=lambda code: code.at)
    parts: list[Part] = []
    done = 0
    found = zip(_Places(before, after).of(codes), codes, strict=True)
    for at, group in groupby(found, key=lambda pair: pair[0]):
        left, right = after.gap(at)
        parts += after.parts(done, left)
        parts += _around(translation[left:right], [code for _, code in group], at.unit, after)
        done = right
    return [*parts, *after.parts(done, len(translation))]


@dataclass(frozen=True, order=True)
class _Place:
    """Before a unit of the translation, or within it."""

    unit: int
    inside: int = 0


class _Units:
    """The units of a text; what must come back as it is counts as one."""

    def __init__(self, text: str, kept: Sequence[Kept]) -> None:
        self.text, self.raw = text, {part.start: part.raw for part in kept}
        borders: list[tuple[int, int]] = []
        done = 0
        for part in [*kept, Kept(len(text), len(text), "")]:
            borders += [match.span() for match in UNIT.finditer(text, done, part.start)]
            borders += [(part.start, part.end)] if part.end > part.start else []
            done = part.end
        self.starts = [start for start, _ in borders]
        self.ends = [end for _, end in borders]

    def __len__(self) -> int:
        return len(self.starts)

    def word(self, unit: int) -> str:
        return self.text[self.starts[unit] : self.ends[unit]].casefold()

    @cached_property
    def words(self) -> list[int]:
        """The units that say something: not those that are only punctuation."""
        return [
            unit
            for unit, start in enumerate(self.starts)
            if start in self.raw or any(map(str.isalnum, self.text[start : self.ends[unit]]))
        ]

    def next_word(self, unit: int) -> int | None:
        """The first unit from here on that is a word, if there is any."""
        at = bisect_left(self.words, unit)
        return self.words[at] if at < len(self.words) else None

    def is_point(self, unit: int) -> bool:
        """Whether this is a mark of punctuation, and not one that must stay as it is."""
        start = self.starts[unit]
        return start not in self.raw and POINT.match(self.text, start) is not None

    def end_of_words(self, unit: int) -> int:
        """This place, or the one before the punctuation that ends here."""
        at = bisect_left(self._solid, unit)
        return self._solid[at - 1] + 1 if at else 0

    @cached_property
    def _solid(self) -> list[int]:
        return [unit for unit in range(len(self)) if not self.is_point(unit)]

    def is_attached(self, unit: int) -> bool:
        """Whether there is no space before this unit."""
        return unit > 0 and self.ends[unit - 1] == self.starts[unit]

    def gap(self, at: _Place) -> tuple[int, int]:
        """From where to where there is nothing but white space."""
        if at.inside:
            return self.starts[at.unit] + at.inside, self.starts[at.unit] + at.inside
        left = self.ends[at.unit - 1] if at.unit else 0
        return left, self.starts[at.unit] if at.unit < len(self) else len(self.text)

    @cached_property
    def breaks(self) -> list[int]:
        """The units before which a line may end."""
        return [unit for unit in range(1, len(self)) if self._can_break(unit)]

    def _can_break(self, unit: int) -> bool:
        left, right = self.gap(_Place(unit))
        if left < right:
            return True
        around = self.text[left - 1 : left], self.text[right : right + 1]
        return all(map(IDEOGRAPH.match, around)) or bool(
            POINT.match(around[0]) and IDEOGRAPH.match(around[1])
        )

    def parts(self, start: int, end: int) -> Iterator[Part]:
        """The text from start to end, with what must stay as the document spells it."""
        for unit in range(bisect_left(self.starts, start), bisect_left(self.starts, end)):
            if (raw := self.raw.get(self.starts[unit])) is not None:
                if start < self.starts[unit]:
                    yield Part(self.text[start : self.starts[unit]], ready=False)
                yield Part(raw, ready=True)
                start = self.ends[unit]
        if start < end:
            yield Part(self.text[start:end], ready=False)


class _Places:
    """Finds the places of codes, one after the other."""

    def __init__(self, before: _Units, after: _Units) -> None:
        self._before, self._after = before, after
        fixed = [(0, 0)]
        for old, new in _same_words(before, after):
            fixed += [(old, new), (old + 1, new + 1)]
        fixed.append((len(before), len(after)))
        self._old = [old for old, _ in fixed]
        self._new = [new for _, new in fixed]
        self._last = _Place(0)

    def of(self, codes: Sequence[Code]) -> list[_Place]:
        """The place of each code: never before that of the last one."""
        partners = pairs([(code.raw, code.kind) for code in codes])
        found: list[_Place] = []
        for k, code in enumerate(codes):
            partner = partners.get(k)
            other = None if partner is None else codes[partner]
            opened = found[partner] if partner is not None and partner < k else _Place(0)
            self._last = max(self._last, self._wanted(code, other, opened))
            found.append(self._last)
        return found

    def _wanted(self, code: Code, partner: Code | None, opened: _Place) -> _Place:
        unit = bisect_right(self._before.ends, code.at)
        within = code.at - self._before.starts[unit] if unit < len(self._before) else 0
        if within > 0 and (inside := self._inside(unit, within)) is not None:
            return inside
        unit += within > 0 and code.kind is not Kind.OPEN
        match code.kind:
            case Kind.OPEN:
                return _Place(self._opening(unit, self._around_words(code, partner)))
            case Kind.CLOSE:
                return _Place(self._closing(unit, opened.unit, self._around_words(partner, code)))
            case _ if code.side is Side.INSTEAD:
                return _Place(self._nearest_break(self._proportion(unit)))
            case _:
                return _Place(self._proportion(unit, first=code.side is Side.BEFORE))

    def _inside(self, unit: int, within: int) -> _Place | None:
        """Markup inside a word (H<sub>2</sub>O) stays there if the word does."""
        new = self._proportion(unit)
        same = new < len(self._after) and self._before.word(unit) == self._after.word(new)
        return _Place(new, within) if same else None

    def _around_words(self, opening: Code | None, closing: Code | None) -> bool:
        """Whether a pair is around words in the source; what has no partner is taken to be."""
        if opening is None or closing is None:
            return True
        word = self._before.next_word(bisect_right(self._before.ends, opening.at))
        return word is not None and self._before.starts[word] < closing.at

    def _opening(self, unit: int, words: bool) -> int:
        """Behind punctuation that belongs to the word before, and before at least one word."""
        after = self._after
        wanted = max(min(self._proportion(unit), max(len(after) - 1, 0)), self._last.unit)
        word = after.next_word(wanted)
        if word is None or not words:
            return after.words[-1] if words and after.words else wanted
        begins_so = unit < len(self._before) and self._before.is_point(unit)
        if begins_so and self._before.is_attached(unit):
            return wanted
        while wanted < word and after.is_point(wanted) and not (begins_so and not after.is_attached(wanted)):
            wanted += 1
        return wanted

    def _closing(self, unit: int, opened: int, words: bool) -> int:
        """Behind at least one word, and before punctuation that was not inside the pair."""
        after = self._after
        wanted = min(max(self._proportion(unit, first=True), opened + 1), len(after))
        word = after.next_word(opened) if words else None
        if word is None:
            return wanted
        wanted = max(wanted, word + 1)
        if unit and not self._before.is_point(unit - 1):
            return max(after.end_of_words(wanted), word + 1)
        return wanted

    def _nearest_break(self, unit: int) -> int:
        breaks = self._after.breaks
        at = bisect_left(breaks, unit)
        near = [other for other in breaks[max(at - 1, 0) : at + 1] if _Place(other) >= self._last]
        return min(near, key=lambda other: abs(other - unit), default=len(self._after))

    def _proportion(self, unit: int, first: bool = False) -> int:
        """Where the unit begins in the translation; or, with `first`, where the one before it ends."""
        at = bisect_left(self._old, unit) if first else bisect_right(self._old, unit) - 1
        if self._old[at] == unit:
            return self._new[at]
        at -= first
        old, new = self._old[at], self._new[at]
        share = (unit - old) / (self._old[at + 1] - old)
        return new + int(share * (self._new[at + 1] - new) + 0.5)


PARTNERS = {"ept": "bpt", "ex": "bx", "ec": "sc"}


def pairs(codes: Sequence[tuple[str, Kind | None]]) -> dict[int, int]:
    """Which opening code belongs to which closing code, by number, and the other way round."""
    opened: defaultdict[str, list[int]] = defaultdict(list)
    found: dict[int, int] = {}
    for k, (raw, kind) in enumerate(codes):
        if kind is Kind.OPEN:
            opened[_name(raw)].append(k)
        elif kind is Kind.CLOSE and opened[_name(raw)]:
            partner = opened[_name(raw)].pop()
            found |= {k: partner, partner: k}
    return found


def _name(raw: str) -> str:
    """What an opening and a closing code have in common: the name of a tag, or Markdown's marker."""
    if tag := re.match(r"</?([\w:.-]+)", raw):
        return PARTNERS.get(tag[1], tag[1])
    return "[" if raw.startswith("]") else raw


def _same_words(before: _Units, after: _Units) -> list[tuple[int, int]]:
    """Words that occur once on both sides, as many of them as keep their order."""
    old, new = _once(before), _once(after)
    pairs = [(unit, new[word]) for word, unit in old.items() if word in new]
    ends: list[int] = []  # of the best increasing row of each length, the smallest last unit
    rows: list[tuple[int, int, int]] = []  # each pair, and the length of the best row that ends with it
    for left, right in pairs:
        length = bisect_left(ends, right)
        ends[length : length + 1] = [right]
        rows.append((left, right, length))
    found: list[tuple[int, int]] = []
    want, limit = len(ends) - 1, len(after)
    for left, right, length in reversed(rows):
        if length == want and right < limit:
            found.append((left, right))
            want, limit = want - 1, right
    return found[::-1]


def _once(units: _Units) -> dict[str, int]:
    words = [units.word(unit) for unit in range(len(units))]
    counts = Counter(words)
    return {
        word: unit for unit, word in enumerate(words) if counts[word] == 1 and any(map(str.isalnum, word))
    }


def _find(source: Marked, translation: str) -> tuple[list[Kept], list[Code]]:
    """Where the translation has what must stay; and what it has not, as codes to be put back."""
    found: list[Kept] = []
    lost: list[Code] = []
    search = _Search(translation)
    for part in source.kept:
        text = source.text[part.start : part.end]
        left = _border(text, 0) and _border(source.text, part.start)
        right = _border(text, len(text)) and _border(source.text, part.end)
        start = search.next(text, left, right)
        if start is None:
            lost.append(Code(part.start, f" {part.raw} ", Kind.ALONE, Side.INSTEAD))
        else:
            found.append(Kept(start, start + len(text), part.raw))
    return sorted(found, key=lambda part: part.start), lost


class _Search:
    """Finds texts in a translation, each where none was found yet.

    A text is looked for where its rarest word stands, and again from where the last search for it left
    off: a paragraph may hold thousands.
    """

    def __init__(self, translation: str) -> None:
        self._translation = translation
        self._taken = bytearray(len(translation))
        self._left: dict[tuple[str, bool, bool], Iterator[int]] = {}

    @cached_property
    def _tokens(self) -> dict[str, list[int]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for match in TOKEN.finditer(self._translation):
            found[match[0].casefold()].append(match.start())
        return found

    def next(self, text: str, left: bool, right: bool) -> int | None:
        """Where the text stands, next; `left` and `right` say that a word must begin or end there."""
        key = text, left, right
        if key not in self._left:
            self._left[key] = iter(self._candidates(text, left, right))
        for start in self._left[key]:
            end = start + len(text)
            if self._taken.find(1, start, end) < 0 and self._is_at(text, start, left, right):
                self._taken[start:end] = b"\1" * len(text)
                return start
        return None

    def _is_at(self, text: str, start: int, left: bool, right: bool) -> bool:
        there = self._translation[start : start + len(text)]
        if there != text and there.casefold() != text.casefold():
            return False
        ends = _border(self._translation, start + len(text))
        return (not left or _border(self._translation, start)) and (not right or ends)

    def _candidates(self, text: str, left: bool, right: bool) -> Iterable[int]:
        """The places to look at; part of a word may be anywhere, so only whole words can be looked up."""
        tokens = list(TOKEN.finditer(text))
        if tokens and tokens[0].start() == 0 and _border(text, 0) and not left:
            del tokens[0]
        if tokens and tokens[-1].end() == len(text) and _border(text, len(text)) and not right:
            del tokens[-1]
        if not tokens:
            return (match.start() for match in re.finditer(re.escape(text), self._translation, re.IGNORECASE))
        rows = [(self._tokens.get(token[0].casefold(), []), token.start()) for token in tokens]
        places, offset = min(rows, key=lambda row: len(row[0]))
        return [place - offset for place in places if place >= offset]


def _border(text: str, at: int) -> bool:
    """Whether a word begins or ends here."""
    return re.compile(r"\b").match(text, at) is not None


def _around(white: str, codes: Sequence[Code], unit: int, after: _Units) -> Iterator[Part]:
    """Codes that meet at one place, in their order, with one space or line break among them."""
    space = Part(white, ready=False)
    begun, broken = unit > 0, False
    for code in codes:
        if code.kind is Kind.BREAK:
            space = space if broken or unit in (0, len(after)) else Part(code.raw, True, Kind.BREAK)
            broken = True
            continue
        body = code.raw
        if code.side is Side.INSTEAD:  # what stands in place of a space has one on either side
            body = body.strip()
            lead = code.raw[: code.raw.index(body)]
            if begun:
                yield space if broken else Part(lead, ready=True, kind=Kind.BREAK)
            space = Part(code.raw[len(lead) + len(body) :], ready=True, kind=Kind.BREAK)
            begun = broken = True
        elif code.side is Side.AFTER:
            yield space
            space, broken = Part("", ready=True), True
        yield Part(body, ready=True, kind=code.kind)
    if unit < len(after):
        yield space
