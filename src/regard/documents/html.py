"""HTML: what a reader reads, in the tags it stands in."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from regard.documents.entities import (
    HTML_ATTRIBUTE_ENTITY,
    HTML_TEXT_ENTITY,
    EntityEscaper,
    split_entities,
    unescape_entities,
)
from regard.documents.html_tokens import MarkupToken, attribute_spans, scan_markup
from regard.documents.html_tree import VOID_ELEMENTS, OpenElementStack
from regard.documents.markup_alignment import place_markup
from regard.documents.segments import InlineFragment, InlineKind, build_segment
from regard.documents.template import (
    LayeredTemplate,
    Slot,
    SlotSpan,
    Template,
    build_template,
    keep_if_unchanged,
)

HTML_CHARSET = re.compile(rb"""<meta[^>]*?charset\s*=\s*["']?\s*(?P<page>[A-Za-z0-9_.:-]+)""", re.IGNORECASE)
INLINE_ELEMENTS = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font", "i"),
        *("img", "input", "ins", "mark", "q", "s", "small", "span", "strike", "strong", "sub", "sup", "time"),
        *("tt", "u", "wbr"),
    )
)
"""Elements inside a sentence; all others end it, <br> too. A label is one text, whatever is beside it."""
PROTECTED_ELEMENTS = frozenset(("code", "kbd", "samp", "var"))
"""Elements inside a sentence whose text is not translated, but is read by who translates."""
IMAGE_ELEMENTS = frozenset(("svg", "math", "picture"))
"""Elements inside a sentence that are looked at, as <img> is."""
MOVABLE_ELEMENTS = PROTECTED_ELEMENTS | INLINE_ELEMENTS | IMAGE_ELEMENTS
PICTURE_CHILDREN = ("source", "img")
UNTRANSLATED_ELEMENTS = frozenset(
    ("script", "style", "pre", "textarea", "svg", "math", "template", "xmp", "iframe", "object")
)
TEXT_ATTRIBUTES = ("alt", "title", "placeholder", "aria-label")
"""Attributes that are text."""
UNQUOTED_VALUE = re.compile(r"[^\s\"'=<>`]+")
"""A value that needs no quotes."""
BUTTON_TYPES = ("submit", "button", "reset")
STANDALONE_INPUT_TYPES = ("checkbox", "radio", "image", *BUTTON_TYPES)
"""Inputs that are no gap in a sentence, but stand between texts."""
META_DESCRIPTIONS = frozenset(
    (
        *("description", "og:title", "og:description", "og:image:alt"),
        *("twitter:title", "twitter:description", "twitter:image:alt"),
    )
)
"""What <meta> says to people: in results of a search, and wherever the page is shared."""


def read_html(text: str) -> LayeredTemplate:
    """The text of each block, with the tags inside it; and the attributes that are text."""
    return LayeredTemplate(_attribute_template(text), _block_template(text), _block_template)


def _block_template(text: str) -> Template:
    spelling = EntityEscaper(text, xml=False)
    spans = (_run_span(text, run, spelling) for run in _inline_runs(text))
    return build_template(text, [span for span in spans if span is not None])


def _run_span(
    text: str, run: list[tuple[int, int, InlineFragment]], spelling: EntityEscaper
) -> SlotSpan | None:
    sentence = build_segment(piece for _, _, piece in run)
    if sentence is None:
        return None
    start, end = run[0][0] + sentence.lead_length, run[-1][1] - sentence.tail_length

    def write(translation: str) -> str:
        parts = place_markup(sentence, translation)
        return "".join(part.text if part.is_raw else spelling(part.text) for part in parts)

    return SlotSpan(start, end, Slot(sentence.text, keep_if_unchanged(sentence.text, text[start:end], write)))


