"""Texts that are too long for the model: split into parts that fit, and their translations merged."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from regard.text.sentences import MAX_CHARACTERS_PER_TOKEN, join_sentences, split_to_length
from regard.text.tokenizer import Tokenizer
from regard.translation.options import LongTextMode, TranslateOptions
from regard.translation.result import IMPOSSIBLE_TRANSLATION, Translation, TranslationStatus

TOKENIZE_AT_ONCE = 1024
"""Texts per call of the tokenizer, which needs much more memory than the texts themselves."""


class TextParts(NamedTuple):
    """The parts of one text that are translated; none if the text is blank."""

    parts: Sequence[str]
    ids: Sequence[Sequence[int]]
    """Token ids of each part."""
    status: TranslationStatus = "whole"
    message: str = ""


def split_long_texts(
    texts: Sequence[str], tokenizer: Tokenizer, max_tokens: int, mode: LongTextMode
) -> list[TextParts]:
    """Return the parts of each text; none has more than `max_tokens` tokens.

    Of a text that is too long by its characters only the beginning is tokenized, to bound the memory.
    """
    stripped = [text.strip() for text in texts]
    max_characters = MAX_CHARACTERS_PER_TOKEN * max_tokens
    starts = [text if len(text) <= max_characters else text[:max_characters] for text in stripped]
    results = []
    for text, start, ids in zip(stripped, starts, _tokenize_in_groups(starts, tokenizer), strict=True):
        if len(ids) <= max_tokens and len(start) == len(text):
            results.append(TextParts([text] if ids else [], [ids] if ids else []))
        else:
            results.append(_shorten(text, ids, tokenizer, max_tokens, mode))
    return results


def _shorten(
    text: str, ids: Sequence[int], tokenizer: Tokenizer, max_tokens: int, mode: LongTextMode
) -> TextParts:
    match mode:
        case "split":
            return _split(text, tokenizer, max_tokens)
        case "cut":
            start = tokenizer.detokenize([ids[:max_tokens]])[0]
            extent = f"{max_tokens} tokens ({len(start)} of {len(text)} characters)"
            return TextParts([start], [ids[:max_tokens]], "cut", f"only its first {extent} are translated")
        case "skip":
            limit = f"this model takes at most {max_tokens} tokens"
            return TextParts([], [], "skipped", f"too long: {len(text)} characters, and {limit}")


def _split(text: str, tokenizer: Tokenizer, max_tokens: int) -> TextParts:
    def count_tokens(texts: Sequence[str]) -> list[int]:
        return [len(ids) for ids in _tokenize_in_groups(texts, tokenizer)]

    parts = split_to_length(text, max_tokens, count_tokens)
    rows = _tokenize_in_groups(parts, tokenizer)
    fitting = [(part, ids) for part, ids in zip(parts, rows, strict=True) if len(ids) <= max_tokens]
    return TextParts(
        [part for part, _ in fitting],
        [ids for _, ids in fitting],
        "split",
        f"split into {len(fitting)} parts, because this model takes at most {max_tokens} tokens",
    )


def _tokenize_in_groups(texts: Sequence[str], tokenizer: Tokenizer) -> Iterator[list[int]]:
    for start in range(0, len(texts), TOKENIZE_AT_ONCE):
        yield from tokenizer.tokenize(texts[start : start + TOKENIZE_AT_ONCE])


def merge_parts(
    text: str, text_parts: TextParts, translations: Sequence[Translation], options: TranslateOptions
) -> Translation:
    """Merge the translations of a text's parts into one; if one part has none, neither has the text."""
    if any(part.status == "impossible" for part in translations):
        return IMPOSSIBLE_TRANSLATION
    if len(translations) == 1:
        return replace(translations[0], status=text_parts.status, message=text_parts.message)
    merged = join_sentences([part.text for part in translations])
    alignment = words = None
    if options.alignments:
        alignment = _merge_alignments(text, text_parts.parts, merged, translations)
    if options.confidences:
        words = tuple(word for part in translations for word in part.words or ())
    return Translation(
        merged,
        math.fsum(part.score for part in translations),
        math.fsum(part.log_probability for part in translations),
        tuple(token for part in translations for token in part.tokens),
        alignment=alignment,
        words=words,
        status=text_parts.status,
        message=text_parts.message,
        misplaced_terms=tuple(dict.fromkeys(term for part in translations for term in part.misplaced_terms)),
    )


def _merge_alignments(
    text: str, parts: Sequence[str], merged: str, translations: Sequence[Translation]
) -> tuple[tuple[int, int], ...]:
    """Return the alignment of a whole text, with word indexes that count through all parts."""
    sources = _first_word_of_each(text, parts)
    targets = _first_word_of_each(merged, [part.text for part in translations])
    return tuple(
        (source + i, target + j)
        for source, target, part in zip(sources, targets, translations, strict=True)
        for i, j in part.alignment or ()
    )


def _first_word_of_each(text: str, parts: Sequence[str]) -> Iterator[int]:
    """Yield the index of the word of `text` that each part begins in; it may begin inside a word."""
    words = position = 0
    for part in parts:
        start = text.index(part, position)
        words += len(text[position:start].split())
        is_inside = start > 0 and not text[start - 1].isspace() and part[:1].strip() != ""
        yield words - is_inside
        words += len(part.split()) - is_inside
        position = start + len(part)
