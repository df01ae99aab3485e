"""Where words may be carried on: the first and the last character of every piece of a tokenizer."""

import unicodedata

from regard.search.constraints import DIGIT, LETTER, SEPARATE, Edges
from regard.text.tokenizer import BYTES, MARKS, Tokenizer
from regard.text.unicode import spaceless


def edges(tokenizer: Tokenizer) -> Edges:
    """For `EagerEngine`, so that a required phrase is not found inside a longer word.

    A character beyond ASCII that is written byte by byte counts as a letter: most are.
    """
    beyond_ascii = range(len(MARKS) + 128, len(MARKS) + len(BYTES))
    pieces = [
        "é" if id in beyond_ascii else " " if id < beyond_ascii.stop else tokenizer.piece(id)
        for id in range(tokenizer.vocab_size)
    ]
    return Edges(tuple(_kind(piece[0]) for piece in pieces), tuple(_kind(piece[-1]) for piece in pieces))


def _kind(character: str) -> int:
    if spaceless(character):
        return SEPARATE  # every character may be a word
    match unicodedata.category(character)[0]:
        case "L" | "M":
            return LETTER
        case "N":
            return DIGIT
        case _:
            return SEPARATE
