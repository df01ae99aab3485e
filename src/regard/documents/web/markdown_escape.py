"""Markdown writer: escapes translated text so that none of it is parsed as markup."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from markdown_it.common.utils import normalizeReference

from regard.documents.markup_alignment import OutputPart, match_code_pairs
from regard.documents.segments import InlineKind
from regard.documents.web.markdown_inline import InlineMarkdownParser

LINE_START_MARKUP = re.compile(
    r"^(\s*\d{0,9})(#{1,6}(?=\s|$)|[+-](?=\s|$)|=+(?=\s|$)|-+(?=\s|$)|>|(?<=\d)[.)](?=\s|$))"
)
"""Characters that at the start of a line make it a heading, list item or quotation."""
TRAILING_HASH = re.compile(r"(?<!\S)#(?=#*\Z)")
"""Characters at the end of a heading that Markdown drops."""
INLINE_MARKUP = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|$)|`|(?<!\s)\*|\*(?!\s)|(?<![^\W_])_(?!\s)|(?<!\s)_(?![^\W_])"
    r"|<(?=[A-Za-z/!?])|&(?=#?\w+;)|~(?=~)|(?<=~)~"
)
BRACKETS = re.compile(r"[\[\]]")
JOINING_CHARACTERS = "!<&\\"
"""Characters that form other markup together with the markup after them."""
EMPHASIS_TAGS = {"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "del"}
"""The markers of emphasis and the HTML tags of the same meaning."""
STAR_MARKERS = {"_": "*", "__": "**"}
"""Markers that are not valid inside a word, and the equivalents that are."""


@dataclass(frozen=True)
class MarkdownStyle:
    """How the document writes a block."""

    kind: str
    escapes: Mapping[str, str]
    """The characters that the source wrote with a backslash or as an entity."""
    reference_ends: Mapping[str, str]
    """The ends of links whose label is their text: with an explicit label, and as written."""


def render_markdown(parts: Sequence[OutputPart], style: MarkdownStyle, parser: InlineMarkdownParser) -> str:
    """Return the translation as Markdown, with literal markup characters escaped by a backslash.

    Whether a star is a marker depends on its neighbours, so the result is parsed again. A pair of markers
    that the parser does not recognize is written with stars, which are valid inside a word, or else as HTML
    tags, which are valid anywhere.
    """
    parts = _drop_empty_pairs([part for part in parts if part.text])
    partners = match_code_pairs([(part.text, part.kind) for part in parts])
    unrecognized_pairs = {k for k in partners if parts[k].text in EMPHASIS_TAGS}
    for rewrite in (_unchanged, _as_star, _as_html_tag, _as_html_tag):
        parts = [rewrite(part) if k in unrecognized_pairs else part for k, part in enumerate(parts)]
        written = _restore_references(
            parts, _escape_parts(parts, style, parser), style.reference_ends, partners
        )
        unrecognized = _unrecognized_markers(parts, written, parser) if unrecognized_pairs else set()
        unrecognized_pairs = {
            k for k, partner in partners.items() if k in unrecognized or partner in unrecognized
        }
        if not unrecognized_pairs:
            break
    return "".join(written)


def _unchanged(part: OutputPart) -> OutputPart:
    return part


def _as_star(part: OutputPart) -> OutputPart:
    return replace(part, text=STAR_MARKERS.get(part.text, part.text))


def _as_html_tag(part: OutputPart) -> OutputPart:
    return replace(part, text=f"<{'/' if part.kind is InlineKind.CLOSE else ''}{EMPHASIS_TAGS[part.text]}>")


def _drop_empty_pairs(parts: Sequence[OutputPart]) -> list[OutputPart]:
    """Drop pairs of markers without text between them: **** is not emphasis."""
    without_text = (InlineKind.OPEN, InlineKind.CLOSE, InlineKind.SPACE)
    solid = [0, *accumulate(part.kind not in without_text and not part.text.isspace() for part in parts)]
    partners = match_code_pairs([(part.text, part.kind) for part in parts])
    return [
        part
        for k, part in enumerate(parts)
        if part.text not in EMPHASIS_TAGS or k not in partners or solid[k] != solid[partners[k]]
    ]


def _unrecognized_markers(
    parts: Sequence[OutputPart], written: Sequence[str], parser: InlineMarkdownParser
) -> set[int]:
    """Return the markers that the parser does not recognize."""
    recognized = {(span.start, span.end, span.kind) for span in parser.find_markup("".join(written))}
    starts = [0, *accumulate(map(len, written))]
    return {
        k
        for k, part in enumerate(parts)
        if part.kind in (InlineKind.OPEN, InlineKind.CLOSE) and part.text in EMPHASIS_TAGS
        if (starts[k], starts[k + 1], part.kind) not in recognized
    }


def _restore_references(
    parts: Sequence[OutputPart], written: Sequence[str], names: Mapping[str, str], partners: Mapping[int, int]
) -> list[str]:
    """Restore the original end of a link whose text still equals its label."""
    restored = list(written)
    for k, part in enumerate(parts) if names else ():
        if part.text in names and k in partners:
            text = "".join(restored[partners[k] + 1 : k])
            following = "".join(restored[k + 1 : k + 2])
            same = normalizeReference(text) == normalizeReference(part.text[2:-1])
            if same and not following.startswith(("(", "[", ":")):  # would change the meaning of the link
                restored[k] = names[part.text]
    return restored


def _escape_parts(
    parts: Sequence[OutputPart], style: MarkdownStyle, parser: InlineMarkdownParser
) -> list[str]:
    """Return the Markdown of each part."""
    written: list[str] = []
    is_paragraph = style.kind == "paragraph"  # the start of a line has more markup
    at_line_start = is_paragraph
    brackets = parser.has_references or any(
        part.text.count("[") != part.text.count("]") for part in parts if part.is_raw
    )
    table = {ord(letter): raw for letter, raw in style.escapes.items()}
    if style.kind == "cell":
        table[ord("|")] = "\\|"
    for part, after in pairwise([*parts, OutputPart("", is_raw=False)]):
        text = part.text
        if part.is_raw:
            at_line_start = is_paragraph and (
                "\n" in text or "\r" in text or (at_line_start and part.kind is not None)
            )
        else:
            text = _escape_text(text, brackets, table)
            if after.is_raw and text[-1] in JOINING_CHARACTERS and text[-2:-1] != "\\":
                text = f"{text[:-1]}\\{text[-1]}" if text[-1] != "!" or after.text[0] == "[" else text
            text, at_line_start = LINE_START_MARKUP.sub(r"\1\\\2", text) if at_line_start else text, False
            text = TRAILING_HASH.sub(r"\\#", text) if style.kind == "heading" else text
        written.append(text)
    return written


def _escape_text(text: str, brackets: bool, table: Mapping[int, str]) -> str:
    must = {match.start() for match in INLINE_MARKUP.finditer(text)}
    if brackets or re.search(r"\][(\[:]", text):
        must |= {match.start() for match in BRACKETS.finditer(text)}
    return "".join(
        [table.get(ord(letter), f"\\{letter}" if at in must else letter) for at, letter in enumerate(text)]
    )
