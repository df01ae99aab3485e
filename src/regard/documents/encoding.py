"""Character encodings of documents: detection, decoding, and encoding back to the same bytes."""

import codecs
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from regard.errors import DataError
from regard.text.file_types import HEAD_BYTES, is_binary
from regard.text.xml_parser import TEXT_CHARSETS

BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
FORBIDDEN_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot contain in any spelling, not even as a reference such as &#1;."""
LATIN1_OR_ASCII = re.compile(r"(us-)?ascii|iso-?8859-?1|latin-?1", re.IGNORECASE)
UNLIKELY_CHARACTERS = re.compile("[\x80-\x9f\ufffd]")
UNDEFINED_IN_WINDOWS_1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
XML_CHARSET = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9_.:-]+)["']""")
HTML_CHARSET = re.compile(rb"""<meta[^>]*?charset\s*=\s*["']?\s*(?P<page>[A-Za-z0-9_.:-]+)""", re.IGNORECASE)
"""The charset declaration of a document; the group `page` marks a name with the meaning browsers give it."""


@dataclass(frozen=True)
class DocumentEncoding:
    """The character encoding of a document."""

    charset: str = "utf-8"
    byte_order_mark: bytes = b""
    errors: Literal["strict", "xmlcharrefreplace"] = "strict"
    """The error handler for characters that the charset lacks: markup can write them as references."""

    def to_bytes(self, text: str, name: str) -> bytes:
        try:
            return self.byte_order_mark + text.encode(self.charset, self.errors)
        except UnicodeEncodeError as error:
            raise DataError(
                f"{name} is {self.charset}, which has no {error.object[error.start]!r}; convert it to UTF-8"
            ) from None


def decode_document(
    content: bytes, name: str, declared: re.Pattern[bytes] | None = None
) -> tuple[str, DocumentEncoding]:
    """Return the text and the encoding of a document: UTF-8 unless a byte order mark or `declared` differs.

    `declared` matches the charset declaration in the first bytes of markup; its first group is the name.
    """
    errors = "strict" if declared is None else "xmlcharrefreplace"
    mark = next((mark for mark in BYTE_ORDER_MARKS if content.startswith(mark)), b"")
    declaration = declared and declared.search(content[:2048])
    charset = BYTE_ORDER_MARKS.get(mark) or (declaration[1].decode("latin-1") if declaration else "utf-8")
    if not mark and is_binary(content[:HEAD_BYTES]):
        raise DataError(f"{name} is binary data or UTF-16 text; convert it to UTF-8")
    if not TEXT_CHARSETS.fullmatch(charset):
        raise DataError(f"{name} is in charset {charset!r}; convert it to UTF-8")
    if declaration and not mark and "page" in declaration.re.groupindex:
        charset = _browser_charset(charset, content)
    encoding = DocumentEncoding(charset.lower(), mark, errors)
    try:
        text = content[len(mark) :].decode(charset)
    except (UnicodeDecodeError, LookupError) as error:
        raise DataError(f"{name}{_error_line(error)} is not {charset.upper()}; convert it to UTF-8") from None
    if encoding.to_bytes(text, name) != content:
        raise DataError(
            f"{name} is {charset.upper()} in a spelling that cannot be reproduced; convert it to UTF-8"
        )
    return text, encoding


def decode_utf8_or_latin1(content: bytes, name: str) -> tuple[str, DocumentEncoding]:
    """Return the text and the encoding of a document: UTF-8, or else Latin-1 (Java properties)."""
    try:
        content.decode()
    except UnicodeDecodeError:
        if not content.startswith(tuple(BYTE_ORDER_MARKS)):
            return content.decode("latin-1"), DocumentEncoding("latin-1")
    return decode_document(content, name)


def drop_characters_forbidden_in_xml(
    translations: Sequence[str], name: str, report: Callable[[str], object]
) -> list[str]:
    """Return the translations without characters that would make an XML document unreadable."""
    dropped = [letter for text in translations for letter in FORBIDDEN_IN_XML.findall(text)]
    if not dropped:
        return list(translations)
    codes = ", ".join(f"U+{ord(letter):04X}" for letter in sorted(set(dropped))[:3])
    report(
        f"{name}: dropped {len(dropped)} control character{'s' if len(dropped) > 1 else ''} of the "
        f"translation, which XML cannot contain ({codes}{', ...' if len(set(dropped)) > 3 else ''})"
    )
    return [FORBIDDEN_IN_XML.sub("", text) for text in translations]


def _browser_charset(charset: str, content: bytes) -> str:
    """Return the charset that browsers use for a page with this declaration.

    Browsers read Latin-1 and ASCII as Windows-1252, because editors wrote that under these names: quotation
    marks and dashes in place of Latin-1 control characters. A page without such bytes, or with a byte that
    Windows-1252 lacks, keeps the declared charset.
    """
    if not LATIN1_OR_ASCII.fullmatch(charset) or UNDEFINED_IN_WINDOWS_1252.search(content):
        return charset
    return "windows-1252" if UNLIKELY_CHARACTERS.search(content.decode(charset, "replace")) else charset


def _error_line(error: UnicodeDecodeError | LookupError) -> str:
    if isinstance(error, LookupError):
        return ""
    line = error.object.count(b"\n", 0, error.start) + 1
    return f" line {line}"
