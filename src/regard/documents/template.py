"""A document as what stays and what is translated."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Writer = Callable[[str], str]
"""What stands in the document, given the translation of a text."""


BREAKS = re.compile(r"[\t\r\n]+")


@dataclass(frozen=True)
class Slot:
    """A place of the document that depends on the translation of a text."""

    text: str
    write: Writer


@dataclass(frozen=True)
class Template:
    """What stays as it is, and slots, in the order of the document."""

    parts: Sequence[str | Slot]

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(part.text for part in self.parts if isinstance(part, Slot))

    def filled(self, translations: Sequence[str]) -> str:
        return self.joined(self.written(translations))

    def written(self, translations: Sequence[str]) -> list[str]:
        """What stands in each slot."""
        slots = [part for part in self.parts if isinstance(part, Slot)]
        return [slot.write(new) for slot, new in zip(slots, translations, strict=True)]

    def joined(self, written: Iterable[str]) -> str:
        """The document, given what stands in each slot."""
        left = iter(written)
        return "".join(part if isinstance(part, str) else next(left) for part in self.parts)


@dataclass(frozen=True)
class Layers:
    """Texts inside what is markup to other texts (a tooltip in the tag of a link): filled first, and
    then the outer texts are taken from the result."""

    inner: Template
    outer: Template
    read_outer: Callable[[str], Template]

    @property
    def segments(self) -> tuple[str, ...]:
        return self.outer.segments + self.inner.segments

    def filled(self, translations: Sequence[str]) -> str:
        border = len(self.outer.segments)
        outer = self.outer
        if self.inner.segments:
            outer = self.read_outer(self.inner.filled(translations[border:]))
        if len(outer.segments) != border:  # a tooltip that turned into markup: rather leave it as it was
            outer = self.outer
        return outer.filled(translations[:border])


@dataclass(frozen=True)
class Declared:
    """A document that says its charset between two templates: once a letter beyond ASCII is written, it
    must say another, or nobody can read it."""

    before: Template
    said: str
    instead: str
    after: Template

    @property
    def segments(self) -> tuple[str, ...]:
        return self.before.segments + self.after.segments

    def filled(self, translations: Sequence[str]) -> str:
        border = len(self.before.segments)
        before = self.before.written(translations[:border])
        after = self.after.written(translations[border:])
        said = self.said if all(map(str.isascii, [*before, *after])) else self.instead
        return self.before.joined(before) + said + self.after.joined(after)


Fillable = Template | Layers | Declared


@dataclass(frozen=True)
class Span:
    """A text that is replaced where it stands: characters `start` to `end` of the document."""

    start: int
    end: int
    slot: Slot


def cut(document: str, spans: Iterable[Span], start: int = 0, end: int | None = None) -> Template:
    """The template of a document, or of its characters `start` to `end`, whose spans, in order, are
    replaced, and nothing else."""
    parts: list[str | Slot] = []
    done = start
    for span in spans:
        parts += [document[done : span.start], span.slot]
        done = span.end
    return Template([*parts, document[done:end]])


def plain_span(document: str, start: int, end: int, spell: Writer | None = None) -> Span | None:
    """The span of a text without markup, less the white space around it; None where that is all."""
    text = document[start:end]
    stripped = text.strip()
    if not stripped:
        return None
    start += len(text) - len(text.lstrip())
    return Span(
        start, start + len(stripped), Slot(stripped, unless_same(stripped, stripped, spell or one_line))
    )


def unless_same(text: str, original: str, write: Writer) -> Writer:
    """Where the translation is the text itself, the document's own spelling stays."""
    return lambda translation: original if translation == text else write(translation)


def one_line(translation: str) -> str:
    """The translation without what would start another line or column."""
    return BREAKS.sub(" ", translation).strip()
