"""File types that are not plain text, by the ending of the name and by the first bytes of the content.

Endings that are not listed here are plain text: `.txt`, none, languages and words of corpora (train.en,
newstest2014-deen-src.de, corpus.tok.bpe.fr). The content decides where an ending is a language too.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from regard.errors import DataError
from regard.text.compression import COMPRESSED_SUFFIXES, read_decompressed

HEAD_BYTES = 2**14
"""Bytes at the beginning of a file that show its type."""


class FileType(NamedTuple):
    """A file type that is not plain text."""

    title: str
    """With article: a PDF document."""
    suffix: str = ""
    """The usual ending, if files of this type may be translated."""


ENDINGS_BY_TITLE = {
    # documents
    "a PDF document": "pdf",
    "a Word document": "docx docm dotx doc dot",
    "a presentation": "pptx pptm ppt odp",
    "a spreadsheet": "xlsx xlsm xlsb xls ods",
    "an OpenDocument text": "odt ott fodt sxw",
    "an RTF document": "rtf",
    "an e-book": "epub mobi azw azw3 fb2 djvu",
    "an InDesign or FrameMaker document": "idml indd mif",
    "PostScript": "eps",
    "TeX source": "tex ltx sty bib",
    "reStructuredText": "rst",
    "AsciiDoc": "adoc asciidoc",
    "an Org document": "org",
    "wiki markup": "mediawiki textile",
    "Markdown": "md markdown mdown mkd mdx rmd qmd",
    "HTML": "html htm xhtml shtml mhtml mht",
    "a page template": "vue svelte jsx tsx jinja j2 twig hbs mustache erb ejs jsp asp aspx haml pug liquid",
    "XML": "xml xsl xslt xsd svg rss atom kml wsdl plist dbk docbook dita ditamap xaml xul",
    "SGML": "sgm sgml",
    # localization
    "gettext messages": "po pot",
    "compiled messages": "mo gmo qm",
    "a translation memory": "tmx tbx",
    "XLIFF": "xliff xlf sdlxliff mxliff mqxliff txlf",
    "program messages": "resx resw strings stringsdict xcstrings arb properties ftl",
    # subtitles
    "subtitles": "srt vtt ass ssa sub sbv ttml dfxp smi lrc stl",
    # data
    "JSON": "json json5 jsonc geojson webmanifest",
    "JSON lines": "jsonl ndjson",
    "YAML": "yaml yml",
    "a configuration": "ini toml cfg conf env desktop reg",
    "a table": "csv tsv tab psv",
    "a data file": "parquet arrow feather orc avro npy npz pkl pickle mat rds rdata hdf5 h5 sqlite db mdb",
    "a notebook": "ipynb",
    "an e-mail": "eml msg mbox",
    "a calendar or contact": "ics vcf",
    "a model": "safetensors onnx pth ckpt gguf",
    # archives, media, programs
    "an archive": "zip tar tgz tbz tbz2 txz 7z rar bz2 lz lz4 lzma z cab iso dmg jar war apk deb rpm whl",
    "an image": "png jpg jpeg gif webp bmp tif tiff ico heic avif psd xcf ai",
    "a recording": "mp3 wav flac ogg oga opus m4a aac wma mp4 m4v mkv avi mov webm wmv mpg mpeg flv",
    "a font": "ttf otf woff woff2",
    "a program": "exe dll dylib msi class pyc wasm",
    "source code": "py pyi js mjs cjs php c h cc cpp cxx hpp hh java kt kts swift go rs rb r jl lua "
    "scala clj dart f90 hs erl ex exs vb pm ps1 bat cmd bash zsh fish sql css scss sass less asm proto "
    "graphql gradle cmake diff patch",
}
TITLES_BY_SUFFIX = {
    f".{ending}": title for title, endings in ENDINGS_BY_TITLE.items() for ending in endings.split()
}
BACKUP_SUFFIX = re.compile(r"(~|\.(bak|orig|old|save|swp|tmp))+$", re.IGNORECASE)
"""What editors append to the name of a copy."""

LANGUAGE_OR_CODE = {
    ".cs": ("C# source code", r"//|/\*|using [\w.=\s]+;|namespace [\w.]+|#region|\[assembly"),
    ".el": ("Emacs Lisp", r";;|\((?:defun|require|provide|setq|use-package|defvar)\b"),
    ".mk": (
        "a makefile",
        r"(?:#[^\n]*\n|\s++)*+(?:-?include\s|ifn?(?:eq|def)\b|[\w.-]+\s*[:?+]?=|\S+:[^\n]*\n\t)",
    ),
    ".ml": ("OCaml source code", r"\(\*|open [A-Z]|let\s+\w+|module [A-Z]|type \w+ ="),
    ".pl": ("Perl source code", r"(?:#[^\n]*\n|\s++)*+(?:use [\w:.]+[^\n]*;|package [\w:]+;)"),
    ".sv": ("SystemVerilog source code", r"//|/\*|`\w+|(?:module|package|interface) \w+"),
    ".ts": (
        "TypeScript source code",
        r"//|/\*|import\s[^\n]*['\"]|import \{|export (?:default|const|class|function|interface|type|enum|\*)"
        r"|(?:const|let|var) \w+\s*[:=]|interface \w+|declare |@\w+\(|['\"]use strict",
    ),
}
"""Endings that are the code of a language and of a file type, and how a file of that type begins."""

MAGIC_BYTES = (
    (b"%PDF-", "a PDF document", ".pdf"),
    (b"\x89PNG\r\n", "an image", ""),
    (b"\xff\xd8\xff", "an image", ""),
    (b"GIF8", "an image", ""),
    (b"\x7fELF", "a program", ""),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document", ""),
    (b"SQLite format 3\0", "a database", ""),
    (b"{\\rtf", "an RTF document", ".rtf"),
    (b"%!PS", "PostScript", ""),
    (b"7z\xbc\xaf\x27\x1c", "an archive", ""),
    (b"Rar!\x1a\x07", "an archive", ""),
    (b"BZh91AY&SY", "an archive", ""),
    (b"\xde\x12\x04\x95", "compiled messages", ""),
    (b"\x95\x04\x12\xde", "compiled messages", ""),
    (b"PAR1", "a Parquet file", ".parquet"),
    (b"\x89HDF\r\n", "a data file", ""),
    (b"\x93NUMPY", "a data file", ""),
    (b"OggS\0", "a recording", ""),
    (b"ID3\x03", "a recording", ""),
    (b"ID3\x04", "a recording", ""),
    (b"\xff\xfe\0\0", "UTF-32 text", ""),
    (b"\0\0\xfe\xff", "UTF-32 text", ""),
    (b"\xff\xfe", "UTF-16 text", ".txt"),
    (b"\xfe\xff", "UTF-16 text", ".txt"),
)
ZIP_START = b"PK\x03\x04"
ZIP_CONTENTS = (
    (b"word/", "a Word document", ".docx"),
    (b"ppt/", "a presentation", ".pptx"),
    (b"xl/", "a spreadsheet", ".xlsx"),
    (b"mimetypeapplication/epub+zip", "an e-book", ".epub"),
    (b"mimetypeapplication/vnd.oasis.opendocument.text", "an OpenDocument text", ".odt"),
    (b"mimetypeapplication/vnd.oasis.opendocument.presentation", "a presentation", ".odp"),
    (b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "a spreadsheet", ".ods"),
)
"""What the first bytes of a zip archive that is a document contain."""

JSON_STRING = r'"(?:[^"\\\n]|\\.)*+"'
COMMENT = "(?><!--.*?-->)"
PROLOG = rf"(?:<\?xml\s[^>]*+>)?(?:\s++|{COMMENT}|<!doctype[^>\[]*+>)*+"
"""What may stand before the first element of XML or HTML."""
BLOCK_ELEMENTS = "head|body|div|section|article|main|header|nav|table|ul|ol|dl|form|p|h[1-6]"
XML_ELEMENTS = "svg|resources|ts|mteval|srcset|refset|tstset|rss|feed|plist|tt"
TEXT_PATTERNS = (
    (rf"<!doctype html\b|{PROLOG}<html[\s>]", "HTML", ".html"),
    (rf"<({BLOCK_ELEMENTS})(?:\s[^<>]*+)?>.*?</\1>", "HTML", ".html"),
    (rf"{PROLOG}<xliff[\s>]", "XLIFF", ".xliff"),
    (rf"{PROLOG}<tmx[\s>]", "a translation memory", ".tmx"),
    (rf"<\?xml\s|<!doctype\s|<(?:{XML_ELEMENTS})[\s>]", "XML", ".xml"),
    (r"<\?php\b", "source code", ""),
    (r"#!\s*/", "a script", ""),
    (r"(?:#[^\n]*\n|\s++)*+msg(?:id|ctxt)\s*\"", "gettext messages", ".po"),
    (r"WEBVTT(?:[ \t][^\n]*)?(?:\r?\n|\Z)", "WebVTT subtitles", ".vtt"),
    (r"(?:\d+\s*\n)?\s*\d+:\d\d:\d\d[,.]\d+[ \t]*-->", "SubRip subtitles", ".srt"),
    (r"\[Script Info\]|\{\d+\}\{\d+\}|\[\d+:\d\d\.\d+\]", "subtitles", ""),
    (r"\d+:\d\d:\d\d\.\d+,\d+:\d\d:\d\d\.\d+\s*\n", "subtitles", ""),
    (rf"\{{\s*+{JSON_STRING}\s*+:[^\n]*\}}[ \t\r]*\n\{{", "JSON lines", ".jsonl"),
    (rf"\{{\s*+{JSON_STRING}\s*+:", "JSON", ".json"),
    (rf"\[\s*+(?:[\[{{]\s*+)*+{JSON_STRING}\s*+[,:\]]", "JSON", ".json"),
    (r"(?:%[^\n]*\n|\s++)*+\\(?:documentclass|begin\{)", "TeX source", ""),
    (
        rf"(?:(?>/\*.*?\*/)|//[^\n]*\n|\s++)*+{JSON_STRING}\s*=\s*{JSON_STRING}\s*;",
        "program messages",
        ".strings",
    ),
    (r"BEGIN:V(?:CARD|CALENDAR)\b", "a calendar or contact", ""),
)
"""How a text in one of these formats begins, after white space, in any case."""
TEXT_TYPES = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), FileType(title, suffix))
    for pattern, title, suffix in TEXT_PATTERNS
)
CONTROL_SHARE, MIN_CONTROL_CHARACTERS = 0.05, 8
"""The share of NUL and control characters that no text has: a few of them may be damage."""
CONTROL_CHARACTERS = bytes((*range(8), 0x0E, 0x0F, *range(0x10, 0x1B), 0x1C, 0x1D, 0x1E, 0x1F))


def file_type_by_name(path: Path) -> FileType | None:
    """Return the type by the ending of a name, also of a compressed file or a copy; None: plain text."""
    suffix = strip_copy_suffixes(path).suffix.lower()
    title = TITLES_BY_SUFFIX.get(suffix)
    return None if title is None else FileType(title, suffix)


def strip_copy_suffixes(path: Path) -> Path:
    """Return a path without the ending of a compressed file or of a copy that an editor makes."""
    name = path.with_suffix("") if path.suffix.lower() in COMPRESSED_SUFFIXES else path
    stripped = BACKUP_SUFFIX.sub("", name.name)
    return name.with_name(stripped) if stripped else name


def file_type_by_content(head: bytes, path: Path | None = None) -> FileType | None:
    """Return the type that the first bytes of a file show; None: plain text."""
    for magic, title, suffix in MAGIC_BYTES:
        if head.startswith(magic):
            return FileType(title, suffix)
    if head.startswith(ZIP_START):
        found = (FileType(title, suffix) for mark, title, suffix in ZIP_CONTENTS if mark in head)
        return next(found, FileType("a zip archive"))
    if is_binary(head):
        return FileType("binary data or UTF-16 text")
    text = head.removeprefix(b"\xef\xbb\xbf").decode("latin-1").lstrip()
    if (found := next((each for pattern, each in TEXT_TYPES if pattern.match(text)), None)) is not None:
        return found
    title, pattern = LANGUAGE_OR_CODE.get(strip_copy_suffixes(path).suffix.lower() if path else "", ("", ""))
    return FileType(title) if title and re.match(pattern, text) else None


def is_binary(head: bytes) -> bool:
    """Return whether the first bytes hold more NUL and control characters than damaged UTF-8 does."""
    control = len(head) - len(head.translate(None, CONTROL_CHARACTERS))
    return control >= max(MIN_CONTROL_CHARACTERS, CONTROL_SHARE * len(head))


def read_head(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed; not for a pipe, which would lose them."""
    head = b""
    for chunk in read_decompressed(path):
        head += chunk
        if len(head) >= HEAD_BYTES:
            break
    return head[:HEAD_BYTES]


def inspect_head(chunks: Iterable[bytes], inspect: Callable[[bytes], object]) -> Iterator[bytes]:
    """Yield the chunks of a stream after `inspect` has seen the first bytes, which may raise an error."""
    head = b""
    for chunk in chunks:
        if len(head) < HEAD_BYTES:
            head += chunk[: HEAD_BYTES - len(head)]
            inspect(head)
        yield chunk


def reject_other_types(path: Path, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks of a corpus file unless its name or content shows that it is not plain text."""

    def reject(found: FileType | None) -> None:
        if found is not None:
            raise DataError(
                f"{path} is {found.title}, not plain text with one sentence per line; convert it, or give "
                "it a name that ends in .txt if it is"
            )

    reject(file_type_by_name(path))
    return inspect_head(chunks, lambda head: reject(file_type_by_content(head, path)))
