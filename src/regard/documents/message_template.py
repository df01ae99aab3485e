"""Template of a document of messages, each with one or several texts (plural forms, paragraphs).

A message is written back only if its placeholders are those of the source; a program could fail on any
other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from regard.documents.template import Slot, SlotWriter


@runtime_checkable
class MessageContent(Protocol):
    """The texts of one message, and how they are put together."""

    @property
    def slots(self) -> Sequence[Slot]: ...

    def compose(self, contents: Sequence[str]) -> str:
        """Return the message with these contents in its slots."""
        ...

    def is_intact(self, message: str) -> bool:
        """Whether a message has the placeholders and the structure of the source."""
        ...


@dataclass(frozen=True)
class Message:
    """A message at characters `start` to `end` of the document; `write` spells another message."""

    start: int
    end: int
    content: MessageContent
    write: SlotWriter


@dataclass(frozen=True)
class Replacement:
    """Other fixed text for characters `start` to `end` of the document: the code of the language."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class MessageTemplate:
    """A document of messages; everything between them is unchanged."""

    document: str
    parts: Sequence[Message | Replacement]
    """Messages and replacements in document order."""

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(slot for message in self._messages() for slot in message.content.slots)

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(slot.text for slot in self.slots)

    def render(self, translations: Sequence[str]) -> str:
        remaining = iter(translations)
        rendered: list[str] = []
        done = 0
        for part in self.parts:
            original = self.document[part.start : part.end]
            if isinstance(part, Replacement):
                spelled = part.text
            else:
                message = _render_message(part, [next(remaining) for _ in part.content.slots])
                spelled = original if message is None else part.write(message)
            rendered += [self.document[done : part.start], spelled]
            done = part.end
        return "".join([*rendered, self.document[done:]])

    def unsafe_segments(self, translations: Sequence[str]) -> list[int]:
        """Return the indices of translations whose message would be broken; its source is kept."""
        unsafe: list[int] = []
        at = 0
        for message in self._messages():
            last = at + len(message.content.slots)
            contents = list(translations[at:last])
            if contents != [slot.text for slot in message.content.slots]:
                unsafe += range(at, last) if _render_message(message, contents) is None else ()
            at = last
        return unsafe

    def _messages(self) -> Iterator[Message]:
        return (part for part in self.parts if isinstance(part, Message))


def _render_message(message: Message, translations: Sequence[str]) -> str | None:
    """Return the message with its translations; None to keep the source: all are equal to it, or unsafe."""
    slots = message.content.slots
    if all(slot.text == translation for slot, translation in zip(slots, translations, strict=True)):
        return None
    rendered = message.content.compose(
        [slot.write(translation) for slot, translation in zip(slots, translations, strict=True)]
    )
    return rendered if message.content.is_intact(rendered) else None
