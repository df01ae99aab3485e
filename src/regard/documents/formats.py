"""Document formats: the table of suffixes, and a `Document` of text segments to translate and put back.

The readers are imported when a document of their format is opened, so that a command on plain lines
loads no parser.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from regard.documents.encoding import HTML_CHARSET, XML_CHARSET, DocumentEncoding, decode_document
from regard.documents.template import DocumentTemplate
from regard.errors import DataError
from regard.text.compression import wrap_read_errors

DOCUMENT_FORMATS = {
    ".txt": "plain text",
    ".tsv": "tab-separated table",
    ".jsonl": "one JSON object per line",
    ".srt": "SubRip subtitles",
    ".po": "gettext messages",
    ".pot": "gettext message template",
    ".tmx": "translation memory",
    ".xliff": "XLIFF 1.2 or 2",
    ".xlf": "XLIFF 1.2 or 2",
    ".html": "HTML",
    ".htm": "HTML",
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd"), "Markdown"),
    ".docx": "Word document",
    ".pptx": "PowerPoint presentation",
    ".xlsx": "Excel workbook",
    ".odt": "OpenDocument text",
    ".ods": "OpenDocument spreadsheet",
    ".odp": "OpenDocument presentation",
    ".epub": "e-book",
}
"""The format of each file name suffix."""

SUFFIXES_BY_OPTION = {
    "column": (".tsv", ".jsonl"),
    "overwrite": (".tsv", ".jsonl", ".po", ".pot", ".tmx", ".xliff", ".xlf"),
    "target_language": (".tmx", ".epub"),
}
"""The formats to which each field of `DocumentOptions` applies."""

ARCHIVE_SUFFIXES = (".docx", ".pptx", ".xlsx", ".odt", ".ods", ".odp", ".epub")
"""The formats that are zip archives; all others are text."""

CHARSET_DECLARATIONS = {
    **dict.fromkeys((".tmx", ".xliff", ".xlf"), XML_CHARSET),
    **dict.fromkeys((".html", ".htm"), HTML_CHARSET),
}
"""The pattern of the charset declaration inside a document, by suffix."""


class DocumentContent(Protocol):
    """The content of a document of some format, with its texts."""

    @property
    def segments(self) -> Sequence[str]: ...

    def render(self, translations: Sequence[str]) -> bytes: ...


@dataclass(frozen=True)
class TextContent:
    """The content of a document that is one text file."""

    name: str
    template: DocumentTemplate
    encoding: DocumentEncoding

    @property
    def segments(self) -> Sequence[str]:
        return self.template.segments

    def render(self, translations: Sequence[str]) -> bytes:
        return self.encoding.to_bytes(self.template.render(translations), self.name)


@dataclass(frozen=True)
class Document:
    """A parsed document: every byte outside the translated segments is written back unchanged."""

    name: str
    segments: Sequence[str]
    """The texts to translate, in order, without markup and surrounding white space."""
    content: DocumentContent

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the document with a translation in place of each segment."""
        if len(translations) != len(self.segments):
            raise DataError(
                f"{self.name} has {len(self.segments)} texts and {len(translations)} translations; "
                "there must be one for each"
            )
        return self.content.render(translations)


@dataclass(frozen=True)
class DocumentOptions:
    """Settings for formats that leave a choice."""

    column: str | None = None
    """The text column of a .tsv, by number (from 1) or name; the text field of a .jsonl."""
    overwrite: bool = False
    """Whether existing translations (.po, .tmx, .xliff, .jsonl, .tsv) are replaced."""
    target_language: str | None = None
    """The language of the translations: for a .tmx with several languages or only the source's, and for an
    .epub, which declares it."""


def open_document(path: Path, name: str | None = None, options: DocumentOptions | None = None) -> Document:
    """Read the document in a file; `name` gives the format if the name of the file does not."""
    with wrap_read_errors(path):
        content = path.read_bytes()
    return read_document(content, name or str(path), options or DocumentOptions())


def read_document(content: bytes, name: str, options: DocumentOptions) -> Document:
    """Parse the bytes of a document; the suffix of `name` gives the format."""
    suffix = Path(name).suffix.lower()
    if suffix not in DOCUMENT_FORMATS:
        raise DataError(
            f"{name} has no known document format; its name must end in {', '.join(DOCUMENT_FORMATS)}"
        )
    if suffix in ARCHIVE_SUFFIXES:
        archive = _parse_archive(suffix, content, name, options)
        return Document(name, archive.segments, archive)
    text, encoding = decode_document(content, name, CHARSET_DECLARATIONS.get(suffix))
    template = _parse_template(suffix, text, name, options)
    return Document(name, template.segments, TextContent(name, template, encoding))


def _parse_archive(suffix: str, content: bytes, name: str, options: DocumentOptions) -> DocumentContent:
    match suffix:
        case ".docx" | ".pptx" | ".xlsx":
            from regard.documents.office.office_open_xml import read_office_open_xml

            return read_office_open_xml(content, name, suffix)
        case ".epub":
            from regard.documents.office.epub import read_epub

            return read_epub(content, name, options.target_language)
        case _:
            from regard.documents.office.open_document import read_open_document

            return read_open_document(content, name, suffix)


def _parse_template(suffix: str, text: str, name: str, options: DocumentOptions) -> DocumentTemplate:
    match suffix:
        case ".txt" | ".tsv" | ".jsonl":
            template = _parse_lines(suffix, text, name, options)
        case ".srt":
            from regard.documents.subtitles import read_srt

            template = read_srt(text, name)
        case ".po" | ".pot":
            from regard.documents.localization.po import read_po

            template = read_po(text, name, options.overwrite)
        case ".tmx":
            from regard.documents.localization.translation_units import read_tmx

            template = read_tmx(text, name, options.overwrite, options.target_language)
        case ".xliff" | ".xlf":
            from regard.documents.localization.translation_units import read_xliff

            template = read_xliff(text, name, options.overwrite)
        case ".html" | ".htm":
            from regard.documents.web.html import read_html

            template = read_html(text)
        case _:
            from regard.documents.web.markdown import read_markdown

            template = read_markdown(text, name)
    return template


def _parse_lines(suffix: str, text: str, name: str, options: DocumentOptions) -> DocumentTemplate:
    from regard.documents.line_formats import read_jsonl, read_tsv, read_txt

    match suffix:
        case ".tsv":
            return read_tsv(text, name, options.column, options.overwrite)
        case ".jsonl":
            return read_jsonl(text, name, options.column, options.overwrite)
        case _:
            return read_txt(text)
