"""Inline Markdown: the spans of markup in a line, recorded from the rules of markdown-it.

The tokens of the parser have no positions, but its rules do: each starts at one position of the text and
stops at another. So every rule is wrapped to record both.

Template tags of site generators ({{ name }}, {% if %}, {#id}) are unknown to the parser. They are masked by
as many letters, so that nothing inside a tag is markup and a tag with spaces can be a link target.
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
"""The end of a link whose reference label is its own text."""
MARKUP_CHARACTER = re.compile(r"[\\`*_~\[\]<&!{\n]")
"""A line without any of these is plain text."""
TEMPLATE_TAG = re.compile(r"\{\{\{?[^{}]*\}\}\}?|\{%[^{}]*%\}|\{(?:[#:]|\.[\w-])[^{}\n]*\}")
"""A template tag: {{ name }}, {{< shortcode >}}, {% tag %}, {#id}, {.class}, {: attributes}."""
TEMPLATE_VARIABLE = re.compile(r"\{\{\{?(?![<%/#^!>])")
"""The start of a template tag that stands for text."""


@dataclass(frozen=True)
class MarkdownSpan:
    """Characters `start` to `end` that are not plain text: markup, or text with escapes."""

    start: int
    end: int
    kind: InlineKind
    text: str = ""
    label: str = ""
    """Of an image: its alt text, up to the first bracket. Of a link without a label of its own: its text."""


@dataclass(frozen=True)
class _RuleMatch:
    start: int
    end: int
    rule: str
    tokens: tuple[Token, ...] = ()
    text_start: int = 0
    """Of the end of a link: the start of its text."""


class InlineMarkdownParser:
    """Parser for CommonMark with tables and strikethrough."""

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
        """Whether the document defines link references."""
        return bool(self._environment.get("references"))

    def parse_blocks(self, text: str) -> list[Token]:
        self._environment = {}
        return self._parser.parse(text, self._environment)

    def find_markup(self, content: str) -> list[MarkdownSpan]:
        """Return the spans that are not plain text, in order."""
        if not MARKUP_CHARACTER.search(content):
            return []
        self._matches = []
        masked = TEMPLATE_TAG.sub(lambda tag: f"{{{'x' * (len(tag[0]) - 2)}}}", content)
        self._parser.inline.parse(masked, self._parser, self._environment, [])
        return _add_template_tags(
            content, [span for match in self._matches for span in _match_spans(content, match)]
        )

    def _recording(
        self, name: str, rule: Callable[[StateInline, bool], bool]
    ) -> Callable[[StateInline, bool], bool]:
        def recorded(state: StateInline, silent: bool) -> bool:
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
            del self._matches[before:]  # of the alt text of an image, which is parsed separately
            tokens = len(state.tokens) - (state.pos - start) if name in EMPHASIS_RULES else tokens
            self._matches.append(_RuleMatch(start, state.pos, name, tuple(state.tokens[max(tokens, 0) :])))
            return True

        return recorded


def _parse_reference(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Do not parse a footnote as a link reference, even if it is one word and could be a URL."""
    start = state.bMarks[first] + state.tShift[first]
    return not state.src.startswith("[^", start) and reference(state, first, last, silent)


EMPHASIS_RULES = ("emphasis", "strikethrough")


def _match_spans(content: str, rule_match: _RuleMatch) -> Iterator[MarkdownSpan]:
    raw = content[rule_match.start : rule_match.end]
    whole = rule_match.start, rule_match.end
    match rule_match.rule:
        case "link_open":
            yield MarkdownSpan(*whole, InlineKind.OPEN)
        case "link_close":
            label = (
                content[rule_match.text_start : rule_match.start] if raw in IMPLICIT_REFERENCE_ENDS else ""
            )
            yield MarkdownSpan(*whole, InlineKind.CLOSE, label=" ".join(label.split()))
        case "newline":
            yield MarkdownSpan(*whole, InlineKind.SPACE)
        case "escape" if "\n" in raw:
            yield MarkdownSpan(*whole, InlineKind.SPACE)
        case "escape" if raw[1:] in string.punctuation:
            yield MarkdownSpan(*whole, InlineKind.TEXT, raw[1:])
        case "entity":
            yield MarkdownSpan(*whole, InlineKind.TEXT, unescape(raw))
        case "backticks" if rule_match.tokens and rule_match.tokens[-1].type == "code_inline":
            width = len(rule_match.tokens[-1].markup)
            yield MarkdownSpan(*whole, InlineKind.PROTECTED, raw[width:-width])
        case "autolink":
            yield MarkdownSpan(*whole, InlineKind.PROTECTED, raw[1:-1])
        case "image":
            yield MarkdownSpan(*whole, InlineKind.STANDALONE, label=raw[2:].partition("]")[0])
        case "html_inline":
            yield MarkdownSpan(*whole, _tag_kind(raw))
        case "emphasis" | "strikethrough":
            yield from _emphasis_markers(rule_match)
        case _:  # every other rule yields text
            pass


def _add_template_tags(content: str, spans: Sequence[MarkdownSpan]) -> list[MarkdownSpan]:
    """Add the template tags, except those inside other markup: in code, or in a link target."""
    ends = [span.end for span in spans]
    tags: list[MarkdownSpan] = []
    for tag in TEMPLATE_TAG.finditer(content):
        at = bisect_left(ends, tag.start() + 1)
        if at == len(spans) or spans[at].start >= tag.end():
            is_text = TEMPLATE_VARIABLE.match(tag[0]) is not None
            tags.append(
                MarkdownSpan(
                    *tag.span(),
                    InlineKind.PROTECTED if is_text else InlineKind.STANDALONE,
                    tag[0] if is_text else "",
                )
            )
    return sorted([*spans, *tags], key=lambda span: span.start) if tags else list(spans)


def _emphasis_markers(rule_match: _RuleMatch) -> Iterator[MarkdownSpan]:
    """Yield each *, **, _, __ or ~~ that is a marker rather than literal text."""
    width = 2 if rule_match.rule == "strikethrough" else 1
    tokens = (
        rule_match.tokens
        if width == 1
        else rule_match.tokens[len(rule_match.tokens) - (rule_match.end - rule_match.start) // 2 :]
    )
    place = rule_match.end - width * len(tokens)
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
