"""OpenDocument: texts, spreadsheets and presentations of LibreOffice and others."""

import re

from regard.documents.office.archive import DocumentArchive
from regard.documents.office.office_document import DocumentPart, OfficeDocument, read_xml_member
from regard.documents.office.paragraphs import read_paragraphs
from regard.documents.office.runs import TextRun
from regard.documents.office.text_dialect import TextDialect, read_attribute, unescape_xml
from regard.documents.office.workbook import STRING_LITERAL
from regard.errors import DataError

NAMESPACE_ROOT = "urn:oasis:names:tc:opendocument:xmlns"
OPEN_DOCUMENT_TEXT = TextDialect(
    {f"{NAMESPACE_ROOT}:{name}:1.0": name for name in ("text", "office", "table", "draw")},
    paragraphs=frozenset(("text:p", "text:h")),
    run="text:span",
    containers=frozenset(("text:a", "text:meta", "text:bookmark-ref", "text:reference-ref", "text:note-ref")),
    breaks=frozenset(("text:tab", "text:line-break")),
    ignored=frozenset(("text:soft-page-break",)),
    skipped=frozenset(("text:tracked-changes",)),
    computed=frozenset(
        f"text:{name}"
        for name in (
            *("page-number", "page-count", "page-continuation", "date", "time", "file-name", "author-name"),
            *(
                "author-initials",
                "chapter",
                "sequence",
                "sequence-ref",
                "number",
                "title",
                "subject",
                "creator",
            ),
            *("variable-set", "variable-get", "user-field-get", "user-defined", "expression", "placeholder"),
            *(
                "initial-creator",
                "creation-date",
                "modification-date",
                "word-count",
                "sheet-name",
                "text-input",
            ),
            *(
                "database-display",
                "sender-firstname",
                "sender-lastname",
                "conditional-text",
                "bibliography-mark",
            ),
            *(
                "print-date",
                "editing-cycles",
                "character-count",
                "paragraph-count",
                "table-count",
                "image-count",
            ),
        )
    ),
    spaces=frozenset(("text:s",)),
)
FORMATS = {
    ".odt": ("application/vnd.oasis.opendocument.text", "OpenDocument text"),
    ".ods": ("application/vnd.oasis.opendocument.spreadsheet", "OpenDocument spreadsheet"),
    ".odp": ("application/vnd.oasis.opendocument.presentation", "OpenDocument presentation"),
}
PARTS = ("content.xml", "styles.xml")
MIMETYPE, MANIFEST = "mimetype", "META-INF/manifest.xml"
TEXT_STYLE = re.compile(
    r"(<style:style\b[^<>]*?\sstyle:family=\"text\"[^<>]*?)(?:/>|>(.*?)</style:style>)", re.DOTALL
)
LOOK_ATTRIBUTE = re.compile(
    r"\s(?![\w-]+:(?:rsid|paragraph-rsid|language|country|script|rfc-language-tag)(?:-\w+)?=)[\w-]+:[\w-]+=\"[^\"]*\""
)
"""An attribute of a style that changes what a reader sees."""
FORMULA = re.compile(r"\s[\w-]+:(?:formula|condition)=(?:\"([^\"]*)\"|'([^']*)')")


def read_open_document(content: bytes, name: str, suffix: str) -> OfficeDocument:
    """Return an OpenDocument text, spreadsheet or presentation."""
    archive = DocumentArchive(content, name)
    _check_format(archive, suffix)
    parts: list[DocumentPart] = []
    for member in PARTS:
        if member in archive.names:
            text, encoding = read_xml_member(archive, member)
            template = read_paragraphs(
                *(text, OPEN_DOCUMENT_TEXT, _referenced_texts(text), _is_computed_cell, _StyleLooks(text))
            )
            parts += [DocumentPart(member, template, encoding)] if template.paragraphs else []
    return OfficeDocument(archive, parts)


def _check_format(archive: DocumentArchive, suffix: str) -> None:
    declared = archive.read(MIMETYPE).decode("latin-1").strip() if MIMETYPE in archive.names else ""
    mime_type, format_name = FORMATS[suffix]
    if declared != mime_type:
        other = next((each for each, (mime, _) in FORMATS.items() if mime == declared), None)
        hint = f"it is an {FORMATS[other][1]}: rename it to {other}" if other else "save it again as such"
        raise DataError(f"{archive.name} is not an {format_name}; {hint}")
    if MANIFEST in archive.names and b":encryption-data" in archive.read(MANIFEST):
        raise DataError(f"{archive.name} is encrypted; save it without a password")
    if PARTS[0] not in archive.names:
        raise DataError(f"{archive.name} has no {PARTS[0]}; save it again")


class _StyleLooks:
    """Finds spans that look the same: every editing session of LibreOffice makes styles of its own."""

    def __init__(self, document: str) -> None:
        self._looks: dict[str, str] = {}
        for match in TEXT_STYLE.finditer(document):
            name, parent = (read_attribute(match[1], key) or "" for key in ("name", "parent-style-name"))
            properties = "".join(LOOK_ATTRIBUTE.findall(match[2] or ""))
            self._looks[name] = f"{parent}{properties}"

    def __call__(self, run: TextRun) -> str:
        name = read_attribute(run.properties, "style-name") or ""
        return self._looks.get(name, name)


def _is_computed_cell(name: str, tag: str) -> bool:
    """Whether the text of a cell is how a number or the result of a formula is shown."""
    if name not in ("table:table-cell", "table:covered-table-cell"):
        return False
    return (
        read_attribute(tag, "value-type") not in (None, "string")
        or read_attribute(tag, "formula") is not None
    )


def _referenced_texts(document: str) -> frozenset[str]:
    """Return the texts in formulas, which compare cells with them."""
    formulas = [match[1] or match[2] or "" for match in FORMULA.finditer(document)]
    return frozenset(
        text[1] for formula in formulas for text in STRING_LITERAL.finditer(unescape_xml(formula))
    )
