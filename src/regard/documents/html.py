"""HTML: what a reader reads, in the tags it stands in."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from regard.documents.entities import IN_PAGE, IN_VALUE, Spelling, pieces_of, plain
from regard.documents.html_tokens import Markup, attributes, read_markup
from regard.documents.html_tree import VOID, Elements
from regard.documents.markup_alignment import placed
from regard.documents.segments import Kind, Piece, marked
from regard.documents.template import Layers, Slot, Span, Template, cut, unless_same

DECLARED = re.compile(rb"""<meta[^>]*?charset\s*=\s*["']?\s*(?P<page>[A-Za-z0-9_.:-]+)""", re.IGNORECASE)
INLINE = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font", "i"),
        *("img", "input", "ins", "mark", "q", "s", "small", "span", "strike", "strong", "sub", "sup", "time"),
        *("tt", "u", "wbr"),
    )
)
"""Elements inside a sentence; all others end it, <br> too. A label is one text, whatever is beside it."""
KEPT = frozenset(("code", "kbd", "samp", "var"))
"""Elements inside a sentence whose text is not translated, but is read by who translates."""
FIGURES = frozenset(("svg", "math", "picture"))
"""Elements inside a sentence that are looked at, as <img> is."""
MOVABLE = KEPT | INLINE | FIGURES
OF_PICTURE = ("source", "img")
SKIPPED = frozenset(
    ("script", "style", "pre", "textarea", "svg", "math", "template", "xmp", "iframe", "object")
)
TEXTS = ("alt", "title", "placeholder", "aria-label")
"""Attributes that are text."""
BARE = re.compile(r"[^\s\"'=<>`]+")
"""A value that needs no quotes."""
BUTTONS = ("submit", "button", "reset")
CHOICES = ("checkbox", "radio", "image", *BUTTONS)
"""Inputs that are no gap in a sentence, but stand between texts."""
ABOUT = frozenset(
    (
        *("description", "og:title", "og:description", "og:image:alt"),
        *("twitter:title", "twitter:description", "twitter:image:alt"),
    )
)
"""What <meta> says to people: in results of a search, and wherever the page is shared."""


def read_html(text: str) -> Layers:
    """The text of each block, with the tags inside it; and the attributes that are text."""
    return Layers(_attributes(text), _blocks(text), _blocks)


def _blocks(text: str) -> Template:
    spelling = Spelling(text, xml=False)
    spans = (_span(text, run, spelling) for run in _runs(text))
    return cut(text, [span for span in spans if span is not None])


def _span(text: str, run: list[tuple[int, int, Piece]], spelling: Spelling) -> Span | None:
    sentence = marked(piece for _, _, piece in run)
    if sentence is None:
        return None
    start, end = run[0][0] + sentence.lead, run[-1][1] - sentence.tail

    def write(translation: str) -> str:
        parts = placed(sentence, translation)
        return "".join(part.text if part.ready else spelling(part.text) for part in parts)

    return Span(start, end, Slot(sentence.text, unless_same(sentence.text, text[start:end], write)))


def _runs(text: str) -> Iterator[list[tuple[int, int, Piece]]]:
    """Stretches of text and inline tags between the tags that end a sentence, piece by piece."""
    run: list[tuple[int, int, Piece]] = []
    for part in _whole_pictures(text, _readable(text)):
        if (pieces := _inline(text, part)) is not None:
            run += [(part.start, part.end, piece) for piece in pieces]
        elif run:
            yield run
            run = []
    if run:
        yield run


def _inline(text: str, part: Markup) -> Iterator[Piece] | None:
    """The pieces of a part that is inside a sentence; None if it ends one."""
    raw = text[part.start : part.end]
    if part.sort == "text":
        return pieces_of(raw, xml=False)
    if part.sort == "other":
        return iter((Piece(Kind.ALONE, raw),)) if raw.startswith("<!--") else None
    if part.sort == "kept":
        words = "" if part.name in FIGURES else re.sub(r"<[^>]*>", "", raw)
        return iter((Piece(Kind.KEPT, raw, " ".join(plain(words, xml=False, entity=IN_PAGE).split())),))
    if part.sort == "empty":
        return iter((Piece(Kind.ALONE, raw),)) if part.name in FIGURES else None
    if (
        part.sort == "cut"
        or part.name not in INLINE
        or (part.name == "input" and _values(raw).get("type") in CHOICES)
    ):
        return None
    kind = Kind.CLOSE if part.sort == "end" else Kind.ALONE if part.name in VOID else Kind.OPEN
    return iter((Piece(kind, raw),))


class _Region(NamedTuple):
    """What is in an element, if that element says whether it is translated."""

    at: int
    """How many elements are around it."""
    name: str
    kept: bool
    always: bool = False
    """Whether nothing inside it is translated, whatever the page says there."""


PAGE = _Region(-1, "", kept=False)


