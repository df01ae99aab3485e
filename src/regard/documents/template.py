"""Templates: the fixed text of a document and the slots that translations fill."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

SlotWriter = Callable[[str], str]
"""Maps the translation of a text to its spelling in the document."""


LINE_AND_COLUMN_BREAKS = re.compile(r"[\t\r\n]+")


def find_nothing(_: str) -> Sequence[str]:
    """Return no placeholders: a text without protected spans lacks none."""
    return ()


@dataclass(frozen=True)
class Slot:
    """A place in the document that is filled from the translation of `text`."""

    text: str
    write: SlotWriter
    find_missing: Callable[[str], Sequence[str]] = find_nothing
    """Maps a translation to the placeholders that it lacks; `write` puts them back by guess."""


@dataclass(frozen=True)
class ReviewMark:
    """A text that says that a placeholder in one of the slots was put back by guess."""

    slots: tuple[Slot, ...]
    marked: str
    unmarked: str = ""
    """What stands in its place if there was no need to guess."""


@dataclass(frozen=True)
class Template:
    """Fixed strings, slots and marks in document order; a mark is in the same template as its slots."""

    parts: Sequence[str | Slot | ReviewMark]

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(part for part in self.parts if isinstance(part, Slot))

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(slot.text for slot in self.slots)

    def render(self, translations: Sequence[str]) -> str:
        return "".join(self.render_parts(translations))

    def render_parts(self, translations: Sequence[str]) -> Iterator[str]:
        """Yield the fixed strings, and the content of each slot and mark."""
        texts = {id(slot): text for slot, text in zip(self.slots, translations, strict=True)}
        remaining = iter(translations)
        for part in self.parts:
            match part:
                case Slot():
                    yield part.write(next(remaining))
                case ReviewMark():
                    guessed = any(slot.find_missing(texts[id(slot)]) for slot in part.slots)
                    yield part.marked if guessed else part.unmarked
                case _:
                    yield part


@dataclass(frozen=True)
class LayeredTemplate:
    """Texts nested in the markup of other texts (a tooltip in the tag of a link).

    The inner template is rendered first; the outer texts are read from the result.
    """

    inner: Template
    outer: Template
    read_outer: Callable[[str], Template]

    @property
    def slots(self) -> tuple[Slot, ...]:
        return self.outer.slots + self.inner.slots

    @property
    def segments(self) -> tuple[str, ...]:
        return self.outer.segments + self.inner.segments

    def render(self, translations: Sequence[str]) -> str:
        outer_count = len(self.outer.segments)
        outer = self.outer
        if self.inner.segments:
            outer = self.read_outer(self.inner.render(translations[outer_count:]))
        if len(outer.segments) != outer_count:  # a tooltip turned into markup: drop it
            outer = self.outer
        return outer.render(translations[:outer_count])


@dataclass(frozen=True)
class CharsetTemplate:
    """A document whose ASCII charset declaration, between two templates, must change for other letters."""

    before: Template
    declared_charset: str
    replacement_charset: str
    after: Template

    @property
    def slots(self) -> tuple[Slot, ...]:
        return self.before.slots + self.after.slots

    @property
    def segments(self) -> tuple[str, ...]:
        return self.before.segments + self.after.segments

    def render(self, translations: Sequence[str]) -> str:
        before_count = len(self.before.segments)
        before = list(self.before.render_parts(translations[:before_count]))
        after = list(self.after.render_parts(translations[before_count:]))
        parts = chain(zip(self.before.parts, before, strict=True), zip(self.after.parts, after, strict=True))
        is_ascii = all(isinstance(part, str) or content.isascii() for part, content in parts)
        charset = self.declared_charset if is_ascii else self.replacement_charset
        return "".join([*before, charset, *after])


@dataclass(frozen=True)
class SlotSpan:
    """A slot or mark that replaces characters `start` to `end` of the document."""

    start: int
    end: int
    slot: Slot | ReviewMark


def build_template(
    document: str, spans: Iterable[SlotSpan], start: int = 0, end: int | None = None
) -> Template:
    """Return the template of characters `start` to `end` of a document, with slots at the ordered spans."""
    parts: list[str | Slot | ReviewMark] = []
    done = start
    for span in spans:
        parts += [document[done : span.start], span.slot]
        done = span.end
    return Template([*parts, document[done:end]])


def plain_text_span(document: str, start: int, end: int, write: SlotWriter | None = None) -> SlotSpan | None:
    """Return the span of a text without markup, stripped of white space; None if it is blank."""
    text = document[start:end]
    stripped = text.strip()
    if not stripped:
        return None
    start += len(text) - len(text.lstrip())
    return SlotSpan(
        start,
        start + len(stripped),
        Slot(stripped, keep_if_unchanged(stripped, stripped, write or to_single_line)),
    )


def keep_if_unchanged(text: str, original: str, write: SlotWriter) -> SlotWriter:
    """Keep the original spelling if the translation equals the source text."""
    return lambda translation: original if translation == text else write(translation)


def to_single_line(translation: str) -> str:
    """Replace tabs and line breaks by spaces, so that the text starts no new line or column."""
    return LINE_AND_COLUMN_BREAKS.sub(" ", translation).strip()
