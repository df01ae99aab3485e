"""Half characters: what is left in a text of bytes that were read wrongly, and no tokenizer can take."""

import re

from regard.errors import DataError

HALF = re.compile("[\ud800-\udfff]")


def refuse_halves(name: str, text: str) -> None:
    """In one line, with the text's name."""
    if not text.isascii() and HALF.search(text):
        raise DataError(f"{name} has half a character in it (U+D800 to U+DFFF): it was read wrongly")
