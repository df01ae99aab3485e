"""HTML: what a reader reads, in the tags it stands in."""

import re
from collections.abc import Iterator

from regard.text.documents.entities import Spelling, pieces_of, plain
from regard.text.documents.marked import marked
from regard.text.documents.markup import Markup, attributes, read_markup
from regard.text.documents.pieces import Kind, Piece
from regard.text.documents.placing import placed
from regard.text.documents.template import Layers, Slot, Span, Template, cut, unless_same

DECLARED = re.compile(rb"""<meta[^>]*?charset\s*=\s*["']?\s*(?P<page>[A-Za-z0-9_.:-]+)""", re.IGNORECASE)
INLINE = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font", "i"),
        *("img", "ins", "label", "mark", "q", "s", "small", "span", "strike", "strong", "sub", "sup", "time"),
        *("tt", "u", "wbr"),
    )
)
"""Elements inside a sentence; all others end it, <br> too."""
KEPT = frozenset(("code", "kbd", "samp", "var"))
"""Elements inside a sentence whose text is not translated, but is read by who translates."""
SKIPPED = frozenset(
    ("script", "style", "pre", "textarea", "svg", "math", "template", "xmp", "iframe", "object")
)
VOID = frozenset(
    (
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source"),
        *("track", "wbr"),
    )
)
TEXTS = ("alt", "title", "placeholder", "aria-label")
"""Attributes that are text."""


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
    for part in _readable(text):
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
        words = re.sub(r"<[^>]*>", "", raw)
        return iter((Piece(Kind.KEPT, raw, " ".join(plain(words, xml=False).split())),))
    if part.name not in INLINE:
        return None
    kind = Kind.CLOSE if part.sort == "end" else Kind.ALONE if part.name in VOID else Kind.OPEN
    return iter((Piece(kind, raw),))


def _readable(text: str) -> Iterator[Markup]:
    """The parts of a page, less what nobody reads; what is kept inside a sentence is one part."""
    closing, depth, opened = "", 0, None
    for part in read_markup(text, html=True):
        if opened is not None:
            depth += (part.name == closing) * {"start": 1, "end": -1}.get(part.sort, 0)
            if not depth:
                inside = closing in KEPT or closing in INLINE
                yield Markup("kept" if inside else "other", opened.start, part.end)
                opened = None
        elif part.sort == "start" and part.name not in VOID and _stays(text, part):
            opened, closing, depth = part, part.name, 1
        else:
            yield part


def _stays(text: str, part: Markup) -> bool:
    if part.name in SKIPPED or part.name in KEPT:
        return True
    tag = text[part.start : part.end]
    if "translate" not in tag:
        return False
    values = {name: tag[start:end].lower() for name, (start, end) in attributes(tag).items()}
    return values.get("translate") == "no" or "notranslate" in values.get("class", "").split()


def _attributes(text: str) -> Template:
    spelling = Spelling(text, xml=False)
    spans: list[Span] = []
    for part in _readable(text):
        if part.sort != "start":
            continue
        found = attributes(text[part.start : part.end])
        for start, end in sorted(found[name] for name in TEXTS if name in found):
            span = _value(text, part.start + start, part.start + end, spelling)
            spans += [] if span is None else [span]
    return cut(text, spans)


def _value(text: str, start: int, end: int, spelling: Spelling) -> Span | None:
    quote = text[end : end + 1]
    words = plain(text[start:end], xml=False).strip()
    if quote not in ('"', "'") or not any(map(str.isalnum, words)):
        return None

    def write(translation: str) -> str:
        return spelling.in_quotes(translation, quote)

    return Span(start, end, Slot(words, unless_same(words, text[start:end], write)))
