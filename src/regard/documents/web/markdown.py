"""Markdown parser: headings, paragraphs, lists, tables and alt texts; code and URLs stay.

markdown-it finds the blocks and their text; this module maps them to positions in the file.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from regard.documents.markup_alignment import OutputPart, place_markup, segment_slot
from regard.documents.segments import InlineFragment, InlineKind, Segment, build_segment
from regard.documents.template import (
    LayeredTemplate,
    Slot,
    SlotSpan,
    Template,
    build_template,
    keep_if_unchanged,
    to_single_line,
)
from regard.documents.web.entities import unescape_entities
from regard.documents.web.markdown_escape import MarkdownStyle, render_markdown
from regard.documents.web.markdown_inline import (
    IMPLICIT_REFERENCE_ENDS,
    TEMPLATE_TAG,
    InlineMarkdownParser,
    MarkdownSpan,
)
from regard.errors import DataError

FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(?:.*?\r?\n)??(?:\1|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
LINE = re.compile(r"([^\r\n]*)(\r\n?|\n|\Z)")
NON_TEXT_MARKERS = re.compile(r"\[\^[^\]\s]+\]:?|(?<!\S)\[[ xX]\](?=\s)|\A\[![\w-]+\][+-]?(?!\S)")
"""Markers inside a text: a footnote reference, a task checkbox, and the type of an alert block."""
MARKUP_CHARACTERS = re.compile(r"[\\`*_\[\]<&|~]")
PLAIN_ALT_TEXT = re.compile(r"[^\\`*_\[\]<\n]+")
"""Alt text without markup other than entities."""


@dataclass(frozen=True)
class _MarkdownBlock:
    """The content of a block without its block markers, and the document positions of its lines."""

    content: str
    offsets: Sequence[tuple[int, int]]
    """Pairs (position in the content, position in the document), each valid up to the next pair."""
    kind: str
    """paragraph (also a heading underlined with = or -), heading (marked with #), or cell."""

    def document_offset(self, at: int) -> int:
        inside, outside = self.offsets[max(bisect_right(self.offsets, at, key=itemgetter(0)) - 1, 0)]
        return outside + at - inside


def read_markdown(text: str, name: str) -> LayeredTemplate:
    """Return the template of all text blocks, with their inline markup, and of all alt texts."""
    return LayeredTemplate(
        _alt_text_template(text, name),
        _block_template(text, name),
        lambda changed: _block_template(changed, name),
    )


def _block_template(text: str, name: str) -> Template:
    parser = InlineMarkdownParser()
    spans = (_block_span(text, block, parser) for block in _parse_blocks(text, name, parser))
    return build_template(text, [span for span in spans if span is not None])


def _alt_text_template(text: str, name: str) -> Template:
    if "![" not in text:
        return Template([text])
    parser = InlineMarkdownParser()
    spans: list[SlotSpan] = []
    for block in _parse_blocks(text, name, parser):
        for span in parser.find_markup(block.content) if "![" in block.content else ():
            words = span.label.strip()
            if (
                PLAIN_ALT_TEXT.fullmatch(words)
                and not TEMPLATE_TAG.search(words)
                and any(map(str.isalnum, words))
            ):
                spans.append(_alt_text_span(text, block, span, words))
    return build_template(text, spans)


def _alt_text_span(text: str, block: _MarkdownBlock, image: MarkdownSpan, words: str) -> SlotSpan:
    first = image.start + 2 + image.label.index(words)
    last = first + len(words)
    implicit = block.content[image.start + 2 + len(image.label) : image.end] in IMPLICIT_REFERENCE_ENDS
    start, end = block.document_offset(first), block.document_offset(image.end if implicit else last)
    label = f"][{_reference_name(words, block)}]" if implicit else ""
    alt_text = unescape_entities(words, xml=False)
    write = keep_if_unchanged(
        alt_text, text[start:end], lambda translation: _escape_alt_text(translation) + label
    )
    return SlotSpan(start, end, Slot(alt_text, write))


def _reference_name(label: str, block: _MarkdownBlock) -> str:
    """Return the label of a reference link or image as this block writes it."""
    return label.replace("|", "\\|") if block.kind == "cell" else label


def _escape_alt_text(translation: str) -> str:
    """Escape markup as character references: in a code span a backslash escapes nothing."""
    return MARKUP_CHARACTERS.sub(lambda match: f"&#{ord(match[0])};", to_single_line(translation))


def _parse_blocks(text: str, name: str, parser: InlineMarkdownParser) -> Iterator[_MarkdownBlock]:
    lines = _parser_lines(text)
    line = cell = 0
    kind, mark = "", ""
    for token in parser.parse_blocks("\n".join(content for content, _ in lines)):
        if token.type in ("paragraph_open", "heading_open", "th_open", "td_open"):
            kind, mark = token.type.removesuffix("_open"), token.markup
            kind = "paragraph" if mark in ("=", "-") else kind
        if token.type != "inline" or not token.map:
            continue
        if line != token.map[0]:
            line, cell = token.map[0], 0
        if not token.content.strip():
            continue
        if kind in ("th", "td"):
            block, cell = _cell_block(lines[line], token.content, cell)
        else:
            block = _paragraph_block(lines[token.map[0] : token.map[1]], token.content, kind, mark)
        if block is None:
            raise DataError(
                f"{name} line {line + 1} cannot be located in the file; write the paragraph without tabs"
            )
        yield block


def _parser_lines(text: str) -> list[tuple[str, int]]:
    """Return the lines as the parser counts them, with their starts; the front matter is blanked."""
    front = FRONT_MATTER.match(text)
    matter = front.end() if front else 0
    lines: list[tuple[str, int]] = []
    place = 0
    while place < len(text):
        match = LINE.match(text, place)
        assert match is not None
        lines.append(("" if place < matter else match[1], place))
        place = match.end()
    return lines


def _paragraph_block(
    lines: Sequence[tuple[str, int]], content: str, kind: str, mark: str
) -> _MarkdownBlock | None:
    places: list[tuple[int, int]] = []
    inside, at = 0, 0
    for row in content.split("\n"):
        words = row.strip(" \t")
        while at < len(lines):
            line, start = lines[at]
            at += 1
            body = line.replace("\0", "\ufffd")
            after = body.find(mark) + len(mark)
            column = body.find(words, after) if kind == "heading" else body.rfind(words)
            if column >= 0:
                lead = len(row) - len(row.lstrip(" \t"))
                places.append((inside + lead, start + column))
                break
        else:
            return None
        inside += len(row) + 1
    return _MarkdownBlock(content, places, kind)


def _cell_block(line: tuple[str, int], content: str, after: int) -> tuple[_MarkdownBlock | None, int]:
    """Return a table cell and its end in the line; a bar inside the cell is written with a backslash."""
    body, start = line
    body = body.replace("\0", "\ufffd")
    written = content.replace("|", "\\|")
    column = body.find(written, after)
    if column < 0:
        return None, after
    places = [(0, start + column)]
    for extra, bar in enumerate(re.finditer(r"\|", content), 1):
        places.append((bar.start(), start + column + bar.start() + extra - 1))
        places.append((bar.end(), start + column + bar.end() + extra))
    return _MarkdownBlock(content, places, "cell"), column + len(written)


def _block_span(text: str, block: _MarkdownBlock, parser: InlineMarkdownParser) -> SlotSpan | None:
    markup = parser.find_markup(block.content)
    fragments = list(_block_fragments(text, block, markup))
    segment = build_segment(fragments)
    if segment is None:
        return None
    start, end = block.document_offset(0), block.document_offset(len(block.content))
    texts = (fragment for fragment in fragments if fragment.kind is InlineKind.TEXT)
    escapes = {text: raw for _, raw, text in texts if text != raw and len(text) == 1}
    reference_ends = {
        _explicit_reference_end(part, block): block.content[part.start : part.end]
        for part in markup
        if _is_implicit_reference(part)
    }
    lead, tail = _outer_markup(fragments, segment)

    def write(translation: str) -> str:
        parts = [*lead, *place_markup(segment, to_single_line(translation)), *tail]
        return render_markdown(parts, MarkdownStyle(block.kind, escapes, reference_ends), parser)

    return SlotSpan(start, end, segment_slot(segment, text[start:end], write))


def _is_implicit_reference(part: MarkdownSpan) -> bool:
    """Whether this ends a link whose reference label is its own text."""
    return part.kind is InlineKind.CLOSE and part.label != ""


def _explicit_reference_end(part: MarkdownSpan, block: _MarkdownBlock) -> str:
    """Return the end of such a link with an explicit label, valid for any text."""
    return f"][{_reference_name(part.label, block)}]"


def _outer_markup(
    fragments: Sequence[InlineFragment], segment: Segment
) -> tuple[list[OutputPart], list[OutputPart]]:
    """Return the markup before and after the whole text."""
    lead: list[OutputPart] = []
    tail: list[OutputPart] = []
    place, last = 0, sum(len(fragment.raw) for fragment in fragments) - segment.tail_length
    for fragment in fragments:
        raw = fragment.raw
        kind = (
            InlineKind.SPACE if fragment.kind is InlineKind.TEXT else fragment.kind
        )  # the white space of a text fragment
        if place < segment.lead_length:
            lead.append(OutputPart(raw[: segment.lead_length - place], is_raw=True, kind=kind))
        if place + len(raw) > last:
            tail.append(OutputPart(raw[max(last - place, 0) :], is_raw=True, kind=kind))
        place += len(raw)
    return lead, tail


def _block_fragments(
    text: str, block: _MarkdownBlock, markup: Sequence[MarkdownSpan]
) -> Iterator[InlineFragment]:
    done = 0
    for part in markup:
        yield from _text_fragments(text, block, done, part.start)
        raw = text[block.document_offset(part.start) : block.document_offset(part.end)]
        yield InlineFragment(
            part.kind,
            _explicit_reference_end(part, block) if _is_implicit_reference(part) else raw,
            part.text,
        )
        done = part.end
    yield from _text_fragments(text, block, done, len(block.content))


def _text_fragments(text: str, block: _MarkdownBlock, start: int, end: int) -> Iterator[InlineFragment]:
    """Yield the fragments of plain text between markup, with non-text markers as inline codes."""
    if start == end:
        return
    done = start
    for match in NON_TEXT_MARKERS.finditer(block.content, start, end):
        yield from _plain_fragment(text, block, done, match.start())
        yield InlineFragment(
            InlineKind.STANDALONE,
            text[block.document_offset(match.start()) : block.document_offset(match.end())],
        )
        done = match.end()
    yield from _plain_fragment(text, block, done, end)


def _plain_fragment(text: str, block: _MarkdownBlock, start: int, end: int) -> Iterator[InlineFragment]:
    if start < end:
        raw, words = text[block.document_offset(start) : block.document_offset(end)], block.content[start:end]
        only_nul = len(raw) == len(words)  # the parser replaces NUL by U+FFFD
        yield InlineFragment(InlineKind.TEXT, raw, raw if only_nul else words)
