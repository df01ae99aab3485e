"""Long text in sentences, and a sentence that is still too long cut at the best place; joined again."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from regard.text.unicode import is_unspaced_script

TokenCounter = Callable[[list[str]], list[int]]
"""How many pieces each text has."""

MAX_CHARACTERS_PER_TOKEN = 64
"""Characters per piece that no text reaches: what is longer is too long, and need not be counted."""

SENTENCE_END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'»›”’)\]]*+\s++"
    r"|(?<![。！？])[。！？]++[」』）】”’]*+\s*+"
    r"|(?<![।॥؟۔։።។])[।॥؟۔։።។]++\s++"
    r"|\n\s*+"
)
"""Where a sentence may end. Each run is read once, from its start, so that time is linear in the text."""
ABBREVIATIONS = re.compile(
    r"(bzw|ca|co|dr|fr|hr|inc|jr|ltd|m|mlle|mm|mme|mr|mrs|ms|no|nr|prof|sr|sra|st|vgl|vs)|[^\W\d_]",
    re.IGNORECASE,
)
"""A full stop after one of these, or after any single letter, ends no sentence."""
MAX_ABBREVIATION_LENGTH = 5
MIN_SENTENCE_LENGTH = 16
"""Characters; what is shorter goes with the next sentence: a line of full stops is not a million of them."""

CLAUSE_END = re.compile(r"[,;:)–—]\s+|[，；：、）]")
WHITESPACE = re.compile(r"\s+")


def split_sentences(text: str) -> list[str]:
    """The text in sentences, each with the white space after it: put together again, the same text."""
    found, start = [], 0
    for border in SENTENCE_END.finditer(text):
        if border.end() - start >= MIN_SENTENCE_LENGTH and _is_sentence_end(text, border):
            found.append(text[start : border.end()])
            start = border.end()
    return [*found, text[start:]] if start < len(text) else found


def split_to_length(text: str, max_tokens: int, count_tokens: TokenCounter) -> list[str]:
    """The text in parts of at most `most` pieces: its sentences, and what is too long of them in halves.

    Parts are without white space around them, and none is blank; a single character is never divided.
    """
    parts = [part for part in map(str.strip, split_sentences(text)) if part]
    while True:
        fits = _fits(parts, max_tokens, count_tokens)
        if all(fits):
            return parts
        parts = [
            half
            for part, fit in zip(parts, fits, strict=True)
            for half in ((part,) if fit else map(str.strip, split_in_half(part)))
            if half
        ]


def split_in_half(text: str) -> tuple[str, str]:
    """The text in two, as near to the middle as can be: after a clause, between words, or else anywhere."""
    middle, quarter = len(text) // 2, len(text) // 4
    for place in (CLAUSE_END, WHITESPACE):
        ends = [found.end() for found in place.finditer(text, quarter, len(text) - quarter)]
        if ends:
            cut = min(ends, key=lambda end: abs(end - middle))
            return text[:cut], text[cut:]
    cut = next((here for here in range(middle, len(text)) if not unicodedata.combining(text[here])), middle)
    return text[:cut], text[cut:]


def join_sentences(parts: Sequence[str]) -> str:
    """Translated parts as one text, a space between them unless the script writes none."""
    return "".join(_with_separators(part for part in parts if part))


def join_with_source_spacing(sources: Sequence[str], translations: Sequence[str]) -> str:
    """The translations of what `sentences` found as one text, with the white space that was after each.

    Only where one of the two scripts writes a space and the other none, the translation's own counts.
    """
    found = [part.strip() and new for part, new in zip(sources, translations, strict=True)]
    text = "".join(found[:1])
    for (old, new), (old_next, new_next) in pairwise(zip(sources, found, strict=True)):
        white = old[len(old.rstrip()) :]
        if new and new_next and "\n" not in white:
            own = _separator(new, new_next)
            white = white if _separator(old.rstrip(), old_next) == own else own
        text += white + new_next
    return text


def _separator(before: str, after: str) -> str:
    return "" if is_unspaced_script(before[-1]) or is_unspaced_script(after[0]) else " "


def _with_separators(parts: Iterator[str]) -> Iterator[str]:
    last = ""
    for part in parts:
        if last:
            yield _separator(last, part)
        yield part
        last = part


def _is_sentence_end(text: str, border: re.Match[str]) -> bool:
    """Whether a sentence ends there, and not an abbreviation; it goes on with no small letter."""
    if "\n" in border[0]:
        return True
    if border.end() < len(text) and text[border.end()].islower():
        return False
    if border[0].rstrip() != ".":
        return True
    before = text[max(0, border.start() - MAX_ABBREVIATION_LENGTH - 1) : border.start()]
    word = re.split(r"[\W_]", before)[-1]
    return not ABBREVIATIONS.fullmatch(word)


def _fits(parts: Sequence[str], most: int, count: TokenCounter) -> list[bool]:
    """Which parts have few enough pieces, or cannot be made smaller."""
    countable = [part for part in parts if len(part) <= MAX_CHARACTERS_PER_TOKEN * most]
    counts = iter(count(countable))
    return [
        len(part) <= MAX_CHARACTERS_PER_TOKEN * most and (next(counts) <= most or len(part) == 1)
        for part in parts
    ]
