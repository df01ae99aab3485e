"""A document as what stays and what is translated."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

SlotWriter = Callable[[str], str]
"""What stands in the document, given the translation of a text."""


LINE_AND_COLUMN_BREAKS = re.compile(r"[\t\r\n]+")


@dataclass(frozen=True)
class Slot:
    """A place of the document that depends on the translation of a text."""

    text: str
    write: SlotWriter


@dataclass(frozen=True)
class Template:
    """What stays as it is, and slots, in the order of the document."""

    parts: Sequence[str | Slot]

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(part.text for part in self.parts if isinstance(part, Slot))

    def render(self, translations: Sequence[str]) -> str:
        return self.join(self.render_slots(translations))

    def render_slots(self, translations: Sequence[str]) -> list[str]:
        """What stands in each slot."""
        slots = [part for part in self.parts if isinstance(part, Slot)]
        return [slot.write(new) for slot, new in zip(slots, translations, strict=True)]

    def join(self, written: Iterable[str]) -> str:
        """The document, given what stands in each slot."""
        left = iter(written)
        return "".join(part if isinstance(part, str) else next(left) for part in self.parts)


@dataclass(frozen=True)
class LayeredTemplate:
    """Texts inside what is markup to other texts (a tooltip in the tag of a link): filled first, and
    then the outer texts are taken from the result."""

    inner: Template
    outer: Template
    read_outer: Callable[[str], Template]

    @property
    def segments(self) -> tuple[str, ...]:
        return self.outer.segments + self.inner.segments

    def render(self, translations: Sequence[str]) -> str:
        border = len(self.outer.segments)
        outer = self.outer
        if self.inner.segments:
            outer = self.read_outer(self.inner.render(translations[border:]))
        if len(outer.segments) != border:  # a tooltip that turned into markup: rather leave it as it was
            outer = self.outer
        return outer.render(translations[:border])


@dataclass(frozen=True)
class CharsetTemplate:
    """A document that says its charset between two templates: once a letter beyond ASCII is written, it
    must say another, or nobody can read it."""

    before: Template
    declared_charset: str
    replacement_charset: str
    after: Template

    @property
    def segments(self) -> tuple[str, ...]:
        return self.before.segments + self.after.segments

    def render(self, translations: Sequence[str]) -> str:
        border = len(self.before.segments)
        before = self.before.render_slots(translations[:border])
        after = self.after.render_slots(translations[border:])
        said = self.declared_charset if all(map(str.isascii, [*before, *after])) else self.replacement_charset
        return self.before.join(before) + said + self.after.join(after)


DocumentTemplate = Template | LayeredTemplate | CharsetTemplate


@dataclass(frozen=True)
class SlotSpan:
    """A text that is replaced where it stands: characters `start` to `end` of the document."""

    start: int
    end: int
    slot: Slot


def build_template(
    document: str, spans: Iterable[SlotSpan], start: int = 0, end: int | None = None
) -> Template:
    """The template of a document, or of its characters `start` to `end`, whose spans, in order, are
    replaced, and nothing else."""
    parts: list[str | Slot] = []
    done = start
    for span in spans:
        parts += [document[done : span.start], span.slot]
        done = span.end
    return Template([*parts, document[done:end]])


def plain_text_span(document: str, start: int, end: int, write: SlotWriter | None = None) -> SlotSpan | None:
    """The span of a text without markup, less the white space around it; None where that is all."""
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
    """Where the translation is the text itself, the document's own spelling stays."""
    return lambda translation: original if translation == text else write(translation)


def to_single_line(translation: str) -> str:
    """The translation without what would start another line or column."""
    return LINE_AND_COLUMN_BREAKS.sub(" ", translation).strip()
