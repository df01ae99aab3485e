"""HTML reader: the visible text and text attributes of a page, with inline tags kept in place."""

import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from regard.documents.markup_alignment import place_markup, segment_slot
from regard.documents.segments import InlineFragment, InlineKind, build_segment
from regard.documents.template import (
    LayeredTemplate,
    Slot,
    SlotSpan,
    Template,
    build_template,
    keep_if_unchanged,
)
from regard.documents.web.entities import (
    HTML_ATTRIBUTE_ENTITY,
    HTML_TEXT_ENTITY,
    EntityEscaper,
    split_entities,
    unescape_entities,
)
from regard.documents.web.html_tokens import MarkupToken, attribute_spans, scan_markup, set_attribute
from regard.documents.web.html_tree import VOID_ELEMENTS, OpenElementStack

INLINE_ELEMENTS = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font", "i"),
        *("img", "input", "ins", "mark", "q", "s", "small", "span", "strike", "strong", "sub", "sup", "time"),
        *("tt", "u", "wbr"),
    )
)
"""Elements inside a segment; all others, also <br>, end it. A <label> is a text of its own."""
PROTECTED_ELEMENTS = frozenset(("code", "kbd", "samp", "var"))
"""Elements inside a segment whose text is copied, but visible to the translation model."""
IMAGE_ELEMENTS = frozenset(("svg", "math", "picture"))
"""Elements inside a segment that show an image, like <img>."""
MOVABLE_ELEMENTS = PROTECTED_ELEMENTS | INLINE_ELEMENTS | IMAGE_ELEMENTS
PICTURE_CHILDREN = ("source", "img")
UNTRANSLATED_ELEMENTS = frozenset(
    ("script", "style", "pre", "textarea", "svg", "math", "template", "xmp", "iframe", "object")
)
TEXT_ATTRIBUTES = ("alt", "title", "placeholder", "aria-label")
"""Attributes whose value is text."""
UNQUOTED_VALUE = re.compile(r"[^\s\"'=<>`]+")
"""An attribute value that needs no quotes."""
BUTTON_TYPES = ("submit", "button", "reset")
STANDALONE_INPUT_TYPES = ("checkbox", "radio", "image", *BUTTON_TYPES)
"""Types of <input> that stand between texts rather than inside a segment."""
META_DESCRIPTIONS = frozenset(
    (
        *("description", "og:title", "og:description", "og:image:alt"),
        *("twitter:title", "twitter:description", "twitter:image:alt"),
    )
)
"""Names of <meta> whose content is text for people: search results and link previews."""


def read_html(text: str, xhtml: bool = False) -> LayeredTemplate:
    """Return the template of all text blocks, with their inline tags, and of all text attributes."""
    read_blocks = partial(_block_template, xhtml=xhtml)
    return LayeredTemplate(_attribute_template(text, xhtml), read_blocks(text), read_blocks)


def set_page_language(text: str, language: str) -> str:
    """Return a page whose <html> tag declares a language; one without the tag stays as it is."""
    tokens = (token for token in scan_markup(text, html=True) if token.kind == "start")
    root = next(tokens, None)
    if root is None or root.name != "html":
        return text
    tag = text[root.start : root.end]
    if "xml:lang" in attribute_spans(tag):
        tag = set_attribute(tag, "xml:lang", language)
    return text[: root.start] + set_attribute(tag, "lang", language) + text[root.end :]


def _block_template(text: str, xhtml: bool) -> Template:
    escaper = EntityEscaper(text, xml=False)
    spans = (_run_span(text, run, escaper) for run in _inline_runs(text, xhtml))
    return build_template(text, [span for span in spans if span is not None])


def _run_span(
    text: str, run: list[tuple[int, int, InlineFragment]], escaper: EntityEscaper
) -> SlotSpan | None:
    segment = build_segment(fragment for _, _, fragment in run)
    if segment is None:
        return None
    start, end = run[0][0] + segment.lead_length, run[-1][1] - segment.tail_length

    def write(translation: str) -> str:
        parts = place_markup(segment, translation)
        return "".join(part.text if part.is_raw else escaper(part.text) for part in parts)

    return SlotSpan(start, end, segment_slot(segment, text[start:end], write))


