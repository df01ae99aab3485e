"""Scripts that write no space between words."""

import unicodedata

SPACELESS = ("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC", "FULLWIDTH")
"""How the Unicode names begin of the characters between which no space is written."""


def spaceless(character: str) -> bool:
    return unicodedata.name(character, "").startswith(SPACELESS)