class _Seen(NamedTuple):
    """A part of a page, whether it is kept, the region of which it is the first part, or the last."""

    part: Markup
    kept: bool
    begun: _Region | None
    ended: _Region | None
    told: bool
    """Whether the attributes of the tag are translated."""


def _seen(text: str) -> Iterator[_Seen]:
    """The parts of a page: what an element says holds for all in it, until one inside says otherwise."""
    elements = Elements()
    regions: list[_Region] = []
    for part in read_markup(text, html=True, elements=elements):
        ended = None
        while regions and not elements.has(regions[-1].at):
            ended = regions.pop()
        around = regions[-1] if regions else PAGE
        if part.sort not in ("start", "empty"):
            if ended and (part.name != ended.name or len(elements) != ended.at):  # the tag of another element
                ended = None
            yield _Seen(part, around.kept, None, ended, told=False)
            continue
        wish = None if around.always else _wish(text[part.start : part.end])
        told = not around.kept if wish is None else wish
        begun = None
        if elements.opens(part.sort, part.name) and not around.always:
            always = part.name in SKIPPED or part.name in KEPT
            if always or told == around.kept:
                begun = _Region(len(elements), part.name, always or not told, always)
                regions.append(begun)
        kept = (begun or around).kept
        yield _Seen(part, kept, begun, None, told and part.name not in ("script", "style"))


def _wish(tag: str) -> bool | None:
    """Whether a tag asks for translation; None if it does not say."""
    if "translate" not in tag.lower():
        return None
    values = _values(tag)
    if values.get("translate") == "no" or "notranslate" in values.get("class", "").split():
        return False
    return True if values.get("translate") in ("", "yes") else None


def _values(tag: str) -> dict[str, str]:
    """The attributes of a tag, for comparing them with words that the standard knows."""
    return {name: tag[start:end].strip().lower() for name, (start, end) in attributes(tag).items()}


def _readable(text: str) -> Iterator[Markup]:
    """The parts of a page, less what nobody reads; what is kept inside a sentence is one part.

    An element is inside a sentence only if its own end tag closes it: it can be moved as a whole.
    """
    start, root = -1, None
    for seen in _seen(text):
        part = seen.part
        if start >= 0 and not seen.kept:
            whole = seen.ended is not None and seen.ended is root and part.name in MOVABLE
            end = part.end if seen.ended else part.start
            yield Markup("kept" if whole else "cut", start, end, part.name)
            start = -1
            if seen.ended:
                continue
        if not seen.kept:
            yield part
        elif start < 0:
            start, root = part.start, seen.begun
    if start >= 0:
        yield Markup("cut", start, len(text))


def _whole_pictures(text: str, parts: Iterator[Markup]) -> Iterator[Markup]:
    """The same parts, with each <picture> that holds nothing but pictures as one that is kept."""
    held: list[Markup] = []
    for part in parts:
        if held and part.sort == "end" and part.name == "picture":
            yield Markup("kept", held[0].start, part.end, "picture")
            held = []
        elif held and _of_picture(text, part):
            held.append(part)
        else:
            yield from held
            held = [part] if part.sort == "start" and part.name == "picture" else []
            yield from () if held else (part,)
    yield from held


def _of_picture(text: str, part: Markup) -> bool:
    if part.sort == "text":
        return text[part.start : part.end].isspace()
    return part.sort == "start" and part.name in OF_PICTURE


def _attributes(text: str) -> Template:
    spelling = Spelling(text, xml=False)
    spans: list[Span] = []
    for part, *_, told in _seen(text):
        tag = text[part.start : part.end] if told else ""
        if "=" not in tag:
            continue
        found = attributes(tag)
        names = [*TEXTS, *_more_texts(part.name, tag)]
        for start, end in sorted(found[name] for name in names if name in found):
            span = _value(text, part.start + start, part.start + end, spelling)
            spans += [] if span is None else [span]
    return cut(text, spans)


def _more_texts(name: str, tag: str) -> tuple[str, ...]:
    """Attributes that are text in some elements only."""
    if name in ("optgroup", "option", "track"):
        return ("label",)
    if name == "input":
        return ("value",) if _values(tag).get("type") in BUTTONS else ()
    if name == "meta":
        values = _values(tag)
        return ("content",) if ABOUT & {values.get("name"), values.get("property")} else ()
    return ()


def _value(text: str, start: int, end: int, spelling: Spelling) -> Span | None:
    quote = text[start - 1] if text[start - 1] in "\"'" else ""
    raw = text[start:end].strip()
    words = " ".join(plain(raw, xml=False, entity=IN_VALUE).split())
    if not text.startswith(quote, end) or not any(map(str.isalnum, words)):
        return None
    start += text[start:end].index(raw)

    def write(translation: str) -> str:
        written = spelling.in_quotes(translation, quote or '"')
        return written if quote or BARE.fullmatch(translation) else f'"{written}"'

    return Span(start, start + len(raw), Slot(words, unless_same(words, raw, write)))
