"""Excel workbooks: which texts are translated, and which are names that formulas use."""

import re
from collections.abc import Iterator

from regard.documents.office.archive import DocumentArchive
from regard.documents.office.text_dialect import TextDialect, unescape_xml

SPREADSHEET = TextDialect(
    dict.fromkeys(
        (
            "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
            "http://purl.oclc.org/ooxml/spreadsheetml/main",
        ),
        "x",
    ),
    paragraphs=frozenset(("x:si", "x:is", "x:text")),
    texts=frozenset(("x:t",)),
    run="x:r",
    properties="x:rPr",
    ignored=frozenset(("x:rPh", "x:phoneticPr")),
    keeps_space=True,
    escape_pattern=re.compile(r"(?:_x00(?:0[9AaDd]|20|[Aa]0)_|\s)+"),
)
"""Shared strings, texts in cells, and comments."""
FORMULA = re.compile(r"<(?:\w+:)?(?:f|formula|formula1|formula2|definedName)\b[^<>]*>([^<]*)</")
STRING_LITERAL = re.compile(r'"((?:[^"]|"")*)"')
FIELD_NAME = re.compile(r"<(?:\w+:)?(?:tableColumn|cacheField)\b[^>]*?\sname=\"([^\"]*)\"")
SHEET_MEMBER = re.compile(
    r"xl/(?:worksheets|tables|pivotCache|chartsheets)/[^/]+\.xml|xl/workbook\.xml", re.IGNORECASE
)


def find_referenced_texts(archive: DocumentArchive) -> frozenset[str]:
    """Return the texts of cells that something refers to: headers of tables, and texts in formulas.

    A table whose header differs from its cell is damaged to Excel, and `=IF(A1="yes", ...)` needs its cell.
    """
    members = [name for name in archive.names if SHEET_MEMBER.fullmatch(name)]
    return frozenset(text for member in members for text in _referenced_texts(archive.read(member)))


def _referenced_texts(content: bytes) -> Iterator[str]:
    document = content.decode("utf-8", "replace")
    for match in FIELD_NAME.finditer(document):
        yield " ".join(unescape_xml(match[1]).replace("_x000a_", " ").split())
    for match in FORMULA.finditer(document):
        for literal in STRING_LITERAL.finditer(unescape_xml(match[1])):
            for text in (literal[1], *literal[1].split(",")):  # "yes,no" is a list of choices
                yield " ".join(text.replace('""', '"').split())
