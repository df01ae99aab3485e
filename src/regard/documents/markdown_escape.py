"""Text written as Markdown, so that none of it is taken for markup."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from markdown_it.common.utils import normalizeReference

from regard.documents.markdown_inline import InlineMarkdownParser
from regard.documents.markup_alignment import OutputPart, match_code_pairs
from regard.documents.segments import InlineKind

LINE_START_MARKUP = re.compile(
    r"^(\s*\d{0,9})(#{1,6}(?=\s|$)|[+-](?=\s|$)|=+(?=\s|$)|-+(?=\s|$)|>|(?<=\d)[.)](?=\s|$))"
)
"""What at the start of a line would make it a heading, an item of a list or a quotation."""
TRAILING_HASH = re.compile(r"(?<!\S)#(?=#*\Z)")
"""What at the end of a heading would not be shown."""
INLINE_MARKUP = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|$)|`|(?<!\s)\*|\*(?!\s)|(?<![^\W_])_(?!\s)|(?<!\s)_(?![^\W_])"
    r"|<(?=[A-Za-z/!?])|&(?=#?\w+;)|~(?=~)|(?<=~)~"
)
BRACKETS = re.compile(r"[\[\]]")
JOINING_CHARACTERS = "!<&\\"
"""What together with the markup behind it would be other markup."""
EMPHASIS_TAGS = {"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "del"}
"""Of emphasis, and the tags that say the same."""
STAR_MARKERS = {"_": "*", "__": "**"}
"""Markers that may not stand inside a word, and those that may."""


@dataclass(frozen=True)
class MarkdownStyle:
    """How the document spells a block."""

    kind: str
    escapes: Mapping[str, str]
    """Those that the source spelled otherwise: with a backslash, or as entities."""
    reference_ends: Mapping[str, str]
    """How the links end that go by their own text: with their names, and without."""


def render_markdown(parts: Sequence[OutputPart], style: MarkdownStyle, parser: InlineMarkdownParser) -> str:
    """The translation as Markdown, with a backslash before what would be markup and is not.

    Whether a star is a marker depends on what stands beside it, so the parser is asked. A pair that it does
    not see is written with stars, which may stand inside a word, or else as tags, which may stand anywhere.
    """
    parts = _drop_empty_pairs([part for part in parts if part.text])
    partners = match_code_pairs([(part.text, part.kind) for part in parts])
    wrong = {k for k in partners if parts[k].text in EMPHASIS_TAGS}
    for respelled in (_unchanged, _as_star, _as_html_tag, _as_html_tag):
        parts = [respelled(part) if k in wrong else part for k, part in enumerate(parts)]
        written = _restore_references(
            parts, _escape_parts(parts, style, parser), style.reference_ends, partners
        )
        unseen = _unrecognized_markers(parts, written, parser) if wrong else set()
        wrong = {k for k, partner in partners.items() if k in unseen or partner in unseen}
        if not wrong:
            break
    return "".join(written)


def _unchanged(part: OutputPart) -> OutputPart:
    return part


def _as_star(part: OutputPart) -> OutputPart:
    return replace(part, text=STAR_MARKERS.get(part.text, part.text))


def _as_html_tag(part: OutputPart) -> OutputPart:
    return replace(part, text=f"<{'/' if part.kind is InlineKind.CLOSE else ''}{EMPHASIS_TAGS[part.text]}>")


def _drop_empty_pairs(parts: Sequence[OutputPart]) -> list[OutputPart]:
    """Without the markers that are around nothing, where too few words are left: **** is no emphasis."""
    nothing = (InlineKind.OPEN, InlineKind.CLOSE, InlineKind.SPACE)
    solid = [0, *accumulate(part.kind not in nothing and not part.text.isspace() for part in parts)]
    partners = match_code_pairs([(part.text, part.kind) for part in parts])
    return [
        part
        for k, part in enumerate(parts)
        if part.text not in EMPHASIS_TAGS or k not in partners or solid[k] != solid[partners[k]]
    ]


def _unrecognized_markers(
    parts: Sequence[OutputPart], written: Sequence[str], reader: InlineMarkdownParser
) -> set[int]:
    """The markers that the parser does not take for what they are."""
    seen = {(found.start, found.end, found.kind) for found in reader.find_markup("".join(written))}
    starts = [0, *accumulate(map(len, written))]
    return {
        k
        for k, part in enumerate(parts)
        if part.kind in (InlineKind.OPEN, InlineKind.CLOSE) and part.text in EMPHASIS_TAGS
        if (starts[k], starts[k + 1], part.kind) not in seen
    }


def _restore_references(
    parts: Sequence[OutputPart], written: Sequence[str], names: Mapping[str, str], partners: Mapping[int, int]
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


def _escape_parts(
    parts: Sequence[OutputPart], spelling: MarkdownStyle, reader: InlineMarkdownParser
) -> list[str]:
    """Each part as it is spelled."""
    written: list[str] = []
    guarded = spelling.kind == "paragraph"  # at the start of a line more is markup
    fresh = guarded
    brackets = reader.has_references or any(
        part.text.count("[") != part.text.count("]") for part in parts if part.is_raw
    )
    table = {ord(letter): raw for letter, raw in spelling.escapes.items()}
    if spelling.kind == "cell":
        table[ord("|")] = "\\|"
    for part, after in pairwise([*parts, OutputPart("", is_raw=False)]):
        text = part.text
        if part.is_raw:
            fresh = guarded and ("\n" in text or "\r" in text or (fresh and part.kind is not None))
        else:
            text = _escape_text(text, brackets, table)
            if after.is_raw and text[-1] in JOINING_CHARACTERS and text[-2:-1] != "\\":
                text = f"{text[:-1]}\\{text[-1]}" if text[-1] != "!" or after.text[0] == "[" else text
            text, fresh = LINE_START_MARKUP.sub(r"\1\\\2", text) if fresh else text, False
            text = TRAILING_HASH.sub(r"\\#", text) if spelling.kind == "heading" else text
        written.append(text)
    return written


def _escape_text(text: str, brackets: bool, table: Mapping[int, str]) -> str:
    must = {match.start() for match in INLINE_MARKUP.finditer(text)}
    if brackets or re.search(r"\][(\[:]", text):
        must |= {match.start() for match in BRACKETS.finditer(text)}
    return "".join(
        [table.get(ord(letter), f"\\{letter}" if at in must else letter) for at, letter in enumerate(text)]
    )
