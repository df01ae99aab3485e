"""The characters of a document, and the way back to its own bytes."""

import codecs
import re
from dataclasses import dataclass
from typing import Literal

from regard.errors import DataError

MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
KNOWN = re.compile(
    r"utf-?(8|16|16-?[lb]e)|(us-)?ascii|iso-?8859-?\d+|latin-?\d+|(windows|cp)-?125\d|koi8-?[ru]"
    r"|shift[-_]?jis|euc-?(jp|kr)|gb(2312|k|18030)|big5",
    re.IGNORECASE,
)
"""Python knows others, some of which are no way to write text."""
WESTERN = re.compile(r"(us-)?ascii|iso-?8859-?1|latin-?1", re.IGNORECASE)
UNLIKELY = re.compile("[\x80-\x9f\ufffd]")
NOT_WINDOWS = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")


@dataclass(frozen=True)
class Encoding:
    """How characters become the bytes of a document."""

    charset: str = "utf-8"
    mark: bytes = b""
    unwritable: Literal["strict", "xmlcharrefreplace"] = "strict"
    """What becomes of a character that the charset lacks: markup can spell it in ASCII."""

    def encoded(self, text: str, name: str) -> bytes:
        try:
            return self.mark + text.encode(self.charset, self.unwritable)
        except UnicodeEncodeError as error:
            raise DataError(
                f"{name} is {self.charset}, which has no {error.object[error.start]!r}; convert it to UTF-8"
            ) from None


def decoded(content: bytes, name: str, declared: re.Pattern[bytes] | None = None) -> tuple[str, Encoding]:
    """The text of a document and how it was written: UTF-8 unless a mark or the document says otherwise.

    `declared` finds the charset in the first bytes of markup; its first group is the charset's name. Where
    that group is named `page`, the name means what it means to browsers.
    """
    unwritable = "strict" if declared is None else "xmlcharrefreplace"
    mark = next((mark for mark in MARKS if content.startswith(mark)), b"")
    said = declared and declared.search(content[:2048])
    charset = MARKS.get(mark) or (said[1].decode("latin-1") if said else "utf-8")
    if not KNOWN.fullmatch(charset):
        raise DataError(f"{name} is in charset {charset!r}; convert it to UTF-8")
    if said and not mark and "page" in said.re.groupindex:
        charset = _of_page(charset, content)
    encoding = Encoding(charset.lower(), mark, unwritable)
    try:
        text = content[len(mark) :].decode(charset)
    except (UnicodeDecodeError, LookupError) as error:
        raise DataError(f"{name}{_line_of(error)} is not {charset.upper()}; convert it to UTF-8") from None
    if encoding.encoded(text, name) != content:
        raise DataError(f"{name} writes {charset.upper()} in its own way; convert it to UTF-8")
    return text, encoding


def _of_page(charset: str, content: bytes) -> str:
    """The charset in which a page is written that says this one.

    Browsers read Latin-1 and ASCII as Windows-1252, because that is what editors wrote under these names:
    quotation marks and dashes where Latin-1 has control characters. A page without any stays what it says,
    and so does one with a byte that Windows-1252 lacks.
    """
    if not WESTERN.fullmatch(charset) or NOT_WINDOWS.search(content):
        return charset
    return "windows-1252" if UNLIKELY.search(content.decode(charset, "replace")) else charset


def _line_of(error: UnicodeDecodeError | LookupError) -> str:
    if isinstance(error, LookupError):
        return ""
    line = error.object.count(b"\n", 0, error.start) + 1
    return f" line {line}"
