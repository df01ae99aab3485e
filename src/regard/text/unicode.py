"""Half characters: what is left in a text of bytes that were read wrongly, and no tokenizer can take."""

import difflib
import re
import unicodedata
from collections.abc import Iterator

from regard.errors import DataError

LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def reject_lone_surrogates(name: str, text: str) -> None:
    """In one line, with the text's name."""
    if not text.isascii() and LONE_SURROGATE.search(text):
        raise DataError(f"{name} has half a character in it (U+D800 to U+DFFF): it was read wrongly")


ZERO_WIDTH_JOINERS = "\u200c\u200d"
"""Persian, Hindi and their like are misspelt without them."""


def sanitize_for_display(text: str, max_characters: int = 500) -> str:
    """The text on one line, without what moves a cursor, turns the reading order or is in no page.

    A young model repeats itself without end, so only the beginning of a long text is shown.
    """
    shown = "".join(
        letter if letter.isprintable() or letter in ZERO_WIDTH_JOINERS else " "
        for letter in text[:max_characters]
    )
    return shown.strip() + ("…" if len(text) > max_characters else "")


UNSPACED_SCRIPTS = ("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC", "FULLWIDTH")
"""How the Unicode names begin of the characters between which no space is written."""


def is_unspaced_script(character: str) -> bool:
    return unicodedata.name(character, "").startswith(UNSPACED_SCRIPTS)


def diff_words(before: str | None, after: str) -> Iterator[tuple[str, bool]]:
    """The words of `now`, each with whether it is new since `before`; if there was none, nothing is."""
    new = after.split()
    old = new if before is None else before.split()
    for tag, _, _, start, end in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        for word in new[start:end]:
            yield word, tag != "equal"
