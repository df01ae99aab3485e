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

from regard.documents.segments import InlineKind

IMPLICIT_REFERENCE_ENDS = ("]", "][]")
"""How a link ends that goes by its own text."""
MARKUP_CHARACTER = re.compile(r"[\\`*_~\[\]<&!{\n]")
"""Without any of these, all is text."""
TEMPLATE_TAG = re.compile(r"\{\{\{?[^{}]*\}\}\}?|\{%[^{}]*%\}|\{(?:[#:]|\.[\w-])[^{}\n]*\}")
"""What a site generator reads: {{ name }}, {{< shortcode >}}, {% tag %}, {#id}, {.class}, {: attributes}."""
TEMPLATE_VARIABLE = re.compile(r"\{\{\{?(?![<%/#^!>])")
"""Of such a tag, if it stands for words."""


@dataclass(frozen=True)
class MarkdownSpan:
    """Characters `start` to `end` that are not plain text: markup, or text spelled otherwise."""

    start: int
    end: int
    kind: InlineKind
    text: str = ""
    label: str = ""
    """Of a picture: its text, up to the first bracket. Of a link that goes by its text: that name."""


@dataclass(frozen=True)
class _RuleMatch:
    start: int
    end: int
    rule: str
    tokens: tuple[Token, ...] = ()
    text_start: int = 0
    """Of the end of a link: where its text begins."""


class InlineMarkdownParser:
    """Reads CommonMark with tables and strikethrough."""

    def __init__(self) -> None:
        self._parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
        self._parser.core.ruler.disable(["inline", "text_join"])
        self._parser.inline.ruler2.disable(["fragments_join"])
        self._parser.block.ruler.at("reference", _parse_reference, {"alt": []})
        self._environment: dict[str, Any] = {}
        self._matches: list[_RuleMatch] = []
        for rule in list(self._parser.inline.ruler.__rules__):
            self._parser.inline.ruler.at(rule.name, self._recording(rule.name, rule.fn))

    @property
    def has_references(self) -> bool:
        """Whether the document has links by name."""
        return bool(self._environment.get("references"))

    def parse_blocks(self, text: str) -> list[Token]:
        self._environment = {}
        return self._parser.parse(text, self._environment)

    def find_markup(self, content: str) -> list[MarkdownSpan]:
        """What is not plain text, in order."""
        if not MARKUP_CHARACTER.search(content):
            return []
        self._matches = []
        shown = TEMPLATE_TAG.sub(lambda tag: f"{{{'x' * (len(tag[0]) - 2)}}}", content)
        self._parser.inline.parse(shown, self._parser, self._environment, [])
        return _add_template_tags(
            content, [found for note in self._matches for found in _match_spans(content, note)]
        )

    def _recording(
        self, name: str, rule: Callable[[StateInline, bool], bool]
    ) -> Callable[[StateInline, bool], bool]:
        def noted(state: StateInline, silent: bool) -> bool:
            start, before, tokens = state.pos, len(self._matches), len(state.tokens)
            if not rule(state, silent):
                return False
            if silent or name == "text":
                return True
            if name == "link":
                label = state.md.helpers.parseLinkLabel(state, start, True)
                self._matches.insert(before, _RuleMatch(start, start + 1, "link_open"))
                self._matches.append(_RuleMatch(label, state.pos, "link_close", text_start=start + 1))
                return True
            del self._matches[before:]  # of the text of a picture, which is parsed by itself
            tokens = len(state.tokens) - (state.pos - start) if name in EMPHASIS_RULES else tokens
            self._matches.append(_RuleMatch(start, state.pos, name, tuple(state.tokens[max(tokens, 0) :])))
            return True

        return noted


def _parse_reference(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """A footnote is text, even if it is one word and could be an address."""
    start = state.bMarks[first] + state.tShift[first]
    return not state.src.startswith("[^", start) and reference(state, first, last, silent)


EMPHASIS_RULES = ("emphasis", "strikethrough")


def _match_spans(content: str, note: _RuleMatch) -> Iterator[MarkdownSpan]:
    raw = content[note.start : note.end]
    whole = note.start, note.end
    match note.rule:
        case "link_open":
            yield MarkdownSpan(*whole, InlineKind.OPEN)
        case "link_close":
            label = content[note.text_start : note.start] if raw in IMPLICIT_REFERENCE_ENDS else ""
            yield MarkdownSpan(*whole, InlineKind.CLOSE, label=" ".join(label.split()))
        case "newline":
            yield MarkdownSpan(*whole, InlineKind.SPACE)
        case "escape" if "\n" in raw:
            yield MarkdownSpan(*whole, InlineKind.SPACE)
        case "escape" if raw[1:] in string.punctuation:
            yield MarkdownSpan(*whole, InlineKind.TEXT, raw[1:])
        case "entity":
            yield MarkdownSpan(*whole, InlineKind.TEXT, unescape(raw))
        case "backticks" if note.tokens and note.tokens[-1].type == "code_inline":
            width = len(note.tokens[-1].markup)
            yield MarkdownSpan(*whole, InlineKind.PROTECTED, raw[width:-width])
        case "autolink":
            yield MarkdownSpan(*whole, InlineKind.PROTECTED, raw[1:-1])
        case "image":
            yield MarkdownSpan(*whole, InlineKind.STANDALONE, label=raw[2:].partition("]")[0])
        case "html_inline":
            yield MarkdownSpan(*whole, _tag_kind(raw))
        case "emphasis" | "strikethrough":
            yield from _emphasis_markers(note)
        case _:  # all else is text
            pass


def _add_template_tags(content: str, found: Sequence[MarkdownSpan]) -> list[MarkdownSpan]:
    """With the tags of site generators, but for those inside other markup: in code, or where a link goes."""
    ends = [part.end for part in found]
    tags: list[MarkdownSpan] = []
    for tag in TEMPLATE_TAG.finditer(content):
        at = bisect_left(ends, tag.start() + 1)
        if at == len(found) or found[at].start >= tag.end():
            kept = TEMPLATE_VARIABLE.match(tag[0]) is not None
            tags.append(
                MarkdownSpan(
                    *tag.span(),
                    InlineKind.PROTECTED if kept else InlineKind.STANDALONE,
                    tag[0] if kept else "",
                )
            )
    return sorted([*found, *tags], key=lambda part: part.start) if tags else list(found)


def _emphasis_markers(note: _RuleMatch) -> Iterator[MarkdownSpan]:
    """Each * or ** or _ or __ or ~~ that is a marker: some are only stars."""
    width = 2 if note.rule == "strikethrough" else 1
    tokens = note.tokens if width == 1 else note.tokens[len(note.tokens) - (note.end - note.start) // 2 :]
    place = note.end - width * len(tokens)
    for token in tokens:
        kind = {1: InlineKind.OPEN, -1: InlineKind.CLOSE}.get(token.nesting)
        if token.type == "strong_open":
            yield MarkdownSpan(place - 1, place + 1, InlineKind.OPEN)
        elif token.type == "strong_close":
            yield MarkdownSpan(place, place + 2, InlineKind.CLOSE)
        elif kind is not None:
            yield MarkdownSpan(place, place + width, kind)
        place += width


VOID_TAG = re.compile(r"<(?:[!?]|(?:br|img|hr|wbr|input)\b)", re.IGNORECASE)


def _tag_kind(tag: str) -> InlineKind:
    if tag.startswith("</"):
        return InlineKind.CLOSE
    return InlineKind.STANDALONE if VOID_TAG.match(tag) or tag.endswith("/>") else InlineKind.OPEN
