"""Unicode helpers: NFC, scripts without spaces, lone surrogates, display-safe text and word diffs."""

import difflib
import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby

from regard.errors import DataError

CJK_LETTERS = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Han, Hiragana and Katakana, as the inside of a regular expression's [...]."""
UNSPACED_LETTERS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59"  # Thai
    "\u0e81-\u0edf"  # Lao
    "\u1000-\u1049\u1050-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f"  # Burmese
    "\u1780-\u17d3\u17d7\u17dc-\u17e9" + CJK_LETTERS  # Khmer
)
"""Letters, marks and digits of scripts without spaces between words; js/units.js has the same ranges."""
UNSPACED_MARKS = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1056-\u1059\u105e-\u1060"
    "\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3\u17dd\u3099\u309a"
    "\ua9e5\uaa7b-\uaa7d\ufe00-\ufe0f"
)
"""Combining marks and variation selectors that belong to the letter before them."""
_UNSPACED = re.compile(f"[{UNSPACED_LETTERS}]")
_CJK = re.compile(f"[{CJK_LETTERS}\u3000-\u303f\uff00-\uffef]")

LONE_SURROGATE = re.compile("[\ud800-\udfff]")
LONG_MARK_RUN = re.compile(r"[^\w\s]{64,}")
"""A long run of characters that may be combining marks; no text that people write has one of marks only."""
ZERO_WIDTH_JOINERS = "\u200c\u200d"
"""Persian, Hindi and similar scripts are misspelt without them."""


def normalize_nfc(text: str) -> str:
    """Return the text in Unicode form NFC, in a time that is linear in its length.

    Python inserts each combining mark at its place among those before it, which takes quadratic time where
    thousands of marks in mixed order follow one letter. Such runs are sorted first; the result is the same.
    """
    if not text.isascii():
        text = LONG_MARK_RUN.sub(lambda run: "".join(_sort_marks(run[0])), text)
    return unicodedata.normalize("NFC", text)


def _sort_marks(text: str) -> Iterator[str]:
    """Yield the decomposed characters, each run of combining marks sorted by combining class."""
    decomposed = "".join(unicodedata.normalize("NFD", character) for character in text)
    for _, run in groupby(decomposed, lambda character: unicodedata.combining(character) > 0):
        yield from sorted(run, key=unicodedata.combining)


def is_unspaced_script(character: str) -> bool:
    """Return whether the script of the character puts no space between words."""
    return not character.isascii() and _UNSPACED.match(character) is not None


def is_cjk(character: str) -> bool:
    """Return whether the character is Chinese or Japanese: no space between sentences either."""
    return not character.isascii() and _CJK.match(character) is not None


def reject_lone_surrogates(name: str, text: str) -> None:
    """Raise an error with the name of the text if it has half of a surrogate pair."""
    if not text.isascii() and LONE_SURROGATE.search(text):
        raise DataError(
            f"{name} has a lone surrogate (U+D800 to U+DFFF): it was decoded wrongly; read it as UTF-8"
        )


def sanitize_for_display(text: str, max_characters: int = 500) -> str:
    """Return the text on one line, without control and formatting characters that a terminal or page obeys.

    An untrained model repeats itself without end, so only the beginning of a long text is returned.
    """
    printable = "".join(
        character if character.isprintable() or character in ZERO_WIDTH_JOINERS else " "
        for character in text[:max_characters]
    )
    return printable.strip() + ("…" if len(text) > max_characters else "")


def diff_words(before: str | None, after: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of `after`, each with whether it is new; without a `before` none is."""
    new = after.split()
    old = new if before is None else before.split()
    for tag, _, _, start, end in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        for word in new[start:end]:
            yield word, tag != "equal"