def _inline_runs(text: str) -> Iterator[list[tuple[int, int, InlineFragment]]]:
    """Stretches of text and inline tags between the tags that end a sentence, piece by piece."""
    run: list[tuple[int, int, InlineFragment]] = []
    for part in _merge_pictures(text, _translatable_tokens(text)):
        if (pieces := _inline_fragments(text, part)) is not None:
            run += [(part.start, part.end, piece) for piece in pieces]
        elif run:
            yield run
            run = []
    if run:
        yield run


def _inline_fragments(text: str, part: MarkupToken) -> Iterator[InlineFragment] | None:
    """The pieces of a part that is inside a sentence; None if it ends one."""
    raw = text[part.start : part.end]
    if part.kind == "text":
        return split_entities(raw, xml=False)
    if part.kind == "other":
        return iter((InlineFragment(InlineKind.STANDALONE, raw),)) if raw.startswith("<!--") else None
    if part.kind == "kept":
        words = "" if part.name in IMAGE_ELEMENTS else re.sub(r"<[^>]*>", "", raw)
        return iter(
            (
                InlineFragment(
                    InlineKind.PROTECTED,
                    raw,
                    " ".join(unescape_entities(words, xml=False, entity=HTML_TEXT_ENTITY).split()),
                ),
            )
        )
    if part.kind == "empty":
        return iter((InlineFragment(InlineKind.STANDALONE, raw),)) if part.name in IMAGE_ELEMENTS else None
    if (
        part.kind == "cut"
        or part.name not in INLINE_ELEMENTS
        or (part.name == "input" and _attribute_values(raw).get("type") in STANDALONE_INPUT_TYPES)
    ):
        return None
    kind = (
        InlineKind.CLOSE
        if part.kind == "end"
        else InlineKind.STANDALONE
        if part.name in VOID_ELEMENTS
        else InlineKind.OPEN
    )
    return iter((InlineFragment(kind, raw),))


class _TranslateRegion(NamedTuple):
    """What is in an element, if that element says whether it is translated."""

    depth: int
    """How many elements are around it."""
    name: str
    protected: bool
    unconditional: bool = False
    """Whether nothing inside it is translated, whatever the page says there."""


ROOT_REGION = _TranslateRegion(-1, "", protected=False)


class _RegionToken(NamedTuple):
    """A part of a page, whether it is kept, the region of which it is the first part, or the last."""

    token: MarkupToken
    protected: bool
    opened: _TranslateRegion | None
    closed: _TranslateRegion | None
    has_translatable_attributes: bool
    """Whether the attributes of the tag are translated."""


def _track_regions(text: str) -> Iterator[_RegionToken]:
    """The parts of a page: what an element says holds for all in it, until one inside says otherwise."""
    elements = OpenElementStack()
    regions: list[_TranslateRegion] = []
    for part in scan_markup(text, html=True, open_elements=elements):
        ended = None
        while regions and not elements.is_open(regions[-1].depth):
            ended = regions.pop()
        around = regions[-1] if regions else ROOT_REGION
        if part.kind not in ("start", "empty"):
            if ended and (
                part.name != ended.name or len(elements) != ended.depth
            ):  # the tag of another element
                ended = None
            yield _RegionToken(part, around.protected, None, ended, has_translatable_attributes=False)
            continue
        wish = None if around.unconditional else _translate_attribute(text[part.start : part.end])
        told = not around.protected if wish is None else wish
        begun = None
        if elements.would_open(part.kind, part.name) and not around.unconditional:
            always = part.name in UNTRANSLATED_ELEMENTS or part.name in PROTECTED_ELEMENTS
            if always or told == around.protected:
                begun = _TranslateRegion(len(elements), part.name, always or not told, always)
                regions.append(begun)
        kept = (begun or around).protected
        yield _RegionToken(part, kept, begun, None, told and part.name not in ("script", "style"))


