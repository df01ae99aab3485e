"""Markdown: headings, paragraphs, lists, tables and the texts of pictures; code and addresses stay.

markdown-it finds the blocks and says what is text inside them; here each gets its place in the file.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from regard.documents.entities import plain
from regard.documents.markdown_escape import Spelling, spelled
from regard.documents.markdown_inline import BY_TEXT, TAG, Found, InlineMarkdown
from regard.documents.markup_alignment import Part, placed
from regard.documents.segments import Kind, Marked, Piece, marked
from regard.documents.template import Layers, Slot, Span, Template, cut, one_line, unless_same
from regard.errors import DataError

FRONT = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(?:.*?\r?\n)??(?:\1|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
LINE = re.compile(r"([^\r\n]*)(\r\n?|\n|\Z)")
SEPARATE = re.compile(r"\[\^[^\]\s]+\]:?|(?<!\S)\[[ xX]\](?=\s)|\A\[![\w-]+\][+-]?(?!\S)")
"""In a text: the mark of a footnote, the box of a task, and what makes a quotation a note or a warning."""
MARKUP = re.compile(r"[\\`*_\[\]<&|~]")
PICTURE = re.compile(r"[^\\`*_\[\]<\n]+")
"""Text of a picture that is plain but for entities."""


@dataclass(frozen=True)
class _Block:
    """What stands in a block, less what makes it one, and where its lines begin in the document."""

    content: str
    places: Sequence[tuple[int, int]]
    """Pairs: from this character of the content on, up to the next pair, at that one of the document."""
    kind: str
    """A paragraph (or a heading written as one, with a line below it), a heading after #, or a cell."""

    def place(self, at: int) -> int:
        inside, outside = self.places[max(bisect_right(self.places, at, key=itemgetter(0)) - 1, 0)]
        return outside + at - inside


def read_markdown(text: str, name: str) -> Layers:
    """The text of each block, with its inline markup; and the texts of pictures."""
    return Layers(_pictures(text, name), _texts(text, name), lambda changed: _texts(changed, name))


def _texts(text: str, name: str) -> Template:
    reader = InlineMarkdown()
    spans = (_span(text, block, reader) for block in _blocks(text, name, reader))
    return cut(text, [span for span in spans if span is not None])


def _pictures(text: str, name: str) -> Template:
    if "![" not in text:
        return Template([text])
    reader = InlineMarkdown()
    spans: list[Span] = []
    for block in _blocks(text, name, reader):
        for found in reader.read(block.content) if "![" in block.content else ():
            words = found.label.strip()
            if PICTURE.fullmatch(words) and not TAG.search(words) and any(map(str.isalnum, words)):
                spans.append(_picture(text, block, found, words))
    return cut(text, spans)


def _picture(text: str, block: _Block, found: Found, words: str) -> Span:
    first = found.start + 2 + found.label.index(words)
    last = first + len(words)
    by_text = block.content[found.start + 2 + len(found.label) : found.end] in BY_TEXT
    start, end = block.place(first), block.place(found.end if by_text else last)
    name = f"][{_name(words, block)}]" if by_text else ""
    shown = plain(words, xml=False)
    write = unless_same(shown, text[start:end], lambda translation: _picture_text(translation) + name)
    return Span(start, end, Slot(shown, write))


def _name(label: str, block: _Block) -> str:
    """What a link or picture goes by, where its text is no longer that."""
    return label.replace("|", "\\|") if block.kind == "cell" else label


def _picture_text(translation: str) -> str:
    """Spelled so that it joins with nothing: in a code span even a backslash is no help."""
    return MARKUP.sub(lambda match: f"&#{ord(match[0])};", one_line(translation))


def _blocks(text: str, name: str, reader: InlineMarkdown) -> Iterator[_Block]:
    lines = _lines(text)
    line = cell = 0
    kind, mark = "", ""
    for token in reader.blocks("\n".join(content for content, _ in lines)):
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
            block, cell = _cell(lines[line], token.content, cell)
        else:
            block = _paragraph(lines[token.map[0] : token.map[1]], token.content, kind, mark)
        if block is None:
            raise DataError(f"{name} line {line + 1} cannot be followed; write the paragraph without tabs")
        yield block


