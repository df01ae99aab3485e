"""gettext reader (.po, .pot): fills in the messages without a translation."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from regard.documents.localization.message import message_slot
from regard.documents.template import CharsetTemplate, ReviewMark, Slot, SlotSpan, Template, build_template
from regard.errors import DataError
from regard.text.pair_formats.po_pairs import (
    CHARSET,
    FUZZY_FLAG,
    KEYWORD,
    QUOTED_STRING,
    UNSET_CHARSETS,
    singular_form_index,
    unescape_po,
)

LINE = re.compile(r"[^\n]*\n|[^\n]+")
CHARACTER_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\a": "\\a",
    "\b": "\\b",
}
CHARACTER_ESCAPES |= {"\f": "\\f", "\v": "\\v"}
CONTENT_TYPE = re.compile(r'Content-Type:[^"\\]*')
LINE_WIDTH = 79  # columns at which gettext's own tools wrap


@dataclass
class _PoField:
    """A keyword with its quoted strings and their position."""

    keyword: str
    plural_index: int | None
    start: int
    end: int
    raw: list[str]

    @property
    def value(self) -> str:
        return "".join(map(unescape_po, self.raw))


@dataclass
class _PoEntry:
    line: int
    start: int
    """Of its first line, after the comments."""
    flags: list[tuple[int, str]] = field(default_factory=list)
    """The lines of flags before it, with their positions."""
    fields: dict[str, _PoField] = field(default_factory=dict)
    translations: list[_PoField] = field(default_factory=list)


def read_po(text: str, name: str, overwrite: bool) -> Template | CharsetTemplate:
    """Return the template of messages without a translation; with `overwrite`, of all messages."""
    entries = list(_entries(text, name))
    header = next((entry.translations[0] for entry in entries if not entry.fields["msgid"].value), None)
    singular = _singular_index(header, name)
    newline = "\r\n" if "\r\n" in text else "\n"
    spans: list[SlotSpan] = []
    for entry in entries:
        if entry.fields["msgid"].value and (overwrite or not any(form.value for form in entry.translations)):
            forms = list(_entry_spans(entry, singular, newline))
            spans += [*_fuzzy_mark(entry, [slot for _, slot in forms], newline), *(span for span, _ in forms)]
    charset = _charset_replacement(text, header, newline)
    if charset is None:
        return build_template(text, spans)
    start, end, replacement = charset
    before = build_template(text, [span for span in spans if span.end <= start], end=start)
    after = build_template(text, [span for span in spans if span.start >= end], start=end)
    return CharsetTemplate(before, text[start:end], replacement, after)


def _entry_spans(entry: _PoEntry, singular: int | None, newline: str) -> Iterator[tuple[SlotSpan, Slot]]:
    """Yield the slots of all forms of a message."""
    for form in entry.translations:
        source = entry.fields["msgid"]
        if "msgid_plural" in entry.fields and form.plural_index != singular:
            source = entry.fields["msgid_plural"]
        if (slot := _message_slot(source, newline)) is not None:
            yield SlotSpan(form.start, form.end, slot), slot


def _fuzzy_mark(entry: _PoEntry, slots: list[Slot], newline: str) -> Iterator[SlotSpan]:
    """Yield the flag for translators, unless it is set: programs do not use a fuzzy message."""
    if not slots or any(FUZZY_FLAG.search(line) for _, line in entry.flags):
        return
    if entry.flags:
        start, line = entry.flags[-1]
        place = start + line.index("#,") + len("#,")
        yield SlotSpan(place, place, ReviewMark(tuple(slots), " fuzzy,"))
    else:
        yield SlotSpan(entry.start, entry.start, ReviewMark(tuple(slots), f"#, fuzzy{newline}"))


def _entries(text: str, name: str) -> Iterator[_PoEntry]:
    entry: _PoEntry | None = None
    current: _PoField | None = None
    flags: list[tuple[int, str]] = []
    place = 0
    for number, line in enumerate(LINE.findall(text), 1):
        content = line.strip()
        if not content or content.startswith("#"):
            current = None
            flags += [(place, line)] if content.startswith("#,") else []
            flags = [] if content.startswith("#~") else flags  # those of an obsolete message
        elif keyword := KEYWORD.fullmatch(content):
            start = place + line.index(content) + keyword.start(3)
            word = keyword[1].partition("[")[0]
            current = _PoField(word, int(keyword[2]) if keyword[2] else None, start, start, [])
            if entry is None or word == "msgctxt" or (word == "msgid" and "msgid" in entry.fields):
                if entry is not None:
                    yield _require_complete(entry, name)
                entry, flags = _PoEntry(number, place, flags), []
            if word == "msgstr":
                entry.translations.append(current)
            else:
                entry.fields[word] = current
            content = keyword[3]
        elif current is None or not content.startswith('"'):
            raise DataError(f'{name} line {number} is neither a comment, nor msgid, nor "text"')
        if current is not None:
            string = QUOTED_STRING.fullmatch(content)
            if string is None:
                raise DataError(f'{name} line {number} is not a quoted string; write a " inside it as \\"')
            current.raw.append(string[1])
            current.end = place + line.index(content) + len(content)
        place += len(line)
    if entry is not None:
        yield _require_complete(entry, name)


def _require_complete(entry: _PoEntry, name: str) -> _PoEntry:
    if "msgid" not in entry.fields or not entry.translations:
        missing = "msgstr" if "msgid" in entry.fields else "msgid"
        raise DataError(f"{name} line {entry.line} starts a message without {missing}")
    return entry


def _charset_replacement(text: str, header: _PoField | None, newline: str) -> tuple[int, int, str] | None:
    """Return the span of an ASCII or missing charset declaration in the header, and its replacement."""
    if header is None:
        return None
    declaration = CHARSET.search(text, header.start, header.end)
    if declaration is not None:
        return (*declaration.span(1), "UTF-8") if declaration[1].lower() in UNSET_CHARSETS else None
    if CHARSET.search(header.value):  # split over two strings
        return None
    if content := CONTENT_TYPE.search(text, header.start, header.end):
        return content.end(), content.end(), "; charset=UTF-8"
    begin = "" if header.value.endswith("\n") or not header.value else "\\n"
    return header.end, header.end, f'{newline}"{begin}Content-Type: text/plain; charset=UTF-8\\n"'


def _singular_index(header: _PoField | None, name: str) -> int | None:
    """Return the index of the singular form by the rule in the header; None if there is only one form."""
    value = header.value if header else ""
    charset = CHARSET.search(value)
    if charset and charset[1].lower() not in ("utf-8", "utf8", *UNSET_CHARSETS):
        raise DataError(f"{name} is in charset {charset[1]}; convert it: msgconv --to-code=UTF-8 {name}")
    return singular_form_index(value)


def _message_slot(source: _PoField, newline: str) -> Slot | None:
    original = newline.join(f'"{raw}"' for raw in source.raw)
    wrap = len(source.raw) > 1
    return message_slot(source.value, original, lambda message: _quote_message(message, newline, wrap))


def _quote_message(message: str, newline: str, wrap: bool) -> str:
    """Quote a message: on one line if its source is, else wrapped like gettext's tools."""
    if not wrap:
        return f'"{_escape(message)}"'
    rows = [""]
    for line in LINE.findall(message):
        row = ""
        for word in re.findall(r"\S*\s*", line):
            if row and len(_escape(row + word.rstrip(" "))) > LINE_WIDTH - 2:
                rows.append(row)
                row = ""
            row += word
        rows.append(row)
    if len(rows) == 2 and "\n" not in message[:-1]:
        rows = rows[1:]
    return newline.join(f'"{_escape(row)}"' for row in rows)


def _escape(text: str) -> str:
    return text.translate(str.maketrans(CHARACTER_ESCAPES))
