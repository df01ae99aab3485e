"""Text written as Markdown, so that none of it is taken for markup."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from regard.text.documents.placing import Part

START = re.compile(r"^(\s*\d{0,9})(#{1,6}(?=\s|$)|[+-](?=\s|$)|=+(?=\s|$)|-+(?=\s|$)|>|(?<=\d)[.)](?=\s|$))")
"""What at the start of a line would make it a heading, an item of a list or a quotation."""
HASHES = re.compile(r"(?<!\S)#(?=#*\Z)")
"""What at the end of a heading would not be shown."""
MARKUP = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|$)|`|(?<!\s)\*|\*(?!\s)|(?<!\w)_(?=\S)|(?<=\S)_(?!\w)"
    r"|<(?=[A-Za-z/!?])|&(?=#?\w+;)|~(?=~)|(?<=~)~"
)
BRACKETS = re.compile(r"[\[\]]")
JOINS = "!<&\\"
"""What together with the markup behind it would be other markup."""


def spelled(parts: Sequence[Part], kind: str, letters: Mapping[str, str], references: bool) -> str:
    """The translation as Markdown, with a backslash before what would be markup and is not.

    `letters` are those that the source spelled otherwise: with a backslash, or as entities.
    """
    written: list[str] = []
    fresh = kind == "paragraph"  # at the start of a line, where more is markup
    brackets = references or any(part.ready for part in parts)
    table = {ord(letter): raw for letter, raw in letters.items()}
    if kind == "cell":
        table[ord("|")] = "\\|"
    for part, after in pairwise([*parts, Part("", ready=False)]):
        text = part.text
        if not text:
            continue
        if part.ready:
            fresh = kind == "paragraph" and ("\n" in text or "\r" in text)
        else:
            text = _escaped(text, brackets, table)
            if after.ready and text[-1] in JOINS and text[-2:-1] != "\\":
                text = f"{text[:-1]}\\{text[-1]}"
            text, fresh = START.sub(r"\1\\\2", text) if fresh else text, False
            text = HASHES.sub(r"\\#", text) if kind == "heading" else text
        written.append(text)
    return "".join(written)


def _escaped(text: str, brackets: bool, table: Mapping[int, str]) -> str:
    must = {match.start() for match in MARKUP.finditer(text)}
    if brackets or re.search(r"\][(\[:]", text):
        must |= {match.start() for match in BRACKETS.finditer(text)}
    return "".join(
        [table.get(ord(letter), f"\\{letter}" if at in must else letter) for at, letter in enumerate(text)]
    )