def _translate_attribute(tag: str) -> bool | None:
    """Whether a tag asks for translation; None if it does not say."""
    if "translate" not in tag.lower():
        return None
    values = _attribute_values(tag)
    if values.get("translate") == "no" or "notranslate" in values.get("class", "").split():
        return False
    return True if values.get("translate") in ("", "yes") else None


def _attribute_values(tag: str) -> dict[str, str]:
    """The attributes of a tag, for comparing them with words that the standard knows."""
    return {name: tag[start:end].strip().lower() for name, (start, end) in attribute_spans(tag).items()}


def _translatable_tokens(text: str) -> Iterator[MarkupToken]:
    """The parts of a page, less what nobody reads; what is kept inside a sentence is one part.

    An element is inside a sentence only if its own end tag closes it: it can be moved as a whole.
    """
    start, root = -1, None
    for seen in _track_regions(text):
        part = seen.token
        if start >= 0 and not seen.protected:
            whole = seen.closed is not None and seen.closed is root and part.name in MOVABLE_ELEMENTS
            end = part.end if seen.closed else part.start
            yield MarkupToken("kept" if whole else "cut", start, end, part.name)
            start = -1
            if seen.closed:
                continue
        if not seen.protected:
            yield part
        elif start < 0:
            start, root = part.start, seen.opened
    if start >= 0:
        yield MarkupToken("cut", start, len(text))


def _merge_pictures(text: str, parts: Iterator[MarkupToken]) -> Iterator[MarkupToken]:
    """The same parts, with each <picture> that holds nothing but pictures as one that is kept."""
    held: list[MarkupToken] = []
    for part in parts:
        if held and part.kind == "end" and part.name == "picture":
            yield MarkupToken("kept", held[0].start, part.end, "picture")
            held = []
        elif held and _is_picture_part(text, part):
            held.append(part)
        else:
            yield from held
            held = [part] if part.kind == "start" and part.name == "picture" else []
            yield from () if held else (part,)
    yield from held


def _is_picture_part(text: str, part: MarkupToken) -> bool:
    if part.kind == "text":
        return text[part.start : part.end].isspace()
    return part.kind == "start" and part.name in PICTURE_CHILDREN


def _attribute_template(text: str) -> Template:
    spelling = EntityEscaper(text, xml=False)
    spans: list[SlotSpan] = []
    for part, *_, told in _track_regions(text):
        tag = text[part.start : part.end] if told else ""
        if "=" not in tag:
            continue
        found = attribute_spans(tag)
        names = [*TEXT_ATTRIBUTES, *_element_text_attributes(part.name, tag)]
        for start, end in sorted(found[name] for name in names if name in found):
            span = _attribute_span(text, part.start + start, part.start + end, spelling)
            spans += [] if span is None else [span]
    return build_template(text, spans)


def _element_text_attributes(name: str, tag: str) -> tuple[str, ...]:
    """Attributes that are text in some elements only."""
    if name in ("optgroup", "option", "track"):
        return ("label",)
    if name == "input":
        return ("value",) if _attribute_values(tag).get("type") in BUTTON_TYPES else ()
    if name == "meta":
        values = _attribute_values(tag)
        return ("content",) if META_DESCRIPTIONS & {values.get("name"), values.get("property")} else ()
    return ()


def _attribute_span(text: str, start: int, end: int, spelling: EntityEscaper) -> SlotSpan | None:
    quote = text[start - 1] if text[start - 1] in "\"'" else ""
    raw = text[start:end].strip()
    words = " ".join(unescape_entities(raw, xml=False, entity=HTML_ATTRIBUTE_ENTITY).split())
    if not text.startswith(quote, end) or not any(map(str.isalnum, words)):
        return None
    start += text[start:end].index(raw)

    def write(translation: str) -> str:
        written = spelling.escape_attribute(translation, quote or '"')
        return written if quote or UNQUOTED_VALUE.fullmatch(translation) else f'"{written}"'

    return SlotSpan(start, start + len(raw), Slot(words, keep_if_unchanged(words, raw, write)))
