"""Where words may be carried on: the first and the last character of every piece of a tokenizer."""

import unicodedata

from regard.search.constraints import DIGIT, LETTER, SEPARATE, WordBoundaries
from regard.text.tokenizer import BYTE_TOKENS, SPECIAL_TOKENS, Tokenizer
from regard.text.unicode import is_unspaced_script


def find_word_boundaries(tokenizer: Tokenizer) -> WordBoundaries:
    """For `EagerEngine`, so that a required phrase is not found inside a longer word.

    A character beyond ASCII that is written byte by byte counts as a letter: most are.
    """
    beyond_ascii = range(len(SPECIAL_TOKENS) + 128, len(SPECIAL_TOKENS) + len(BYTE_TOKENS))
    pieces = [
        "é" if id in beyond_ascii else " " if id < beyond_ascii.stop else tokenizer.id_to_token(id)
        for id in range(tokenizer.vocab_size)
    ]
    return WordBoundaries(
        tuple(_character_kind(piece[0]) for piece in pieces),
        tuple(_character_kind(piece[-1]) for piece in pieces),
    )


def _character_kind(character: str) -> int:
    if is_unspaced_script(character):
        return SEPARATE  # every character may be a word
    match unicodedata.category(character)[0]:
        case "L" | "M":
            return LETTER
        case "N":
            return DIGIT
        case _:
            return SEPARATE
