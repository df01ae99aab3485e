"""Sentence pairs in gettext files (.po): messages and their translations, and the syntax of such files."""

import codecs
import gettext
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from regard.errors import DataError
from regard.text.compression import ChunkCallback
from regard.text.corpus_files import CorpusUnit, RawRow
from regard.text.languages import Direction
from regard.text.lines import read_lines
from regard.text.pair_formats.units import (
    NO_ROW,
    PairOptions,
    encode_segment,
    is_reversed,
)
from regard.text.xml_parser import TEXT_CHARSETS

QUOTED_STRING = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*')
KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d+)\])?)\s*(".*)')
ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
ESCAPED_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
FUZZY_FLAG = re.compile(r"[,\s]fuzzy\s*(,|$)")
CHARSET = re.compile(r"charset=([\w-]*)")
UNSET_CHARSETS = ("", "charset", "us-ascii", "ascii")
"""Charsets of a header that was never filled in."""
LANGUAGE_FIELD = re.compile(r"^Language:[ \t]*([A-Za-z]{2,3}(?:[-_][A-Za-z]+)?)", re.MULTILINE)
PLURAL_RULE = re.compile(r"nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*([^;]+)")


def unescape_po(text: str) -> str:
    """Return the content of a quoted string."""
    return ESCAPE.sub(_unescape, text) if "\\" in text else text


def singular_form_index(header: str) -> int | None:
    """Return the index of the form for one thing by the rule in the header; None if all forms are one."""
    rule = PLURAL_RULE.search(header)
    if rule is None:
        return 0
    if rule[1] == "1":
        return None
    try:
        return gettext.c2py(rule[2].strip())(1)
    except ValueError:
        return 0


def read_po_units(
    path: Path, options: PairOptions, on_chunk: ChunkCallback | None = None
) -> Iterator[CorpusUnit]:
    """Yield each translation with its message; one that is empty or fuzzy is skipped.

    Of a message with plural forms, the form for one thing goes with `msgid`, each other one with
    `msgid_plural`. The number of a unit is the line of its translation.
    """
    singular: int | None = 0
    reverse = False
    for entry in _read_entries(path, on_chunk):
        if entry.is_header:
            singular = singular_form_index(entry.forms[0].text)
            reverse = is_reversed(str(path), _header_languages(entry), options)
            continue
        for form in entry.forms:
            is_plural = "msgid_plural" in entry.parts and form.index != singular
            message = entry.text("msgid_plural" if is_plural else "msgid")
            yield _make_unit(entry.is_fuzzy, form, message, reverse)


def find_po_languages(path: Path) -> Direction:
    """Return the language in the header of the file: that of the translations."""
    first = next(_read_entries(path, None), None)
    return (None, None) if first is None else _header_languages(first)


@dataclass
class _Form:
    """One `msgstr`."""

    line: int
    index: int | None
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.parts)


@dataclass
class _Entry:
    is_fuzzy: bool
    parts: dict[str, list[str]] = field(default_factory=dict)
    """The quoted strings of msgctxt, msgid and msgid_plural."""
    forms: list[_Form] = field(default_factory=list)

    @property
    def is_header(self) -> bool:
        return not self.text("msgid")

    def text(self, keyword: str) -> str:
        return "".join(self.parts.get(keyword, ()))


def _make_unit(is_fuzzy: bool, form: _Form, message: str, reverse: bool) -> CorpusUnit:
    translation = form.text.strip()
    if is_fuzzy or not translation:
        return CorpusUnit(form.line, form.line, NO_ROW, "fuzzy" if translation else "untranslated")
    sides = encode_segment(message.strip()), encode_segment(translation)
    row: RawRow = (sides[1], sides[0]) if reverse else sides
    return CorpusUnit(form.line, form.line, row)


def _header_languages(entry: _Entry) -> Direction:
    if not entry.is_header:
        return None, None
    found = LANGUAGE_FIELD.search(entry.forms[0].text)
    return None, found[1] if found else None


def _read_entries(path: Path, on_chunk: ChunkCallback | None) -> Iterator[_Entry]:
    """Yield the entries of a file in the charset that its header names; obsolete ones are left out."""
    entry: _Entry | None = None
    current: str | None = None
    fuzzy, charset, number = False, "utf-8", 0
    for number, raw in enumerate(read_lines(path, on_chunk), 1):
        line = raw.decode(charset, "surrogateescape").strip()
        if not line or line.startswith("#"):
            current = None
            is_flag = line.startswith("#,") and FUZZY_FLAG.search(line) is not None
            fuzzy = (fuzzy or is_flag) and not line.startswith("#~")  # which begins an obsolete message
            continue
        keyword = KEYWORD.fullmatch(line)
        if keyword is not None:
            current = keyword[1].partition("[")[0]
            if entry is None or current == "msgctxt" or (current == "msgid" and "msgid" in entry.parts):
                if entry is not None:
                    yield _require_complete(entry, path, number)
                    charset = _charset(entry, path) or charset
                    line = raw.decode(charset, "surrogateescape").strip()
                entry, fuzzy = _Entry(fuzzy), False
            line = line[keyword.start(3) :]
            if current == "msgstr":
                entry.forms.append(_Form(number, int(keyword[2]) if keyword[2] else None))
        string = QUOTED_STRING.fullmatch(line)
        if string is None or entry is None or current is None:
            raise DataError(
                f'{path} line {number} is not a comment, a keyword with a text, or "text" of a message'
            )
        if current == "msgstr":
            entry.forms[-1].parts.append(unescape_po(string[1]))
        else:
            entry.parts.setdefault(current, []).append(unescape_po(string[1]))
    if entry is not None:
        yield _require_complete(entry, path, number)


def _require_complete(entry: _Entry, path: Path, line: int) -> _Entry:
    if "msgid" not in entry.parts or not entry.forms:
        missing = "msgstr" if "msgid" in entry.parts else "msgid"
        raise DataError(f"{path} has a message without {missing} before line {line}")
    return entry


def _charset(entry: _Entry, path: Path) -> str | None:
    """Return the charset in the header of a file; None for another entry, or for a header without it."""
    declared = CHARSET.search(entry.forms[0].text) if entry.is_header else None
    if declared is None or declared[1].lower() in UNSET_CHARSETS:
        return None
    if not TEXT_CHARSETS.fullmatch(declared[1]):
        raise DataError(f"{path} is in charset {declared[1]}; convert it: msgconv --to-code=UTF-8 {path}")
    return codecs.lookup(declared[1]).name


def _unescape(match: re.Match[str]) -> str:
    octal, hexadecimal, letter = match.groups()
    if octal or hexadecimal:
        return chr(int(octal, 8) if octal else int(hexadecimal, 16))
    return ESCAPED_CHARACTERS.get(letter, letter)
