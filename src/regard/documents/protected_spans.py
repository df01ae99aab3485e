"""Protected spans of a translation: the places of texts that are copied unchanged, such as code and URLs."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from regard.documents.segments import InlineCode, InlineKind, ProtectedSpan, Segment, SpacePosition

WORD_OR_SYMBOL = re.compile(r"\w+|[^\w\s]")
"""A word or symbol of a protected span."""


def find_protected(source: Segment, translation: str) -> tuple[list[ProtectedSpan], list[InlineCode]]:
    """Return the protected spans found in the translation, and the missing ones as codes to insert."""
    spans: list[ProtectedSpan] = []
    missing: list[InlineCode] = []
    finder = _ProtectedTextFinder(source.text, translation)
    for part in source.protected:
        text = source.text[part.start : part.end]
        left = _is_word_boundary(text, 0) and _is_word_boundary(source.text, part.start)
        right = _is_word_boundary(text, len(text)) and _is_word_boundary(source.text, part.end)
        start = finder.find(_BoundedText(text, left, right), part.start)
        if start is None:
            missing.append(
                InlineCode(part.start, f" {part.raw} ", InlineKind.STANDALONE, SpacePosition.INSTEAD)
            )
        else:
            spans.append(ProtectedSpan(start, start + len(text), part.raw))
    return sorted(spans, key=lambda span: span.start), missing


class _BoundedText(NamedTuple):
    """A text to find; `left` and `right` require a word boundary at that end."""

    text: str
    left: bool
    right: bool


class _ProtectedTextFinder:
    """Finds protected texts in a translation without overlaps, in the same spelling before any other case.

    A text may also stand unprotected in the sentence (`E` in "E-mail: press `E`"). If it occurs as often in
    the translation as in the source, the occurrences correspond in order; else the nearest one is taken.
    """

    def __init__(self, source: str, translation: str) -> None:
        self._source, self._translation = _TextIndex(source), _TextIndex(translation)
        self._scale = len(translation) / max(len(source), 1)
        self._used = bytearray(len(translation))
        self._positions: dict[tuple[_BoundedText, bool], tuple[list[int], list[int], list[int]]] = {}

    def find(self, text: _BoundedText, start: int) -> int | None:
        """Return the position in the translation of a text that starts there in the source."""
        exact = self._find(text, start, ignore_case=False)
        return self._find(text, start, ignore_case=True) if exact is None else exact

    def _find(self, text: _BoundedText, start: int, ignore_case: bool) -> int | None:
        old, new, remaining = self._occurrences(text, ignore_case)
        index = bisect_left(old, start)
        in_order = len(old) == len(new) and old[index : index + 1] == [start]
        expected = new[index] if in_order else start * self._scale
        while remaining:
            at = bisect_left(remaining, expected)
            near = [k for k in (at - 1, at) if 0 <= k < len(remaining)]
            found = remaining.pop(min(near, key=lambda k: abs(remaining[k] - expected)))
            end = found + len(text.text)
            if self._used.find(1, found, end) < 0:
                self._used[found:end] = b"\1" * len(text.text)
                return found
        return None

    def _occurrences(self, text: _BoundedText, ignore_case: bool) -> tuple[list[int], list[int], list[int]]:
        """Return the positions in the source and in the translation, and those that are not taken yet."""
        key = text, ignore_case
        if key not in self._positions:
            new = self._translation.positions(text, ignore_case)
            old = self._source.positions(text, ignore_case) if new else []
            self._positions[key] = old, new, list(new)
        return self._positions[key]


class _TextIndex:
    """Finds a text at the positions of its rarest word: a paragraph may contain thousands."""

    def __init__(self, content: str) -> None:
        self._content = content

    @cached_property
    def _tokens(self) -> dict[str, list[int]]:
        positions: defaultdict[str, list[int]] = defaultdict(list)
        for match in WORD_OR_SYMBOL.finditer(self._content):
            positions[match[0].casefold()].append(match.start())
        return positions

    def positions(self, text: _BoundedText, ignore_case: bool) -> list[int]:
        """Return where a text stands, in order; matches may overlap."""
        return [start for start in self._candidates(*text) if self._is_at(text, start, ignore_case)]

    def _is_at(self, bounded: _BoundedText, start: int, ignore_case: bool) -> bool:
        text, left, right = bounded
        there = self._content[start : start + len(text)]
        if there != text and not (ignore_case and there.casefold() == text.casefold()):
            return False
        ends = _is_word_boundary(self._content, start + len(text))
        return (not left or _is_word_boundary(self._content, start)) and (not right or ends)

    def _candidates(self, text: str, left: bool, right: bool) -> Iterable[int]:
        """Return candidate positions; only whole words are in the index, so parts of words are skipped."""
        tokens = list(WORD_OR_SYMBOL.finditer(text))
        if tokens and tokens[0].start() == 0 and _is_word_boundary(text, 0) and not left:
            del tokens[0]
        if tokens and tokens[-1].end() == len(text) and _is_word_boundary(text, len(text)) and not right:
            del tokens[-1]
        if not tokens:
            return (match.start() for match in re.finditer(re.escape(text), self._content, re.IGNORECASE))
        rows = [(self._tokens.get(token[0].casefold(), []), token.start()) for token in tokens]
        places, offset = min(rows, key=lambda row: len(row[0]))
        return [place - offset for place in places if place >= offset]


def _is_word_boundary(text: str, at: int) -> bool:
    """Whether a word starts or ends at this position."""
    return re.compile(r"\b").match(text, at) is not None
