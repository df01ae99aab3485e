"""Templates: the fixed text of a document and the slots that translations fill."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

SlotWriter = Callable[[str], str]
"""Maps the translation of a text to its spelling in the document."""


LINE_AND_COLUMN_BREAKS = re.compile(r"[\t\r\n]+")


@dataclass(frozen=True)
class Slot:
    """A place in the document that is filled from the translation of `text`."""

    text: str
    write: SlotWriter


@dataclass(frozen=True)
class Template:
    """Fixed strings and slots in document order."""

    parts: Sequence[str | Slot]

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(part.text for part in self.parts if isinstance(part, Slot))

    def render(self, translations: Sequence[str]) -> str:
        return self.join(self.render_slots(translations))

    def render_slots(self, translations: Sequence[str]) -> list[str]:
        """Return the content of each slot."""
        slots = [part for part in self.parts if isinstance(part, Slot)]
        return [slot.write(new) for slot, new in zip(slots, translations, strict=True)]

    def join(self, contents: Iterable[str]) -> str:
        """Return the document with these contents in its slots."""
        remaining = iter(contents)
        return "".join(part if isinstance(part, str) else next(remaining) for part in self.parts)


@dataclass(frozen=True)
class LayeredTemplate:
    """Texts nested in the markup of other texts (a tooltip in the tag of a link).

    The inner template is rendered first; the outer texts are read from the result.
    """

    inner: Template
    outer: Template
    read_outer: Callable[[str], Template]

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
    def segments(self) -> tuple[str, ...]:
        return self.before.segments + self.after.segments

    def render(self, translations: Sequence[str]) -> str:
        before_count = len(self.before.segments)
        before = self.before.render_slots(translations[:before_count])
        after = self.after.render_slots(translations[before_count:])
        charset = (
            self.declared_charset if all(map(str.isascii, [*before, *after])) else self.replacement_charset
        )
        return self.before.join(before) + charset + self.after.join(after)


@dataclass(frozen=True)
class SlotSpan:
    """A slot that replaces characters `start` to `end` of the document."""

    start: int
    end: int
    slot: Slot


def build_template(
    document: str, spans: Iterable[SlotSpan], start: int = 0, end: int | None = None
) -> Template:
    """Return the template of characters `start` to `end` of a document, with slots at the ordered spans."""
    parts: list[str | Slot] = []
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