def _inline_runs(text: str, xhtml: bool) -> Iterator[list[tuple[int, int, InlineFragment]]]:
    """Yield the runs of text and inline tags between the tags that end a segment, as fragments."""
    run: list[tuple[int, int, InlineFragment]] = []
    for token in _merge_pictures(text, _translatable_tokens(text, xhtml)):
        if (fragments := _inline_fragments(text, token)) is not None:
            run += [(token.start, token.end, fragment) for fragment in fragments]
        elif run:
            yield run
            run = []
    if run:
        yield run


def _inline_fragments(text: str, token: MarkupToken) -> Iterator[InlineFragment] | None:
    """Return the fragments of a token inside a segment; None if the token ends the segment."""
    raw = text[token.start : token.end]
    if token.kind == "text":
        return split_entities(raw, xml=False)
    if token.kind == "other":
        return iter((InlineFragment(InlineKind.STANDALONE, raw),)) if raw.startswith("<!--") else None
    if token.kind == "protected":
        words = "" if token.name in IMAGE_ELEMENTS else re.sub(r"<[^>]*>", "", raw)
        return iter(
            (
                InlineFragment(
                    InlineKind.PROTECTED,
                    raw,
                    " ".join(unescape_entities(words, xml=False, entity=HTML_TEXT_ENTITY).split()),
                ),
            )
        )
    if token.kind == "empty":
        inline = token.name in IMAGE_ELEMENTS or token.name in INLINE_ELEMENTS
        return iter((InlineFragment(InlineKind.STANDALONE, raw),)) if inline else None
    if (
        token.kind == "boundary"
        or token.name not in INLINE_ELEMENTS
        or (token.name == "input" and _attribute_values(raw).get("type") in STANDALONE_INPUT_TYPES)
    ):
        return None
    kind = (
        InlineKind.CLOSE
        if token.kind == "end"
        else InlineKind.STANDALONE
        if token.name in VOID_ELEMENTS
        else InlineKind.OPEN
    )
    return iter((InlineFragment(kind, raw),))


class _TranslateRegion(NamedTuple):
    """The content of an element that sets whether it is translated."""

    depth: int
    """The number of elements around it."""
    name: str
    protected: bool
    unconditional: bool = False
    """Whether no attribute inside it can turn translation on again."""


ROOT_REGION = _TranslateRegion(-1, "", protected=False)


class _RegionToken(NamedTuple):
    """A token, whether it is protected, and the region it opens or closes."""

    token: MarkupToken
    protected: bool
    opened: _TranslateRegion | None
    closed: _TranslateRegion | None
    has_translatable_attributes: bool
    """Whether the text attributes of the tag are translated."""


def _track_regions(text: str, xhtml: bool) -> Iterator[_RegionToken]:
    """Yield the tokens of a page with their translate region; an inner region overrides the outer one."""
    elements = OpenElementStack()
    regions: list[_TranslateRegion] = []
    for token in scan_markup(text, html=True, open_elements=elements, self_closing=xhtml):
        closed = None
        while regions and not elements.is_open(regions[-1].depth):
            closed = regions.pop()
        around = regions[-1] if regions else ROOT_REGION
        if token.kind not in ("start", "empty"):
            if closed and (
                token.name != closed.name or len(elements) != closed.depth
            ):  # the end tag of another element
                closed = None
            yield _RegionToken(token, around.protected, None, closed, has_translatable_attributes=False)
            continue
        setting = None if around.unconditional else _translate_attribute(text[token.start : token.end])
        translated = not around.protected if setting is None else setting
        opened = None
        if elements.would_open(token.kind, token.name) and not around.unconditional:
            always = token.name in UNTRANSLATED_ELEMENTS or token.name in PROTECTED_ELEMENTS
            if always or translated == around.protected:
                opened = _TranslateRegion(len(elements), token.name, always or not translated, always)
                regions.append(opened)
        protected = (opened or around).protected
        yield _RegionToken(
            token, protected, opened, None, translated and token.name not in ("script", "style")
        )


