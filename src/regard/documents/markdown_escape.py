"""Text written as Markdown, so that none of it is taken for markup."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from markdown_it.common.utils import normalizeReference

from regard.documents.markdown_inline import InlineMarkdown
from regard.documents.markup_alignment import Part, pairs
from regard.documents.segments import Kind

START = re.compile(r"^(\s*\d{0,9})(#{1,6}(?=\s|$)|[+-](?=\s|$)|=+(?=\s|$)|-+(?=\s|$)|>|(?<=\d)[.)](?=\s|$))")
"""What at the start of a line would make it a heading, an item of a list or a quotation."""
HASHES = re.compile(r"(?<!\S)#(?=#*\Z)")
"""What at the end of a heading would not be shown."""
MARKUP = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|$)|`|(?<!\s)\*|\*(?!\s)|(?<![^\W_])_(?!\s)|(?<!\s)_(?![^\W_])"
    r"|<(?=[A-Za-z/!?])|&(?=#?\w+;)|~(?=~)|(?<=~)~"
)
BRACKETS = re.compile(r"[\[\]]")
JOINS = "!<&\\"
"""What together with the markup behind it would be other markup."""
MARKERS = {"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "del"}
"""Of emphasis, and the tags that say the same."""
STARS = {"_": "*", "__": "**"}
"""Markers that may not stand inside a word, and those that may."""


@dataclass(frozen=True)
class Spelling:
    """How the document spells a block."""

    kind: str
    letters: Mapping[str, str]
    """Those that the source spelled otherwise: with a backslash, or as entities."""
    names: Mapping[str, str]
    """How the links end that go by their own text: with their names, and without."""


def spelled(parts: Sequence[Part], spelling: Spelling, reader: InlineMarkdown) -> str:
    """The translation as Markdown, with a backslash before what would be markup and is not.

    Whether a star is a marker depends on what stands beside it, so the parser is asked. A pair that it does
    not see is written with stars, which may stand inside a word, or else as tags, which may stand anywhere.
    """
    parts = _without_empty_pairs([part for part in parts if part.text])
    partners = pairs([(part.text, part.kind) for part in parts])
    wrong = {k for k in partners if parts[k].text in MARKERS}
    for respelled in (_same, _star, _tag, _tag):
        parts = [respelled(part) if k in wrong else part for k, part in enumerate(parts)]
        written = _with_names(parts, _written(parts, spelling, reader), spelling.names, partners)
        unseen = _unseen(parts, written, reader) if wrong else set()
        wrong = {k for k, partner in partners.items() if k in unseen or partner in unseen}
        if not wrong:
            break
    return "".join(written)


def _same(part: Part) -> Part:
    return part


def _star(part: Part) -> Part:
    return replace(part, text=STARS.get(part.text, part.text))


def _tag(part: Part) -> Part:
    return replace(part, text=f"<{'/' if part.kind is Kind.CLOSE else ''}{MARKERS[part.text]}>")


def _without_empty_pairs(parts: Sequence[Part]) -> list[Part]:
    """Without the markers that are around nothing, where too few words are left: **** is no emphasis."""
    nothing = (Kind.OPEN, Kind.CLOSE, Kind.BREAK)
    solid = [0, *accumulate(part.kind not in nothing and not part.text.isspace() for part in parts)]
    partners = pairs([(part.text, part.kind) for part in parts])
    return [
        part
        for k, part in enumerate(parts)
        if part.text not in MARKERS or k not in partners or solid[k] != solid[partners[k]]
    ]


def _unseen(parts: Sequence[Part], written: Sequence[str], reader: InlineMarkdown) -> set[int]:
    """The markers that the parser does not take for what they are."""
    seen = {(found.start, found.end, found.kind) for found in reader.read("".join(written))}
    starts = [0, *accumulate(map(len, written))]
    return {
        k
        for k, part in enumerate(parts)
        if part.kind in (Kind.OPEN, Kind.CLOSE) and part.text in MARKERS
        if (starts[k], starts[k + 1], part.kind) not in seen
    }


def _with_names(
    parts: Sequence[Part], written: Sequence[str], names: Mapping[str, str], partners: Mapping[int, int]
) -> list[str]:
    """A link that goes by its text keeps the document's spelling if the text is still that name."""
    found = list(written)
    for k, part in enumerate(parts) if names else ():
        if part.text in names and k in partners:
            text = "".join(found[partners[k] + 1 : k])
            behind = "".join(found[k + 1 : k + 2])
            same = normalizeReference(text) == normalizeReference(part.text[2:-1])
            if same and not behind.startswith(("(", "[", ":")):  # which would make it another link
                found[k] = names[part.text]
    return found


def _written(parts: Sequence[Part], spelling: Spelling, reader: InlineMarkdown) -> list[str]:
    """Each part as it is spelled."""
    written: list[str] = []
    guarded = spelling.kind == "paragraph"  # at the start of a line more is markup
    fresh = guarded
    brackets = reader.references or any(
        part.text.count("[") != part.text.count("]") for part in parts if part.ready
    )
    table = {ord(letter): raw for letter, raw in spelling.letters.items()}
    if spelling.kind == "cell":
        table[ord("|")] = "\\|"
    for part, after in pairwise([*parts, Part("", ready=False)]):
        text = part.text
        if part.ready:
            fresh = guarded and ("\n" in text or "\r" in text or (fresh and part.kind is not None))
        else:
            text = _escaped(text, brackets, table)
            if after.ready and text[-1] in JOINS and text[-2:-1] != "\\":
                text = f"{text[:-1]}\\{text[-1]}" if text[-1] != "!" or after.text[0] == "[" else text
            text, fresh = START.sub(r"\1\\\2", text) if fresh else text, False
            text = HASHES.sub(r"\\#", text) if spelling.kind == "heading" else text
        written.append(text)
    return written


def _escaped(text: str, brackets: bool, table: Mapping[int, str]) -> str:
    must = {match.start() for match in MARKUP.finditer(text)}
    if brackets or re.search(r"\][(\[:]", text):
        must |= {match.start() for match in BRACKETS.finditer(text)}
    return "".join(
        [table.get(ord(letter), f"\\{letter}" if at in must else letter) for at, letter in enumerate(text)]
    )
