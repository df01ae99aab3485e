"""Office Open XML: Word documents, PowerPoint presentations and Excel workbooks."""

import re
from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath

from regard.documents.localization.xml_tree import parse_elements
from regard.documents.office.archive import DocumentArchive
from regard.documents.office.office_document import (
    DocumentPart,
    OfficeDocument,
    natural_order,
    read_xml_member,
)
from regard.documents.office.paragraphs import read_paragraphs
from regard.documents.office.text_dialect import TextDialect
from regard.documents.office.workbook import SPREADSHEET, find_referenced_texts
from regard.errors import DataError

NAMESPACES = {
    **dict.fromkeys(
        (
            "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
            "http://purl.oclc.org/ooxml/wordprocessingml/main",
        ),
        "w",
    ),
    **dict.fromkeys(
        (
            "http://schemas.openxmlformats.org/drawingml/2006/main",
            "http://purl.oclc.org/ooxml/drawingml/main",
        ),
        "a",
    ),
    **dict.fromkeys(
        (
            "http://schemas.openxmlformats.org/presentationml/2006/main",
            "http://purl.oclc.org/ooxml/presentationml/main",
        ),
        "p",
    ),
}
WORD_TEXT = TextDialect(
    NAMESPACES,
    paragraphs=frozenset(("w:p",)),
    texts=frozenset(("w:t",)),
    run="w:r",
    properties="w:rPr",
    containers=frozenset(
        (
            *("w:hyperlink", "w:ins", "w:moveTo", "w:smartTag", "w:customXml", "w:sdt", "w:sdtContent"),
            *("w:dir", "w:bdo"),
        )
    ),
    wrappers=frozenset(("w:smartTag", "w:customXml", "w:sdt")),
    wrapped=frozenset(("w:sdtContent",)),
    breaks=frozenset(("w:tab", "w:ptab", "w:br", "w:cr")),
    ignored=frozenset(
        (
            *("w:pPr", "w:sdtPr", "w:sdtEndPr", "w:smartTagPr", "w:customXmlPr", "w:proofErr"),
            *("w:softHyphen", "w:lastRenderedPageBreak", "w:permStart", "w:permEnd", "w:fldData"),
        )
    ),
    skipped=frozenset(("w:del", "w:moveFrom")),
    characters={"w:noBreakHyphen": "\N{NON-BREAKING HYPHEN}"},
    keeps_space=True,
    noise=re.compile(
        r"<(\w+):(?:lang|noProof|webHidden|bCs|iCs|szCs|spacing|kern|w)\b[^>]*/>|<(\w+):rPrChange\b.*?</\2:rPrChange>"
        r"|\s\w+:hint=\"[^\"]*\"",
        re.DOTALL,
    ),
)
DRAWING_TEXT = TextDialect(
    NAMESPACES,
    paragraphs=frozenset(("a:p",)),
    texts=frozenset(("a:t",)),
    run="a:r",
    properties="a:rPr",
    breaks=frozenset(("a:br",)),
    ignored=frozenset(("a:pPr", "a:endParaRPr")),
    computed=frozenset(("a:fld",)),
    noise=re.compile(r"\s(?:lang|altLang|dirty|err|smtClean|noProof|bmk)=\"[^\"]*\""),
)
FORMATS = {
    ".docx": ("wordprocessingml.document.main", "a Word document"),
    ".pptx": ("presentationml.presentation.main", "a PowerPoint presentation"),
    ".xlsx": ("spreadsheetml.sheet.main", "an Excel workbook"),
}
"""The content type of the main part, and the name of the format."""
MAIN_KINDS = {
    "wordprocessingml.template.main": FORMATS[".docx"][0],
    "presentationml.template.main": FORMATS[".pptx"][0],
    "presentationml.slideshow.main": FORMATS[".pptx"][0],
    "spreadsheetml.template.main": FORMATS[".xlsx"][0],
}
"""Kinds of main parts that differ from documents only in what a program does when it opens them."""
WORD_PARTS = ("document.main", "footnotes", "endnotes", "comments", "header", "footer")
DRAWING_PARTS = (
    *("presentationml.slide", "presentationml.notesSlide", "drawingml.chart", "drawingml.chartshapes"),
    *("drawingml.diagramData", "drawingml.diagramDrawing", "drawing"),
    *("presentationml.slideLayout", "presentationml.slideMaster"),
)
WORKSHEET, INLINE_TEXT = "spreadsheetml.worksheet", b"inlineStr"
SPREADSHEET_PARTS = ("spreadsheetml.sharedStrings", WORKSHEET, "spreadsheetml.comments")
DIALECTS = {
    **{f"wordprocessingml.{kind}": WORD_TEXT for kind in WORD_PARTS},
    **dict.fromkeys(SPREADSHEET_PARTS, SPREADSHEET),
    **dict.fromkeys(DRAWING_PARTS, DRAWING_TEXT),
}
"""The dialect of each kind of part, in the order in which they are translated."""
LAYOUT_PARTS = ("presentationml.slideLayout", "presentationml.slideMaster")
CONTENT_TYPE = re.compile(
    r"application/(?:vnd\.openxmlformats-officedocument|vnd\.ms-office)\.([\w.]+)\+xml", re.IGNORECASE
)
CONTENT_TYPES = "[Content_Types].xml"


