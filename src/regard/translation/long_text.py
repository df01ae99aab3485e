"""A text as the sentences that are translated for it: itself, or what becomes of it if it is too long."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from regard.text.sentences import MAX_CHARACTERS_PER_TOKEN, join_sentences, split_to_length
from regard.text.tokenizer import Tokenizer
from regard.translation.options import LongTextMode, TranslateOptions
from regard.translation.result import IMPOSSIBLE_TRANSLATION, Translation, TranslationStatus

TOKENIZE_AT_ONCE = 1024


class TextParts(NamedTuple):
    """What is translated for one text; nothing if it is blank."""

    parts: Sequence[str]
    ids: Sequence[Sequence[int]]
    """Of each part."""
    status: TranslationStatus = "whole"
    message: str = ""


def split_long_texts(
    texts: Sequence[str], tokenizer: Tokenizer, max_tokens: int, mode: LongTextMode
) -> list[TextParts]:
    """One for each text; none has a part of more than `longest` pieces.

    A text that cannot fit is not tokenized as a whole, which would take many times its own memory.
    """
    stripped = [text.strip() for text in texts]
    near = [
        text
        if len(text) <= MAX_CHARACTERS_PER_TOKEN * max_tokens
        else text[: MAX_CHARACTERS_PER_TOKEN * max_tokens]
        for text in stripped
    ]
    found = []
    for text, start, ids in zip(stripped, near, _tokenize_in_groups(near, tokenizer), strict=True):
        if len(ids) <= max_tokens and len(start) == len(text):
            found.append(TextParts([text] if ids else [], [ids] if ids else []))
        else:
            found.append(_shorten(text, ids, tokenizer, max_tokens, mode))
    return found


def _shorten(
    text: str, ids: Sequence[int], tokenizer: Tokenizer, longest: int, long: LongTextMode
) -> TextParts:
    match long:
        case "split":
            return _split(text, tokenizer, longest)
        case "cut":
            start = tokenizer.detokenize([ids[:longest]])[0]
            note = f"only its first {longest} pieces ({len(start)} of {len(text)} characters) are translated"
            return TextParts([start], [ids[:longest]], "cut", note)
        case "skip":
            said = f"too long: {len(text)} characters, and this model takes at most {longest} pieces"
            return TextParts([], [], "skipped", said)


def _split(text: str, tokenizer: Tokenizer, longest: int) -> TextParts:
    parts = split_to_length(
        text, longest, lambda texts: list(map(len, _tokenize_in_groups(texts, tokenizer)))
    )
    ids = _tokenize_in_groups(parts, tokenizer)
    kept = [(part, row) for part, row in zip(parts, ids, strict=True) if len(row) <= longest]
    return TextParts(
        [part for part, _ in kept],
        [row for _, row in kept],
        "split",
        f"split into {len(kept)} parts, because this model takes at most {longest} pieces",
    )


def _tokenize_in_groups(texts: Sequence[str], tokenizer: Tokenizer) -> Iterator[list[int]]:
    """The ids of each; some texts at a time, because the library takes much more memory than they do."""
    for start in range(0, len(texts), TOKENIZE_AT_ONCE):
        yield from tokenizer.tokenize(texts[start : start + TOKENIZE_AT_ONCE])


def merge_parts(
    text: str, text_parts: TextParts, translations: Sequence[Translation], options: TranslateOptions
) -> Translation:
    """A text's parts as one translation; where one of them has none, neither has the text."""
    if any(part.status == "impossible" for part in translations):
        return IMPOSSIBLE_TRANSLATION
    if len(translations) == 1:
        return replace(translations[0], status=text_parts.status, message=text_parts.message)
    translation = join_sentences([part.text for part in translations])
    return Translation(
        translation,
        math.fsum(part.score for part in translations),
        math.fsum(part.log_probability for part in translations),
        tuple(token for part in translations for token in part.tokens),
        alignment=_merge_alignments(text, text_parts, translation, translations)
        if options.alignments
        else None,
        words=tuple(word for part in translations for word in part.words or ())
        if options.confidences
        else None,
        status=text_parts.status,
        message=text_parts.message,
    )


def _merge_alignments(
    text: str, portion: TextParts, translation: str, parts: Sequence[Translation]
) -> tuple[tuple[int, int], ...]:
    """Words are counted through all parts."""
    sources = _first_word_of_each(text, portion.parts)
    targets = _first_word_of_each(translation, [part.text for part in parts])
    return tuple(
        (source + i, target + j)
        for source, target, part in zip(sources, targets, parts, strict=True)
        for i, j in part.alignment or ()
    )


def _first_word_of_each(text: str, parts: Sequence[str]) -> Iterator[int]:
    """Which word of the text each part begins in: a part may begin inside a word."""
    words = place = 0
    for part in parts:
        start = text.index(part, place)
        words += len(text[place:start].split())
        inside = start > 0 and not text[start - 1].isspace() and part[:1].strip() != ""
        yield words - inside
        words += len(part.split()) - inside
        place = start + len(part)
