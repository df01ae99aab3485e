"""The characters of a document, and the way back to its own bytes."""

import codecs
import re
from dataclasses import dataclass
from typing import Literal

from regard.errors import DataError

BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
SUPPORTED_CHARSETS = re.compile(
    r"utf-?(8|16|16-?[lb]e)|(us-)?ascii|iso-?8859-?\d+|latin-?\d+|(windows|cp)-?125\d|koi8-?[ru]"
    r"|shift[-_]?jis|euc-?(jp|kr)|gb(2312|k|18030)|big5",
    re.IGNORECASE,
)
"""Python knows others, some of which are no way to write text."""
LATIN1_OR_ASCII = re.compile(r"(us-)?ascii|iso-?8859-?1|latin-?1", re.IGNORECASE)
UNLIKELY_CHARACTERS = re.compile("[\x80-\x9f\ufffd]")
UNDEFINED_IN_WINDOWS_1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")


@dataclass(frozen=True)
class DocumentEncoding:
    """How characters become the bytes of a document."""

    charset: str = "utf-8"
    byte_order_mark: bytes = b""
    errors: Literal["strict", "xmlcharrefreplace"] = "strict"
    """What becomes of a character that the charset lacks: markup can spell it in ASCII."""

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
    """The text of a document and how it was written: UTF-8 unless a mark or the document says otherwise.

    `declared` finds the charset in the first bytes of markup; its first group is the charset's name. Where
    that group is named `page`, the name means what it means to browsers.
    """
    unwritable = "strict" if declared is None else "xmlcharrefreplace"
    mark = next((mark for mark in BYTE_ORDER_MARKS if content.startswith(mark)), b"")
    said = declared and declared.search(content[:2048])
    charset = BYTE_ORDER_MARKS.get(mark) or (said[1].decode("latin-1") if said else "utf-8")
    if not SUPPORTED_CHARSETS.fullmatch(charset):
        raise DataError(f"{name} is in charset {charset!r}; convert it to UTF-8")
    if said and not mark and "page" in said.re.groupindex:
        charset = _browser_charset(charset, content)
    encoding = DocumentEncoding(charset.lower(), mark, unwritable)
    try:
        text = content[len(mark) :].decode(charset)
    except (UnicodeDecodeError, LookupError) as error:
        raise DataError(f"{name}{_error_line(error)} is not {charset.upper()}; convert it to UTF-8") from None
    if encoding.to_bytes(text, name) != content:
        raise DataError(f"{name} writes {charset.upper()} in its own way; convert it to UTF-8")
    return text, encoding


def _browser_charset(charset: str, content: bytes) -> str:
    """The charset in which a page is written that says this one.

    Browsers read Latin-1 and ASCII as Windows-1252, because that is what editors wrote under these names:
    quotation marks and dashes where Latin-1 has control characters. A page without any stays what it says,
    and so does one with a byte that Windows-1252 lacks.
    """
    if not LATIN1_OR_ASCII.fullmatch(charset) or UNDEFINED_IN_WINDOWS_1252.search(content):
        return charset
    return "windows-1252" if UNLIKELY_CHARACTERS.search(content.decode(charset, "replace")) else charset


def _error_line(error: UnicodeDecodeError | LookupError) -> str:
    if isinstance(error, LookupError):
        return ""
    line = error.object.count(b"\n", 0, error.start) + 1
    return f" line {line}"
