"""A text as the sentences that are translated for it: itself, or what becomes of it if it is too long."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from regard.text.sentences import ROOMY, divide, join
from regard.text.tokenizer import Tokenizer
from regard.translation.options import Asked, Long
from regard.translation.result import IMPOSSIBLE, Fate, Translation

AT_ONCE = 1024


class Portion(NamedTuple):
    """What is translated for one text; nothing if it is blank."""

    parts: Sequence[str]
    ids: Sequence[Sequence[int]]
    """Of each part."""
    fate: Fate = "whole"
    note: str = ""


def portions(texts: Sequence[str], tokenizer: Tokenizer, longest: int, long: Long) -> list[Portion]:
    """One for each text; none has a part of more than `longest` pieces.

    A text that cannot fit is not tokenized as a whole, which would take many times its own memory.
    """
    stripped = [text.strip() for text in texts]
    near = [text if len(text) <= ROOMY * longest else text[: ROOMY * longest] for text in stripped]
    found = []
    for text, start, ids in zip(stripped, near, _tokenized(near, tokenizer), strict=True):
        if len(ids) <= longest and len(start) == len(text):
            found.append(Portion([text] if ids else [], [ids] if ids else []))
        else:
            found.append(_long(text, ids, tokenizer, longest, long))
    return found


def _long(text: str, ids: Sequence[int], tokenizer: Tokenizer, longest: int, long: Long) -> Portion:
    match long:
        case "split":
            return _split(text, tokenizer, longest)
        case "cut":
            start = tokenizer.detokenize([ids[:longest]])[0]
            note = f"only its first {longest} pieces ({len(start)} of {len(text)} characters) are translated"
            return Portion([start], [ids[:longest]], "cut", note)
        case "skip":
            said = f"too long: {len(text)} characters, and this model takes at most {longest} pieces"
            return Portion([], [], "skipped", said)


def _split(text: str, tokenizer: Tokenizer, longest: int) -> Portion:
    parts = divide(text, longest, lambda texts: list(map(len, _tokenized(texts, tokenizer))))
    ids = _tokenized(parts, tokenizer)
    kept = [(part, row) for part, row in zip(parts, ids, strict=True) if len(row) <= longest]
    return Portion(
        [part for part, _ in kept],
        [row for _, row in kept],
        "split",
        f"split into {len(kept)} parts, because this model takes at most {longest} pieces",
    )


def _tokenized(texts: Sequence[str], tokenizer: Tokenizer) -> Iterator[list[int]]:
    """The ids of each; some texts at a time, because the library takes much more memory than they do."""
    for start in range(0, len(texts), AT_ONCE):
        yield from tokenizer.tokenize(texts[start : start + AT_ONCE])


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
