"""Documents in a zip archive: the parts with text, and the archive with their translations."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from regard.documents.encoding import XML_CHARSET, DocumentEncoding, decode_document
from regard.documents.localization.xml_tree import check_xml
from regard.documents.office.archive import DocumentArchive
from regard.documents.template import Slot

DIGITS = re.compile(r"(\d+)")


@runtime_checkable
class TextTemplate(Protocol):
    """A text with segments."""

    @property
    def slots(self) -> Sequence[Slot]: ...

    @property
    def segments(self) -> Sequence[str]: ...

    def render(self, translations: Sequence[str]) -> str: ...


@dataclass(frozen=True)
class DocumentPart:
    """A member of the archive with text to translate."""

    member_name: str
    template: TextTemplate
    encoding: DocumentEncoding
    is_changed: bool = False
    """Whether it differs from the member without any translation."""


@dataclass(frozen=True)
class OfficeDocument:
    """A document in a zip archive; members without a changed text are copied as they are."""

    archive: DocumentArchive
    parts: Sequence[DocumentPart]

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(slot for part in self.parts for slot in part.template.slots)

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(text for part in self.parts for text in part.template.segments)

    def unsafe_segments(self, translations: Sequence[str]) -> list[int]:  # noqa: ARG002
        """Return nothing: no translation can break the document."""
        return []

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the archive with a translation in place of each segment."""
        contents: dict[str, bytes] = {}
        done = 0
        for part in self.parts:
            segments = part.template.segments
            new = list(translations[done : done + len(segments)])
            done += len(segments)
            if new != list(segments) or part.is_changed:
                name = f"{self.archive.name}: {part.member_name}"
                contents[part.member_name] = part.encoding.to_bytes(part.template.render(new), name)
        return self.archive.replace(contents)


def read_xml_member(archive: DocumentArchive, member_name: str) -> tuple[str, DocumentEncoding]:
    """Return the text of an XML member after checking that it is well-formed and declares no entities."""
    name = f"{archive.name}: {member_name}"
    text, encoding = decode_document(archive.read(member_name), name, XML_CHARSET)
    check_xml(text, name)
    return text, encoding


def natural_order(member_name: str) -> tuple[tuple[int, str], ...]:
    """Return a sorting key that puts slide2 before slide10."""
    parts = DIGITS.split(member_name)
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in parts)
