"""A document: its texts, and its content with translations in their place."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from regard.documents.encoding import DocumentEncoding, drop_characters_forbidden_in_xml
from regard.documents.message_template import MessageTemplate
from regard.documents.template import CharsetTemplate, LayeredTemplate, Slot, Template
from regard.errors import DataError

DocumentTemplate = Template | LayeredTemplate | CharsetTemplate | MessageTemplate


@runtime_checkable
class DocumentContent(Protocol):
    """The content of a document of some format, with its texts."""

    @property
    def slots(self) -> Sequence[Slot]: ...

    def render(self, translations: Sequence[str]) -> bytes: ...

    def unsafe_segments(self, translations: Sequence[str]) -> list[int]:
        """Return the indices of translations that `render` leaves out."""
        ...


@dataclass(frozen=True)
class TextContent:
    """The content of a document that is one text file."""

    name: str
    template: DocumentTemplate
    encoding: DocumentEncoding

    @property
    def slots(self) -> Sequence[Slot]:
        return self.template.slots

    def render(self, translations: Sequence[str]) -> bytes:
        return self.encoding.to_bytes(self.template.render(translations), self.name)

    def unsafe_segments(self, translations: Sequence[str]) -> list[int]:
        return (
            self.template.unsafe_segments(translations) if isinstance(self.template, MessageTemplate) else []
        )


@dataclass(frozen=True)
class Document:
    """A parsed document: everything outside the translated segments is written back unchanged."""

    name: str
    segments: Sequence[str]
    """The texts to translate, in order, without markup and surrounding white space."""
    content: DocumentContent
    is_xml: bool = False

    def find_missing_placeholders(self, translations: Sequence[str]) -> list[Sequence[str]]:
        """Return the placeholders that each translation lacks: `render` puts them back by guess."""
        return [slot.find_missing(text) for slot, text in zip(self.content.slots, translations, strict=True)]

    def unsafe_segments(self, translations: Sequence[str]) -> list[int]:
        """Return the indices of translations that `render` leaves out: they would break their message."""
        return self.content.unsafe_segments(translations)

    def render(self, translations: Sequence[str], report: Callable[[str], object] = warnings.warn) -> bytes:
        """Return the document with a translation in place of each segment.

        Characters that the format cannot contain are dropped, which `report` is told.
        """
        if len(translations) != len(self.segments):
            raise DataError(
                f"{self.name} has {len(self.segments)} texts and {len(translations)} translations; "
                "there must be one for each"
            )
        if self.is_xml:
            translations = drop_characters_forbidden_in_xml(translations, self.name, report)
        return self.content.render(translations)