def _translate_attribute(tag: str) -> bool | None:
    """Return the translate setting of a tag; None if it has none."""
    if "translate" not in tag.lower():
        return None
    values = _attribute_values(tag)
    if values.get("translate") == "no" or "notranslate" in values.get("class", "").split():
        return False
    return True if values.get("translate") in ("", "yes") else None


def _attribute_values(tag: str) -> dict[str, str]:
    """Return the attribute values of a tag, normalized for comparison with keywords of the standard."""
    return {name: tag[start:end].strip().lower() for name, (start, end) in attribute_spans(tag).items()}


def _translatable_tokens(text: str, xhtml: bool) -> Iterator[MarkupToken]:
    """Yield the visible tokens of a page; an untranslated element inside a segment is one token.

    An element counts as inside a segment only if its own end tag closes it, so that it can be moved whole.
    """
    start, root = -1, None
    for region_token in _track_regions(text, xhtml):
        token = region_token.token
        if start >= 0 and not region_token.protected:
            whole = (
                region_token.closed is not None
                and region_token.closed is root
                and token.name in MOVABLE_ELEMENTS
            )
            end = token.end if region_token.closed else token.start
            yield MarkupToken("protected" if whole else "boundary", start, end, token.name)
            start = -1
            if region_token.closed:
                continue
        if not region_token.protected:
            yield token
        elif start < 0:
            start, root = token.start, region_token.opened
    if start >= 0:
        yield MarkupToken("boundary", start, len(text))


def _merge_pictures(text: str, tokens: Iterator[MarkupToken]) -> Iterator[MarkupToken]:
    """Merge each <picture> that contains only images into one protected token."""
    pending: list[MarkupToken] = []
    for token in tokens:
        if pending and token.kind == "end" and token.name == "picture":
            yield MarkupToken("protected", pending[0].start, token.end, "picture")
            pending = []
        elif pending and _is_picture_part(text, token):
            pending.append(token)
        else:
            yield from pending
            pending = [token] if token.kind == "start" and token.name == "picture" else []
            yield from () if pending else (token,)
    yield from pending


def _is_picture_part(text: str, token: MarkupToken) -> bool:
    if token.kind == "text":
        return text[token.start : token.end].isspace()
    return token.kind == "start" and token.name in PICTURE_CHILDREN


def _attribute_template(text: str, xhtml: bool) -> Template:
    escaper = EntityEscaper(text, xml=False)
    spans: list[SlotSpan] = []
    for token, *_, translated in _track_regions(text, xhtml):
        tag = text[token.start : token.end] if translated else ""
        if "=" not in tag:
            continue
        values = attribute_spans(tag)
        names = [*TEXT_ATTRIBUTES, *_element_text_attributes(token.name, tag)]
        for start, end in sorted(values[name] for name in names if name in values):
            span = _attribute_span(text, token.start + start, token.start + end, escaper)
            spans += [] if span is None else [span]
    return build_template(text, spans)


def _element_text_attributes(name: str, tag: str) -> tuple[str, ...]:
    """Return the attributes that are text in this element only."""
    if name in ("optgroup", "option", "track"):
        return ("label",)
    if name == "input":
        return ("value",) if _attribute_values(tag).get("type") in BUTTON_TYPES else ()
    if name == "meta":
        values = _attribute_values(tag)
        return ("content",) if META_DESCRIPTIONS & {values.get("name"), values.get("property")} else ()
    return ()


def _attribute_span(text: str, start: int, end: int, escaper: EntityEscaper) -> SlotSpan | None:
    quote = text[start - 1] if text[start - 1] in "\"'" else ""
    raw = text[start:end].strip()
    words = " ".join(unescape_entities(raw, xml=False, entity=HTML_ATTRIBUTE_ENTITY).split())
    if not text.startswith(quote, end) or not any(map(str.isalnum, words)):
        return None
    start += text[start:end].index(raw)

    def write(translation: str) -> str:
        written = escaper.escape_attribute(translation, quote or '"')
        return written if quote or UNQUOTED_VALUE.fullmatch(translation) else f'"{written}"'

    return SlotSpan(start, start + len(raw), Slot(words, keep_if_unchanged(words, raw, write)))
