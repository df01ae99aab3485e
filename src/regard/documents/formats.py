"""Document formats: the table of suffixes, and a `Document` of text segments to translate and put back.

The readers are imported when a document of their format is opened, so that a command on plain lines
loads no parser.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regard.documents.document import Document, DocumentTemplate, TextContent
from regard.documents.encoding import (
    HTML_CHARSET,
    XML_CHARSET,
    decode_document,
    decode_utf8_or_latin1,
)
from regard.errors import DataError
from regard.text.compression import COMPRESSED_SUFFIXES, wrap_read_errors
from regard.text.file_types import (
    HEAD_BYTES,
    FileType,
    file_type_by_content,
    file_type_by_name,
    read_head,
)

if TYPE_CHECKING:
    from regard.documents.office.office_document import OfficeDocument

PLAIN_TEXT_SUFFIX = ".txt"
DOCUMENT_FORMATS = {
    PLAIN_TEXT_SUFFIX: "plain text",
    ".tsv": "tab-separated table",
    ".csv": "table with quoted cells",
    ".jsonl": "one JSON object per line",
    ".srt": "SubRip subtitles",
    ".vtt": "WebVTT subtitles",
    ".po": "gettext messages",
    ".pot": "gettext message template",
    ".tmx": "translation memory",
    ".xliff": "XLIFF 1.2 or 2",
    ".xlf": "XLIFF 1.2 or 2",
    **dict.fromkeys((".json", ".arb"), "JSON messages"),
    **dict.fromkeys((".yml", ".yaml"), "YAML messages"),
    ".strings": "Apple strings",
    ".properties": "Java properties",
    ".xml": "Android string resources",
    ".resx": ".NET string resources",
    ".resw": ".NET string resources",
    ".stringsdict": "plural forms of Apple's string resources",
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
    "column": (".tsv", ".csv", ".jsonl"),
    "overwrite": (".tsv", ".csv", ".jsonl", ".po", ".pot", ".tmx", ".xliff", ".xlf"),
    "target_language": (
        *(".tmx", ".xliff", ".xlf", ".html", ".htm", ".json", ".arb", ".yml", ".yaml", ".epub"),
    ),
}
"""The formats to which each field of `DocumentOptions` applies."""

LANGUAGE_TAG = re.compile("[A-Za-z0-9]+([-_][A-Za-z0-9]+)*")
ARCHIVE_SUFFIXES = (".docx", ".pptx", ".xlsx", ".odt", ".ods", ".odp", ".epub")
"""The formats that are zip archives, of XML; all others are text."""
XML_FORMATS = (".tmx", ".xliff", ".xlf", ".xml", ".resx", ".resw", ".stringsdict")
CHARSET_DECLARATIONS = {
    **dict.fromkeys(XML_FORMATS, XML_CHARSET),
    **dict.fromkeys((".html", ".htm"), HTML_CHARSET),
}
"""The pattern of the charset declaration inside a document, by suffix."""


@dataclass(frozen=True)
class DocumentOptions:
    """Settings for formats that leave a choice."""

    column: str | None = None
    """The text column of a .tsv or .csv, by number (from 1) or name; the text field of a .jsonl."""
    overwrite: bool = False
    """Whether existing translations (.po, .tmx, .xliff, .jsonl, .tsv, .csv) are replaced."""
    target_language: str | None = None
    """The language of the translations: chosen in a .tmx, declared in .html, .xliff, .arb, .yml and .epub."""
    any_content: bool = False
    """Whether a .json or .yml is read that does not look like messages."""

    def __post_init__(self) -> None:
        if self.target_language is not None and not LANGUAGE_TAG.fullmatch(self.target_language):
            raise DataError(f"{self.target_language!r} is not a language code; write it like fr or pt-BR")


def require_plain_text(path: Path) -> None:
    """Reject a file that is not plain text by its name or, unless it is a pipe, by its first bytes."""
    found = file_type_by_name(path)
    if found is None and path.is_file():
        found = file_type_by_content(read_head(path), path)
    if found and found.suffix in DOCUMENT_FORMATS and path.suffix.lower() in COMPRESSED_SUFFIXES:
        raise DataError(
            f"{path} is a compressed document; decompress it first, or translate its lines: --format lines"
        )
    reject_file_type(path, found)


def reject_file_type(name: object, found: FileType | None) -> None:
    """Raise the error for input that is not plain text; None is plain text."""
    if found is None:
        return
    if found.suffix in DOCUMENT_FORMATS:
        raise DataError(
            f"{name} is {found.title}: --format {found.suffix.removeprefix('.')} translates its text, "
            "--format lines each line as it is"
        )
    raise DataError(
        f"{name} is {found.title}, which regard does not read; convert it to plain text or to "
        f"{', '.join(DOCUMENT_FORMATS)}, or translate each line as it is: --format lines"
    )


def open_document(path: Path, name: str | None = None, options: DocumentOptions | None = None) -> Document:
    """Read the document in a file; `name` gives the format if the name of the file does not."""
    with wrap_read_errors(path):
        content = path.read_bytes()
    if name is None and path.suffix.lower() == PLAIN_TEXT_SUFFIX:
        found = file_type_by_content(content[:HEAD_BYTES], path)
        reject_file_type(path, None if found and found.suffix == PLAIN_TEXT_SUFFIX else found)
    return read_document(content, name or str(path), options or DocumentOptions())


def read_document(content: bytes, name: str, options: DocumentOptions) -> Document:
    """Parse the bytes of a document; the suffix of `name` gives the format."""
    suffix = Path(name).suffix.lower()
    if suffix not in DOCUMENT_FORMATS:
        reject_file_type(name, file_type_by_name(Path(name)))
        raise DataError(
            f"{name} has no known document format; its name must end in {', '.join(DOCUMENT_FORMATS)}"
        )
    if suffix in ARCHIVE_SUFFIXES:
        archive = _parse_archive(suffix, content, name, options)
        return Document(name, archive.segments, archive, is_xml=True)
    if suffix == ".strings":
        from regard.documents.localization.apple_strings import reject_binary_strings

        reject_binary_strings(content, name)
    if suffix == ".properties":
        text, encoding = decode_utf8_or_latin1(content, name)
    else:
        text, encoding = decode_document(content, name, CHARSET_DECLARATIONS.get(suffix))
    template = _parse_template(suffix, text, name, options, encoding.charset)
    return Document(
        name, template.segments, TextContent(name, template, encoding), is_xml=suffix in XML_FORMATS
    )


def _parse_archive(suffix: str, content: bytes, name: str, options: DocumentOptions) -> "OfficeDocument":
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


def _parse_template(
    suffix: str, text: str, name: str, options: DocumentOptions, charset: str
) -> DocumentTemplate:
    match suffix:
        case ".txt" | ".jsonl":
            template = _parse_lines(suffix, text, name, options)
        case ".tsv":
            from regard.documents.tables import read_tsv

            template = read_tsv(text, name, options.column, options.overwrite)
        case ".csv":
            from regard.documents.tables import read_csv

            template = read_csv(text, name, options.column, options.overwrite)
        case ".srt":
            from regard.documents.subtitles import read_srt

            template = read_srt(text, name)
        case ".vtt":
            from regard.documents.subtitles import read_vtt

            template = read_vtt(text, name)
        case ".po" | ".pot":
            from regard.documents.localization.po import read_po

            template = read_po(text, name, options.overwrite)
        case ".tmx":
            from regard.documents.localization.translation_units import read_tmx

            template = read_tmx(text, name, options.overwrite, options.target_language)
        case ".xliff" | ".xlf":
            from regard.documents.localization.translation_units import read_xliff

            template = read_xliff(text, name, options.overwrite, options.target_language)
        case ".xml" | ".resx" | ".resw" | ".stringsdict":
            template = _parse_string_resources(suffix, text, name)
        case ".json" | ".arb" | ".yml" | ".yaml" | ".strings" | ".properties":
            template = _parse_messages(suffix, text, name, options, charset)
        case ".html" | ".htm":
            from regard.documents.web.html import read_html, set_page_language

            language = options.target_language
            template = read_html(text if language is None else set_page_language(text, language))
        case _:
            from regard.documents.web.markdown import read_markdown

            template = read_markdown(text, name)
    return template


def _parse_lines(suffix: str, text: str, name: str, options: DocumentOptions) -> DocumentTemplate:
    from regard.documents.line_formats import read_jsonl, read_txt

    if suffix == ".jsonl":
        return read_jsonl(text, name, options.column, options.overwrite)
    return read_txt(text)


def _parse_string_resources(suffix: str, text: str, name: str) -> DocumentTemplate:
    if suffix == ".xml":
        from regard.documents.localization.android import read_android

        return read_android(text, name)
    from regard.documents.localization.string_resources import read_resx, read_stringsdict

    return read_stringsdict(text, name) if suffix == ".stringsdict" else read_resx(text, name)


def _parse_messages(
    suffix: str, text: str, name: str, options: DocumentOptions, charset: str
) -> DocumentTemplate:
    match suffix:
        case ".json" | ".arb":
            from regard.documents.localization.json_messages import read_json_messages

            is_arb = suffix == ".arb"
            return read_json_messages(text, name, is_arb, options.target_language, options.any_content)
        case ".yml" | ".yaml":
            from regard.documents.localization.yaml_messages import read_yaml_messages

            return read_yaml_messages(text, name, options.target_language, options.any_content)
        case ".strings":
            from regard.documents.localization.apple_strings import read_apple_strings

            return read_apple_strings(text, name)
        case _:
            from regard.documents.localization.properties import read_properties

            return read_properties(text, name, charset == "latin-1")
