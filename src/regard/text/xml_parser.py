"""An expat parser that loads nothing and expands no entity, and a reader that feeds it in pieces."""

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import Any, Protocol, runtime_checkable
from xml.parsers import expat

from regard.errors import DataError

MAX_TOKEN_BYTES = 2**20
"""A longer tag or comment is read again with each chunk, and no document has one."""
MAX_DEPTH = 1000
"""No document nests its elements deeper."""
XML_DECLARATION = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9_.:-]+)["']""")
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
TEXT_CHARSETS = re.compile(
    r"utf-?(8|16|16-?[lb]e)|(us-)?ascii|iso-?8859-?\d+|latin-?\d+|(windows|cp)-?125\d|koi8-?[ru]"
    r"|shift[-_]?jis|euc-?(jp|kr)|gb(2312|k|18030)|big5",
    re.IGNORECASE,
)
"""Charsets of documents; Python has more codecs, some of which are not text encodings."""
HEAD_BYTES = 2048
"""The declaration of the encoding is within them."""


@runtime_checkable
class XmlHandler(Protocol):
    """Receives the events of a document; names have no namespace prefix."""

    def start(self, name: str, attributes: dict[str, str], line: int) -> None: ...

    def end(self, name: str) -> None: ...

    def text(self, text: str) -> None: ...


def create_xml_parser(name: str, encoding: str | None = None) -> Any:
    """Return a parser that rejects the declaration of an entity, which can expand without limit."""
    parser = expat.ParserCreate(encoding)
    parser.buffer_text = True

    def reject(*_: object) -> None:
        line = parser.CurrentLineNumber
        raise DataError(f"{name} line {line} declares an entity; write the text itself in its place")

    parser.EntityDeclHandler = reject
    return parser


def xml_syntax_error(name: str, error: expat.ExpatError) -> DataError:
    """Return the error about a document that is not well-formed."""
    return DataError(f"{name} line {error.lineno} is not well-formed XML: {expat.ErrorString(error.code)}")


def parse_xml_chunks(name: str, chunks: Iterable[bytes], handler: XmlHandler) -> Iterator[None]:
    """Send the events of a document to the handler; yield after each chunk, so that memory stays constant.

    The text is in the encoding that the document declares.
    """
    parser = create_xml_parser(name, "utf-8")
    depth = 0

    def start(element: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise DataError(f"{name} line {parser.CurrentLineNumber} nests more than {MAX_DEPTH:,} elements")
        handler.start(element.rpartition(":")[2], attributes, parser.CurrentLineNumber)

    def end(element: str) -> None:
        nonlocal depth
        depth -= 1
        handler.end(element.rpartition(":")[2])

    def reject_undefined(entity: str, _: int) -> None:
        raise DataError(
            f"{name} line {parser.CurrentLineNumber} has &{entity};, which the file does not define; write "
            "the character itself"
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = handler.text
    parser.SkippedEntityHandler = reject_undefined
    fed = 0
    try:
        for chunk in decode_xml_chunks(name, chunks, parser):
            parser.Parse(chunk, False)
            fed += len(chunk)
            if fed - max(parser.CurrentByteIndex, 0) > MAX_TOKEN_BYTES:
                raise DataError(
                    f"{name} line {parser.CurrentLineNumber} has a tag or comment of more than "
                    f"{MAX_TOKEN_BYTES >> 20} MiB"
                )
            yield
        parser.Parse(b"", True)
        yield
    except expat.ExpatError as error:
        raise xml_syntax_error(name, error) from None


def decode_xml_chunks(name: str, chunks: Iterable[bytes], parser: Any) -> Iterator[bytes]:
    """Yield the chunks of a document in UTF-8; its byte order mark or its declaration names the encoding."""
    stream = iter(chunks)
    head = b""
    for chunk in stream:
        head += chunk
        if len(head) >= HEAD_BYTES:
            break
    mark, charset = next(
        ((mark, name) for mark, name in BYTE_ORDER_MARKS if head.startswith(mark)), (b"", "")
    )
    declared = XML_DECLARATION.search(head)
    charset = charset or (declared[1].decode("latin-1") if declared else "utf-8")
    if not TEXT_CHARSETS.fullmatch(charset):
        raise DataError(f"{name} is in charset {charset!r}; convert it to UTF-8")
    decoder = codecs.getincrementaldecoder(charset)()
    try:
        yield decoder.decode(head[len(mark) :]).encode()
        for chunk in stream:
            yield decoder.decode(chunk).encode()
        decoder.decode(b"", True)
    except UnicodeDecodeError:
        line = parser.CurrentLineNumber
        raise DataError(
            f"{name} is not {charset.upper()} soon after line {line}; convert it to UTF-8"
        ) from None