def _lines(text: str) -> list[tuple[str, int]]:
    """The lines as the parser counts them, and where each starts; those of the front matter are blank."""
    front = FRONT.match(text)
    matter = front.end() if front else 0
    found: list[tuple[str, int]] = []
    place = 0
    while place < len(text):
        match = LINE.match(text, place)
        assert match is not None
        found.append(("" if place < matter else match[1], place))
        place = match.end()
    return found


def _paragraph(lines: Sequence[tuple[str, int]], content: str, kind: str, mark: str) -> _Block | None:
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
    return _Block(content, places, kind)


def _cell(line: tuple[str, int], content: str, after: int) -> tuple[_Block | None, int]:
    """A cell of a table and where it ends in its line; a bar inside it is written with a backslash."""
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
    return _Block(content, places, "cell"), column + len(written)


def _span(text: str, block: _Block, reader: InlineMarkdown) -> Span | None:
    found = reader.read(block.content)
    pieces = list(_pieces(text, block, found))
    sentence = marked(pieces)
    if sentence is None:
        return None
    start, end = block.place(0), block.place(len(block.content))
    texts = (piece for piece in pieces if piece.kind is Kind.TEXT)
    letters = {text: raw for _, raw, text in texts if text != raw and len(text) == 1}
    names = {_end(part, block): block.content[part.start : part.end] for part in found if _goes_by_text(part)}
    lead, tail = _edges(pieces, sentence)

    def write(translation: str) -> str:
        parts = [*lead, *placed(sentence, one_line(translation)), *tail]
        return spelled(parts, Spelling(block.kind, letters, names), reader)

    return Span(start, end, Slot(sentence.text, unless_same(sentence.text, text[start:end], write)))


def _goes_by_text(part: Found) -> bool:
    """Whether this ends a link that goes by its own text."""
    return part.kind is Kind.CLOSE and part.label != ""


def _end(part: Found, block: _Block) -> str:
    """How such a link ends whatever its text."""
    return f"][{_name(part.label, block)}]"


def _edges(pieces: Sequence[Piece], sentence: Marked) -> tuple[list[Part], list[Part]]:
    """The markup around the whole text: before it, and after it."""
    lead: list[Part] = []
    tail: list[Part] = []
    place, last = 0, sum(len(piece.raw) for piece in pieces) - sentence.tail
    for piece in pieces:
        raw = piece.raw
        kind = Kind.BREAK if piece.kind is Kind.TEXT else piece.kind  # of a text, its white space
        if place < sentence.lead:
            lead.append(Part(raw[: sentence.lead - place], ready=True, kind=kind))
        if place + len(raw) > last:
            tail.append(Part(raw[max(last - place, 0) :], ready=True, kind=kind))
        place += len(raw)
    return lead, tail


def _pieces(text: str, block: _Block, found: Sequence[Found]) -> Iterator[Piece]:
    done = 0
    for part in found:
        yield from _words(text, block, done, part.start)
        raw = text[block.place(part.start) : block.place(part.end)]
        yield Piece(part.kind, _end(part, block) if _goes_by_text(part) else raw, part.text)
        done = part.end
    yield from _words(text, block, done, len(block.content))


def _words(text: str, block: _Block, start: int, end: int) -> Iterator[Piece]:
    """What is plain text to Markdown, less what is not text to people."""
    if start == end:
        return
    done = start
    for match in SEPARATE.finditer(block.content, start, end):
        yield from _plain(text, block, done, match.start())
        yield Piece(Kind.ALONE, text[block.place(match.start()) : block.place(match.end())])
        done = match.end()
    yield from _plain(text, block, done, end)


def _plain(text: str, block: _Block, start: int, end: int) -> Iterator[Piece]:
    if start < end:
        raw, words = text[block.place(start) : block.place(end)], block.content[start:end]
        only_nul = len(raw) == len(words)  # the parser writes another character in its place
        yield Piece(Kind.TEXT, raw, raw if only_nul else words)
