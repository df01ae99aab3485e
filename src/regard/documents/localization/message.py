"""Messages of a program: placeholders that it fills in, and the slot of one message.

The localization formats differ only in how they spell a message; this is what they have in common.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from regard.documents.markup_alignment import place_markup, segment_slot
from regard.documents.segments import (
    URL_OR_EMAIL,
    InlineFragment,
    InlineKind,
    Segment,
    TextSpan,
    build_segment,
    mark_text_spans,
    split_inline_tags,
)
from regard.documents.template import Slot, SlotWriter, keep_if_unchanged

PLACEHOLDER = re.compile(
    r"%%|%(?:\d+\$)?#@[\w.-]+@|%\d+\$[-+#0,(]*\d*(?:\.\d+)?(?:hh?|ll?|[Lqjzt])?[A-Za-z@]"
    r"|%(?:\d+\$)?(?:\([^()\s]+\))?[-+#0,]*(?:[1-9]\d*|\*)?(?:\.(?:\d+|\*))?"
    r"(?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGcrsaAp@](?![a-z])|%\d+"
    r"|[%$]?\{[^{}\s]*(?:\{[^{}\s]*\}[^{}\s]*)*\}"
    r"|\{\d+[,:][^{}]*\}|\{[^{}\s:]*:[^{}%]*%[-#]?[A-Za-z][^{}]*\}|\{\{[^{}]*\}\}"
)
"""A placeholder that a program fills in: %s, %(name)s, %1$d, %1, {name}, {n:,}, {x:>{width}}, {d:%d %B %Y},
{0:d MMM}, %#@count@, ${name}, %{name}, {{ name }}."""
PROTECTED_TEXT = re.compile(f"{URL_OR_EMAIL.pattern}|{PLACEHOLDER.pattern}")
"""URLs too, since what looks like a placeholder inside one (%20) is part of the URL."""


def message_slot(message: str, original: str, write_message: SlotWriter) -> Slot | None:
    """Return the slot of a message; None if it has no translatable text.

    `original` is the spelling of the message in the document, kept if the translation equals the source;
    `write_message` spells any other message.
    """
    slot = text_slot(message, message_fragments(message))
    if slot is None:
        return None
    write = keep_if_unchanged(slot.text, original, lambda translation: write_message(slot.write(translation)))
    return replace(slot, write=write)


def text_slot(
    source: str,
    fragments: Iterable[InlineFragment],
    placeholder: re.Pattern[str] = PLACEHOLDER,
    escape: SlotWriter = str,
) -> Slot | None:
    """Return the slot of a text in a message, filled with the spelling inside the message.

    `escape` spells text that is not copied from the source; `placeholder` has no groups.
    """
    segment = build_segment(fragments)
    if segment is None:
        return None
    lead, tail = source[: segment.lead_length], source[len(source) - segment.tail_length :]

    def write(translation: str) -> str:
        parts = place_markup(segment, drop_extra_placeholders(segment, translation, placeholder))
        return lead + "".join(part.text if part.is_raw else escape(part.text) for part in parts) + tail

    return segment_slot(segment, source, write)


def mark_message_codes(fragments: Iterable[InlineFragment]) -> Iterator[InlineFragment]:
    """Turn the tags and placeholders inside text fragments into fragments of their own.

    For messages in markup, where a tag may be spelled with entities: &lt;b&gt;.
    """
    return mark_text_spans(fragments, _find_message_codes)


def _find_message_codes(text: str) -> list[TextSpan]:
    spans: list[TextSpan] = []
    at = 0
    for fragment in message_fragments(text):
        if fragment.raw and fragment.kind is not InlineKind.TEXT:
            spans.append((at, at + len(fragment.raw), fragment.kind))
        at += len(fragment.raw)
    return spans


def message_fragments(value: str) -> Iterator[InlineFragment]:
    """Yield the fragments of a message: text, inline tags, placeholders, URLs and e-mail addresses."""
    for fragment in split_inline_tags(value):
        done, raw = 0, fragment.raw
        for match in PROTECTED_TEXT.finditer(raw) if fragment.kind is InlineKind.TEXT else ():
            yield InlineFragment(InlineKind.TEXT, raw[done : match.start()], raw[done : match.start()])
            yield InlineFragment(InlineKind.PROTECTED, match[0], match[0])
            done = match.end()
        yield InlineFragment(fragment.kind, raw[done:], fragment.text[done:])


def drop_extra_placeholders(
    segment: Segment, translation: str, placeholder: re.Pattern[str] = PLACEHOLDER
) -> str:
    """Drop placeholders that the source does not have as often: the program could fail on them."""
    protected = (segment.text[span.start : span.end] for span in segment.protected)
    remaining = Counter(match[0] for text in protected for match in placeholder.finditer(text))

    def keep(match: re.Match[str]) -> str:
        remaining[match[1]] -= 1
        return match[0] if remaining[match[1]] >= 0 else ""

    return re.sub(f" ?({placeholder.pattern})", keep, translation)