def read_office_open_xml(content: bytes, name: str, suffix: str) -> OfficeDocument:
    """Return a Word document, PowerPoint presentation or Excel workbook."""
    archive = DocumentArchive(content, name)
    kinds = _read_content_types(archive)
    _check_format(name, suffix, set(kinds.values()))
    known = list(DIALECTS)
    texts = [(member, kind) for member, kind in kinds.items() if kind in DIALECTS]
    slides = {member: k for k, member in enumerate(_slide_order(archive, kinds))}
    texts.sort(key=lambda each: (known.index(each[1]), slides.get(each[0], 0), natural_order(each[0])))
    parts = list(_read_parts(archive, texts))
    return OfficeDocument(archive, parts)


def _check_format(name: str, suffix: str, kinds: set[str]) -> None:
    main_kind, format_name = FORMATS[suffix]
    if main_kind in kinds:
        return
    other = next((each for each, (kind, _) in FORMATS.items() if kind in kinds), None)
    hint = f"it is {FORMATS[other][1]}: rename it to {other}" if other else "save it again as such"
    raise DataError(f"{name} is not {format_name}; {hint}")


def _read_content_types(archive: DocumentArchive) -> dict[str, str]:
    """Return the kind of each part whose content type is one of Office."""
    if CONTENT_TYPES not in archive.names:
        raise DataError(f"{archive.name} is a zip archive, but not an Office document; unpack it")
    text, _ = read_xml_member(archive, CONTENT_TYPES)
    types: dict[str, str] = {}
    for element in parse_elements(text, ("Override", "Default"), ()):
        key = element.attributes.get("partname") or f".{element.attributes.get('extension', '')}"
        types[key.lower()] = element.attributes.get("contenttype", "")
    kinds: dict[str, str] = {}
    for member in archive.names:
        name = f"/{member}".lower()
        content_type = types.get(name) or types.get(f".{name.rpartition('.')[2]}", "")
        if (match := CONTENT_TYPE.fullmatch(content_type)) is not None:
            kinds[member] = MAIN_KINDS.get(match[1], match[1])
    return kinds


def _read_parts(archive: DocumentArchive, texts: list[tuple[str, str]]) -> Iterator[DocumentPart]:
    referenced = find_referenced_texts(archive)
    for member, kind in texts:
        if kind == WORKSHEET and INLINE_TEXT not in archive.read(member):
            continue
        text, encoding = read_xml_member(archive, member)
        is_skipped = _PlaceholderFilter() if kind in LAYOUT_PARTS else None
        template = read_paragraphs(text, DIALECTS[kind], referenced, is_skipped)
        if template.paragraphs:
            yield DocumentPart(member, template, encoding)


class _PlaceholderFilter:
    """Skips the text of placeholders, which a layout shows only while a slide is edited."""

    def __init__(self) -> None:
        self._is_placeholder = False

    def __call__(self, name: str, _tag: str) -> bool:
        if name in ("p:sp", "p:ph"):
            self._is_placeholder = name == "p:ph"
        return name == "p:txBody" and self._is_placeholder


def _slide_order(archive: DocumentArchive, kinds: Mapping[str, str]) -> Iterator[str]:
    """Yield the slides in the order in which they are shown."""
    main = next((name for name, kind in kinds.items() if kind == FORMATS[".pptx"][0]), None)
    if main is None:
        return
    relations = f"{dirname(main)}/_rels/{main.rpartition('/')[2]}.rels".lstrip("/")
    if relations not in archive.names:
        return
    targets = {
        element.attributes.get("id", ""): element.attributes.get("target", "")
        for element in parse_elements(read_xml_member(archive, relations)[0], ("Relationship",), ())
    }
    for reference in re.findall(
        r"<(?:\w+:)?sldId\b[^>]*?\s\w+:id=[\"']([^\"']+)", read_xml_member(archive, main)[0]
    ):
        yield normpath(join("/" + dirname(main), targets.get(reference, ""))).lstrip("/")
