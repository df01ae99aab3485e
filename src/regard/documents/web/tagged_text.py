"""Text with XML tags that need not be a whole document: which tags end a segment, and which are copied."""

from collections.abc import Iterator
from dataclasses import dataclass

from regard.documents.markup_alignment import place_markup, segment_slot
from regard.documents.segments import InlineFragment, InlineKind, build_segment
from regard.documents.template import SlotSpan, Template, build_template
from regard.documents.web.entities import EntityEscaper, split_entities, unescape_entities
from regard.documents.web.html_tokens import MarkupToken, scan_markup

Run = list[tuple[int, int, InlineFragment]]


@dataclass(frozen=True)
class XmlTags:
    """What is done about tags, by their names."""

    ignored: frozenset[str] = frozenset()
    """Elements that are copied with their content."""
    splitting: frozenset[str] = frozenset()
    """Elements that are segments of their own."""
    inline: frozenset[str] = frozenset()
    """Elements inside a segment."""
    detect_outline: bool = True
    """Whether any other element that stands beside no text is a segment of its own; else it is inside one."""


DEFAULT_TAGS = XmlTags()


def read_tagged_text(text: str, tags: XmlTags) -> Template:
    """Return the template of the texts between the tags that end a segment."""
    escaper = EntityEscaper(text, xml=True)
    spans = (_run_span(text, run, escaper) for run in _inline_runs(text, tags))
    return build_template(text, [span for span in spans if span is not None])


def _run_span(text: str, run: Run, escaper: EntityEscaper) -> SlotSpan | None:
    segment = build_segment(fragment for _, _, fragment in run)
    if segment is None:
        return None
    start, end = run[0][0] + segment.lead_length, run[-1][1] - segment.tail_length

    def write(translation: str) -> str:
        parts = place_markup(segment, translation)
        return "".join(part.text if part.is_raw else escaper(part.text) for part in parts)

    return SlotSpan(start, end, segment_slot(segment, text[start:end], write))


def _inline_runs(text: str, tags: XmlTags) -> Iterator[Run]:
    """Yield the runs of text and inline tags between the tags that end a segment."""
    tokens = list(_merge_ignored(scan_markup(text, html=False), tags.ignored))
    run: Run = []
    for token, is_beside_text in zip(tokens, _find_text_beside(text, tokens), strict=True):
        raw = text[token.start : token.end]
        if token.kind == "text":
            run += [(token.start, token.end, each) for each in split_entities(raw, xml=True)]
        elif token.kind == "protected":
            words = " ".join(unescape_entities(_without_tags(raw), xml=True).split())
            run.append((token.start, token.end, InlineFragment(InlineKind.PROTECTED, raw, words)))
        elif token.name and _is_inline(token.name, is_beside_text, tags):
            run.append((token.start, token.end, InlineFragment(_kind(token), raw)))
        elif token.kind == "other" and raw.startswith("<!--"):
            run.append((token.start, token.end, InlineFragment(InlineKind.STANDALONE, raw)))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _is_inline(name: str, is_beside_text: bool, tags: XmlTags) -> bool:
    if name in tags.splitting:
        return False
    return name in tags.inline or is_beside_text or not tags.detect_outline


def _kind(token: MarkupToken) -> InlineKind:
    if token.kind == "empty":
        return InlineKind.STANDALONE
    return InlineKind.CLOSE if token.kind == "end" else InlineKind.OPEN


def _without_tags(raw: str) -> str:
    return "".join(raw[each.start : each.end] for each in scan_markup(raw, html=False) if each.kind == "text")


def _merge_ignored(tokens: Iterator[MarkupToken], ignored: frozenset[str]) -> Iterator[MarkupToken]:
    """Yield each ignored element as one token; one without an end reaches to the end of the text."""
    start, name, depth, end = 0, "", 0, 0
    for token in tokens:
        if depth:
            depth += (token.name == name) * ((token.kind == "start") - (token.kind == "end"))
            end = token.end
            if not depth:
                yield MarkupToken("protected", start, end, name)
        elif token.name in ignored and token.kind in ("start", "empty"):
            start, name, end = token.start, token.name, token.end
            if token.kind == "empty":
                yield MarkupToken("protected", start, end, name)
            else:
                depth = 1
        else:
            yield token
    if depth:
        yield MarkupToken("protected", start, end, name)


def _find_text_beside(text: str, tokens: list[MarkupToken]) -> list[bool]:
    """Return for each token whether the element around it has text of its own."""
    parents: list[int] = []
    has_text = [False]
    stack = [(0, "")]
    for token in tokens:
        if token.kind == "end" and any(name == token.name for _, name in stack[1:]):
            while stack.pop()[1] != token.name:
                pass
        parents.append(stack[-1][0])
        if token.kind == "text" and not text[token.start : token.end].isspace():
            has_text[stack[-1][0]] = True
        if token.kind == "start":
            stack.append((len(has_text), token.name))
            has_text.append(False)
    return [has_text[parent] for parent in parents]
