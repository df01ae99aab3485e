"""Word boundaries of a vocabulary: the kind of each token's first and last character."""

import unicodedata

from regard.search.constraints import DIGIT, LETTER, SEPARATE, WordBoundaries
from regard.text.tokenizer import BYTE_TOKENS, SPECIAL_TOKENS, Tokenizer
from regard.text.unicode import is_unspaced_script


def find_word_boundaries(tokenizer: Tokenizer) -> WordBoundaries:
    """Return the word boundaries `EagerEngine` needs to match required phrases as whole words.

    A byte token of a character beyond ASCII counts as a letter, since most of these characters are letters.
    """
    beyond_ascii = range(len(SPECIAL_TOKENS) + 128, len(SPECIAL_TOKENS) + len(BYTE_TOKENS))
    tokens = [
        "é" if id in beyond_ascii else " " if id < beyond_ascii.stop else tokenizer.id_to_token(id)
        for id in range(tokenizer.vocab_size)
    ]
    return WordBoundaries(
        tuple(_character_kind(token[0]) for token in tokens),
        tuple(_character_kind(token[-1]) for token in tokens),
    )


def _character_kind(character: str) -> int:
    if is_unspaced_script(character):
        return SEPARATE  # any character may be a word
    match unicodedata.category(character)[0]:
        case "L" | "M":
            return LETTER
        case "N":
            return DIGIT
        case _:
            return SEPARATE
