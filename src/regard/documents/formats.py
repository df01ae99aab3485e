"""A document: its texts to translate, and the document with the translations in their place."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.documents import html, line_formats, markdown, po, srt, translation_units, xml_tree
from regard.documents.encoding import DocumentEncoding, decode_document
from regard.documents.template import DocumentTemplate
from regard.errors import DataError
from regard.text.compression import wrap_read_errors

DOCUMENT_FORMATS = {
    ".txt": "plain text",
    ".tsv": "a table, tabs between its columns",
    ".jsonl": "a JSON object on each line",
    ".srt": "subtitles",
    ".po": "gettext's messages",
    ".pot": "gettext's messages",
    ".tmx": "a translation memory",
    ".xliff": "XLIFF 1.2 or 2",
    ".xlf": "XLIFF 1.2 or 2",
    ".html": "a page",
    ".htm": "a page",
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd"), "Markdown"),
}
"""What each ending of a name means."""

CHARSET_DECLARATIONS = {
    **dict.fromkeys((".tmx", ".xliff", ".xlf"), xml_tree.XML_CHARSET),
    **dict.fromkeys((".html", ".htm"), html.HTML_CHARSET),
}
"""Where a document of such a name says its charset."""


@dataclass(frozen=True)
class Document:
    """A document that is read: every byte of it that is not translated comes back as it was."""

    name: str
    segments: Sequence[str]
    """The texts to translate, in order, without markup and without white space around them."""
    template: DocumentTemplate
    encoding: DocumentEncoding

    def render(self, translations: Sequence[str]) -> bytes:
        """The document with a translation in the place of each segment."""
        if len(translations) != len(self.segments):
            raise DataError(
                f"{self.name} has {len(self.segments)} texts and {len(translations)} translations; "
                "there must be one for each"
            )
        return self.encoding.to_bytes(self.template.render(translations), self.name)


@dataclass(frozen=True)
class DocumentOptions:
    """How a document is read, where its format leaves a choice."""

    column: str | None = None
    """Where the text is: of a .tsv the column, by number (from 1) or by name; of a .jsonl the field."""
    overwrite: bool = False
    """Whether what has a translation already (.po, .tmx, .xliff, .jsonl, .tsv) is translated again."""
    language: str | None = None
    """Of the translations in a .tmx that has several languages, or only the source's."""


def open_document(path: Path, name: str | None = None, options: DocumentOptions | None = None) -> Document:
    """The document in a file; `name` says its format where the file's own name does not."""
    with wrap_read_errors(path):
        content = path.read_bytes()
    return read_document(content, name or str(path), options or DocumentOptions())


def read_document(content: bytes, name: str, options: DocumentOptions) -> Document:
    """The document that these bytes are; the ending of the name says its format."""
    ending = Path(name).suffix.lower()
    if ending not in DOCUMENT_FORMATS:
        raise DataError(
            f"{name} is no document that is known; its name must end in {', '.join(DOCUMENT_FORMATS)}"
        )
    text, encoding = decode_document(content, name, CHARSET_DECLARATIONS.get(ending))
    found = _parse_template(ending, text, name, options)
    return Document(name, found.segments, found, encoding)


def _parse_template(ending: str, text: str, name: str, reading: DocumentOptions) -> DocumentTemplate:
    match ending:
        case ".txt":
            found = line_formats.read_txt(text)
        case ".tsv":
            found = line_formats.read_tsv(text, name, reading.column, reading.overwrite)
        case ".jsonl":
            found = line_formats.read_jsonl(text, name, reading.column, reading.overwrite)
        case ".srt":
            found = srt.read_srt(text, name)
        case ".po" | ".pot":
            found = po.read_po(text, name, reading.overwrite)
        case ".tmx":
            found = translation_units.read_tmx(text, name, reading.overwrite, reading.language)
        case ".xliff" | ".xlf":
            found = translation_units.read_xliff(text, name, reading.overwrite)
        case ".html" | ".htm":
            found = html.read_html(text)
        case _:
            found = markdown.read_markdown(text, name)
    return found
