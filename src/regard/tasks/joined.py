"""The translations of a text's parts as one: its text, its scores, and its words counted through."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from regard.tasks.answer import IMPOSSIBLE, Translation
from regard.tasks.asked import Asked
from regard.tasks.portions import Portion
from regard.text.sentences import join


def joined(text: str, portion: Portion, parts: Sequence[Translation], asked: Asked) -> Translation:
    """A text's parts as one translation; where one of them has none, neither has the text."""
    if any(part.fate == "impossible" for part in parts):
        return IMPOSSIBLE
    if len(parts) == 1:
        return replace(parts[0], fate=portion.fate, note=portion.note)
    translation = join([part.text for part in parts])
    return Translation(
        translation,
        math.fsum(part.score for part in parts),
        math.fsum(part.log_probability for part in parts),
        tuple(token for part in parts for token in part.tokens),
        alignment=_alignment(text, portion, translation, parts) if asked.alignments else None,
        words=tuple(word for part in parts for word in part.words or ()) if asked.confidences else None,
        fate=portion.fate,
        note=portion.note,
    )


def _alignment(
    text: str, portion: Portion, translation: str, parts: Sequence[Translation]
) -> tuple[tuple[int, int], ...]:
    """Words are counted through all parts."""
    sources = _first_words(text, portion.parts)
    targets = _first_words(translation, [part.text for part in parts])
    return tuple(
        (source + i, target + j)
        for source, target, part in zip(sources, targets, parts, strict=True)
        for i, j in part.alignment or ()
    )


def _first_words(text: str, parts: Sequence[str]) -> Iterator[int]:
    """Which word of the text each part begins in: a part may begin inside a word."""
    words = place = 0
    for part in parts:
        start = text.index(part, place)
        words += len(text[place:start].split())
        inside = start > 0 and not text[start - 1].isspace() and part[:1].strip() != ""
        yield words - inside
        words += len(part.split()) - inside
        place = start + len(part)
