"""Half characters: what is left in a text of bytes that were read wrongly, and no tokenizer can take."""

import difflib
import re
import unicodedata
from collections.abc import Iterator

from regard.errors import DataError

HALF = re.compile("[\ud800-\udfff]")


def refuse_halves(name: str, text: str) -> None:
    """In one line, with the text's name."""
    if not text.isascii() and HALF.search(text):
        raise DataError(f"{name} has half a character in it (U+D800 to U+DFFF): it was read wrongly")


JOINERS = "\u200c\u200d"
"""Persian, Hindi and their like are misspelt without them."""


def printable(text: str, longest: int = 500) -> str:
    """The text on one line, without what moves a cursor, turns the reading order or is in no page.

    A young model repeats itself without end, so only the beginning of a long text is shown.
    """
    shown = "".join(letter if letter.isprintable() or letter in JOINERS else " " for letter in text[:longest])
    return shown.strip() + ("…" if len(text) > longest else "")


SPACELESS = ("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC", "FULLWIDTH")
"""How the Unicode names begin of the characters between which no space is written."""


def spaceless(character: str) -> bool:
    return unicodedata.name(character, "").startswith(SPACELESS)


def changes(before: str | None, now: str) -> Iterator[tuple[str, bool]]:
    """The words of `now`, each with whether it is new since `before`; if there was none, nothing is."""
    new = now.split()
    old = new if before is None else before.split()
    for tag, _, _, start, end in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        for word in new[start:end]:
            yield word, tag != "equal"
