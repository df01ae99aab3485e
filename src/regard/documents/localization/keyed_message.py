"""Messages of key-value files: the syntax of their placeholders, and the texts inside a message."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from regard.documents.localization.message import PLACEHOLDER, text_slot
from regard.documents.segments import INLINE_TAG, URL_OR_EMAIL, InlineFragment, InlineKind
from regard.documents.template import Slot

KEYED_PLACEHOLDER = re.compile(
    r"\$t\([^()]*(?:\([^()]*\)[^()]*)*\)"
    r"|@(?:\.\w+)?:(?:\w+(?:[.-]\w+)*|\{[^{}]*\}|\([^()\s]*\))"
    r"|%<\w+>[-+ 0#]?\d*(?:\.\d+)?[a-z]?"
    rf"|{PLACEHOLDER.pattern}"
    r"|\$?\{\s*[\w.$-]+\s*(?:,[^{}]*)?\}|\{\s*'[^']*'\s*\}"
    r"|%[-0^_]?(?:\d+\$)?[A-Za-z](?![A-Za-z])|%n"
)
"""Also $t(key) of i18next, @:key and {'@'} of vue-i18n, %<name>s of Ruby, {n, number} of ICU, %B of dates."""
CHROME_PLACEHOLDER = re.compile(rf"\$\w+\$|\$\d(?!\d)|{KEYED_PLACEHOLDER.pattern}")
"""Also $NAME$ of browser extensions."""
PROPERTIES_PLACEHOLDER = re.compile(rf"#\d(?!\d)|{KEYED_PLACEHOLDER.pattern}")
"""Also #1 of Mozilla's plural forms."""
NUMBERED_TAG = r"</?\d+\s*/?>"
"""A tag of react-i18next: <1>text</1>."""
PARAGRAPH_OR_PLURAL_BREAK = re.compile(r"\n[^\S\n]*\n\s*|(?<=[^\s|])\s*(?<!\|)\|(?!\|)\s*(?=[^\s|])")
"""Blank lines, and the bar between the plural forms of vue-i18n."""
MOZILLA_PLURAL_BREAK = re.compile(r"(?<=\S)\s*;\s*")
APOSTROPHE_BEFORE_ARGUMENT = re.compile(r"'(?=\{)")


@dataclass(frozen=True)
class PlainMessage:
    """A message of paragraphs and plural forms, with placeholders."""

    source: str
    parts: Sequence[str | Slot]
    placeholder: re.Pattern[str]

    @property
    def slots(self) -> Sequence[Slot]:
        return [part for part in self.parts if isinstance(part, Slot)]

    def compose(self, contents: Sequence[str]) -> str:
        remaining = iter(contents)
        message = "".join(part if isinstance(part, str) else next(remaining) for part in self.parts)
        if APOSTROPHE_BEFORE_ARGUMENT.search(self.source):
            return message
        return APOSTROPHE_BEFORE_ARGUMENT.sub("’", message)  # l'{name}: ICU would read a quoted brace

    def is_intact(self, message: str) -> bool:
        return self._syntax(message) == self._syntax(self.source)

    def _syntax(self, message: str) -> tuple[Counter[str], list[int]]:
        return count_placeholders(message, self.placeholder), [message.count(sign) for sign in "{}|"]


def read_plain_message(
    message: str,
    placeholder: re.Pattern[str] = KEYED_PLACEHOLDER,
    separator: re.Pattern[str] = PARAGRAPH_OR_PLURAL_BREAK,
) -> PlainMessage | None:
    """Return the paragraphs and plural forms of a message as texts; None if it has none to translate."""
    protected = [match.span() for match in _token_pattern(placeholder).finditer(message)]
    boundaries = [0]
    for match in separator.finditer(message):
        if not any(start < match.end() and match.start() < end for start, end in protected):
            boundaries += match.span()
    boundaries.append(len(message))
    parts: list[str | Slot] = []
    for at, (start, end) in enumerate(pairwise(boundaries)):
        text = message[start:end]
        slot = None if at % 2 else text_slot(text, keyed_fragments(text, placeholder), placeholder)
        parts.append(text if slot is None else slot)
    content = PlainMessage(message, parts, placeholder)
    return content if content.slots else None


def keyed_fragments(text: str, placeholder: re.Pattern[str]) -> Iterator[InlineFragment]:
    """Yield text, tags and placeholders; a placeholder may look like a tag, and a tag may contain one."""
    done = 0
    for match in _token_pattern(placeholder).finditer(text):
        yield InlineFragment(InlineKind.TEXT, *[text[done : match.start()]] * 2)
        yield token_fragment(match[0])
        done = match.end()
    yield InlineFragment(InlineKind.TEXT, *[text[done:]] * 2)


def token_fragment(token: str) -> InlineFragment:
    """Return the fragment of a tag, placeholder or URL."""
    if not token.startswith("<"):
        return InlineFragment(InlineKind.PROTECTED, token, token)
    if token.startswith("</"):
        return InlineFragment(InlineKind.CLOSE, token)
    return InlineFragment(InlineKind.STANDALONE if token[-2] == "/" else InlineKind.OPEN, token)


def count_placeholders(message: str, placeholder: re.Pattern[str]) -> Counter[str]:
    """Count the placeholders of a message, also those inside tags."""
    addresses_removed = URL_OR_EMAIL.sub(" ", message)
    return Counter(match[0] for match in placeholder.finditer(addresses_removed))


def token_alternatives(placeholder: re.Pattern[str]) -> str:
    """Return the pattern of all that is not text: tags, URLs, e-mail addresses, placeholders."""
    return f"{INLINE_TAG.pattern}|{NUMBERED_TAG}|{URL_OR_EMAIL.pattern}|{placeholder.pattern}"


@cache
def _token_pattern(placeholder: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(token_alternatives(placeholder))
