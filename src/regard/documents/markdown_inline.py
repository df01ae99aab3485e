"""What of a line of Markdown is text and what is markup, asked of markdown-it rule by rule.

The parser's tokens do not say where they stand. Its rules do: each begins at one place of the text and
leaves off at another, so they are asked to leave a note of both.

The tags of site generators ({{ name }}, {% if %}, {#id}) mean nothing to the parser. It is shown as many
letters instead, so that nothing inside a tag is markup, and a tag with spaces can be where a link goes.
"""

import re
import string
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, reference
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from regard.documents.segments import Kind

BY_TEXT = ("]", "][]")
"""How a link ends that goes by its own text."""
SPECIAL = re.compile(r"[\\`*_~\[\]<&!{\n]")
"""Without any of these, all is text."""
TAG = re.compile(r"\{\{\{?[^{}]*\}\}\}?|\{%[^{}]*%\}|\{(?:[#:]|\.[\w-])[^{}\n]*\}")
"""What a site generator reads: {{ name }}, {{< shortcode >}}, {% tag %}, {#id}, {.class}, {: attributes}."""
NAME = re.compile(r"\{\{\{?(?![<%/#^!>])")
"""Of such a tag, if it stands for words."""


@dataclass(frozen=True)
class Found:
    """Characters `start` to `end` that are not plain text: markup, or text spelled otherwise."""

    start: int
    end: int
    kind: Kind
    text: str = ""
    label: str = ""
    """Of a picture: its text, up to the first bracket. Of a link that goes by its text: that name."""


@dataclass(frozen=True)
class _Note:
    start: int
    end: int
    rule: str
    tokens: tuple[Token, ...] = ()
    inside: int = 0
    """Of the end of a link: where its text begins."""


class InlineMarkdown:
    """Reads CommonMark with tables and strikethrough."""

    def __init__(self) -> None:
        self._parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
        self._parser.core.ruler.disable(["inline", "text_join"])
        self._parser.inline.ruler2.disable(["fragments_join"])
        self._parser.block.ruler.at("reference", _reference, {"alt": []})
        self._environment: dict[str, Any] = {}
        self._notes: list[_Note] = []
        for rule in list(self._parser.inline.ruler.__rules__):
            self._parser.inline.ruler.at(rule.name, self._noting(rule.name, rule.fn))

    @property
    def references(self) -> bool:
        """Whether the document has links by name."""
        return bool(self._environment.get("references"))

    def blocks(self, text: str) -> list[Token]:
        self._environment = {}
        return self._parser.parse(text, self._environment)

    def read(self, content: str) -> list[Found]:
        """What is not plain text, in order."""
        if not SPECIAL.search(content):
            return []
        self._notes = []
        shown = TAG.sub(lambda tag: f"{{{'x' * (len(tag[0]) - 2)}}}", content)
        self._parser.inline.parse(shown, self._parser, self._environment, [])
        return _with_tags(content, [found for note in self._notes for found in _read(content, note)])

    def _noting(
        self, name: str, rule: Callable[[StateInline, bool], bool]
    ) -> Callable[[StateInline, bool], bool]:
        def noted(state: StateInline, silent: bool) -> bool:
            start, before, tokens = state.pos, len(self._notes), len(state.tokens)
            if not rule(state, silent):
                return False
            if silent or name == "text":
                return True
            if name == "link":
                label = state.md.helpers.parseLinkLabel(state, start, True)
                self._notes.insert(before, _Note(start, start + 1, "link_open"))
                self._notes.append(_Note(label, state.pos, "link_close", inside=start + 1))
                return True
            del self._notes[before:]  # of the text of a picture, which is parsed by itself
            tokens = len(state.tokens) - (state.pos - start) if name in MARKERS else tokens
            self._notes.append(_Note(start, state.pos, name, tuple(state.tokens[max(tokens, 0) :])))
            return True

        return noted


def _reference(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """A footnote is text, even if it is one word and could be an address."""
    start = state.bMarks[first] + state.tShift[first]
    return not state.src.startswith("[^", start) and reference(state, first, last, silent)


MARKERS = ("emphasis", "strikethrough")


def _read(content: str, note: _Note) -> Iterator[Found]:
    raw = content[note.start : note.end]
    whole = note.start, note.end
    match note.rule:
        case "link_open":
            yield Found(*whole, Kind.OPEN)
        case "link_close":
            label = content[note.inside : note.start] if raw in BY_TEXT else ""
            yield Found(*whole, Kind.CLOSE, label=" ".join(label.split()))
        case "newline":
            yield Found(*whole, Kind.BREAK)
        case "escape" if "\n" in raw:
            yield Found(*whole, Kind.BREAK)
        case "escape" if raw[1:] in string.punctuation:
            yield Found(*whole, Kind.TEXT, raw[1:])
        case "entity":
            yield Found(*whole, Kind.TEXT, unescape(raw))
        case "backticks" if note.tokens and note.tokens[-1].type == "code_inline":
            width = len(note.tokens[-1].markup)
            yield Found(*whole, Kind.KEPT, raw[width:-width])
        case "autolink":
            yield Found(*whole, Kind.KEPT, raw[1:-1])
        case "image":
            yield Found(*whole, Kind.ALONE, label=raw[2:].partition("]")[0])
        case "html_inline":
            yield Found(*whole, _kind_of_tag(raw))
        case "emphasis" | "strikethrough":
            yield from _markers(note)
        case _:  # all else is text
            pass


def _with_tags(content: str, found: Sequence[Found]) -> list[Found]:
    """With the tags of site generators, but for those inside other markup: in code, or where a link goes."""
    ends = [part.end for part in found]
    tags: list[Found] = []
    for tag in TAG.finditer(content):
        at = bisect_left(ends, tag.start() + 1)
        if at == len(found) or found[at].start >= tag.end():
            kept = NAME.match(tag[0]) is not None
            tags.append(Found(*tag.span(), Kind.KEPT if kept else Kind.ALONE, tag[0] if kept else ""))
    return sorted([*found, *tags], key=lambda part: part.start) if tags else list(found)


def _markers(note: _Note) -> Iterator[Found]:
    """Each * or ** or _ or __ or ~~ that is a marker: some are only stars."""
    width = 2 if note.rule == "strikethrough" else 1
    tokens = note.tokens if width == 1 else note.tokens[len(note.tokens) - (note.end - note.start) // 2 :]
    place = note.end - width * len(tokens)
    for token in tokens:
        kind = {1: Kind.OPEN, -1: Kind.CLOSE}.get(token.nesting)
        if token.type == "strong_open":
            yield Found(place - 1, place + 1, Kind.OPEN)
        elif token.type == "strong_close":
            yield Found(place, place + 2, Kind.CLOSE)
        elif kind is not None:
            yield Found(place, place + width, kind)
        place += width


ALONE = re.compile(r"<(?:[!?]|(?:br|img|hr|wbr|input)\b)", re.IGNORECASE)


def _kind_of_tag(tag: str) -> Kind:
    if tag.startswith("</"):
        return Kind.CLOSE
    return Kind.ALONE if ALONE.match(tag) or tag.endswith("/>") else Kind.OPEN
