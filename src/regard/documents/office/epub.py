"""EPUB: the pages of an e-book in reading order, its table of contents and its title."""

import re
from collections.abc import Iterator
from posixpath import dirname, join, normpath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from regard.documents.encoding import XML_CHARSET, decode_document
from regard.documents.localization.xml_tree import XmlElement, parse_elements
from regard.documents.office.archive import DocumentArchive
from regard.documents.office.office_document import DocumentPart, OfficeDocument, read_xml_member
from regard.documents.office.paragraphs import PartTemplate, read_paragraphs
from regard.documents.office.runs import TextEdit
from regard.documents.office.text_dialect import TextDialect, escape_xml
from regard.documents.web.html import read_html
from regard.errors import DataError

CONTAINER, ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
MIME_TYPE = b"application/epub+zip"
PAGE_TYPES = ("application/xhtml+xml", "text/html")
TITLE = TextDialect({"http://purl.org/dc/elements/1.1/": "dc"}, paragraphs=frozenset(("dc:title",)))
CONTENTS = TextDialect({"http://www.daisy.org/z3986/2005/ncx/": "ncx"}, paragraphs=frozenset(("ncx:text",)))
LANGUAGE_ELEMENT = re.compile(r"(<(?:\w+:)?language\b[^<>]*>)\s*([\w-]*)\s*</")
ENCRYPTED_MEMBER = re.compile(r"CipherReference\b[^<>]*?\sURI=[\"']([^\"']*)")


class _ManifestItem(NamedTuple):
    member_name: str
    media_type: str
    is_navigation: bool


def read_epub(content: bytes, name: str, target_language: str | None = None) -> OfficeDocument:
    """Return an e-book; `target_language` becomes its declared language."""
    archive = DocumentArchive(content, name)
    if "mimetype" in archive.names and archive.read("mimetype").strip() != MIME_TYPE:
        raise DataError(f"{name} is not an EPUB; save it again as such")
    if CONTAINER not in archive.names:
        raise DataError(f"{name} is a zip archive, but not an EPUB; unpack it")
    package_name = _find_package(archive)
    package, encoding = read_xml_member(archive, package_name)
    template = _read_package(package, target_language)
    parts = [DocumentPart(package_name, template, encoding, is_changed=bool(template.fixed_edits))]
    for item in _ordered_items(package, package_name):
        if item.member_name in archive.names:
            parts += _read_item(archive, item)
    return OfficeDocument(archive, parts)


def _find_package(archive: DocumentArchive) -> str:
    text, _ = read_xml_member(archive, CONTAINER)
    for element in parse_elements(text, ("rootfile",), ()):
        if path := element.attributes.get("full-path"):
            return path
    raise DataError(f"{archive.name}: {CONTAINER} names no package; save it again")


def _read_package(package: str, target_language: str | None) -> PartTemplate:
    template = read_paragraphs(package, TITLE)
    language = LANGUAGE_ELEMENT.search(package)
    if target_language is None or language is None or language[2] == target_language:
        return template
    edit = TextEdit(*language.span(2), escape_xml(target_language))
    return PartTemplate(package, template.paragraphs, (edit,))


def _ordered_items(package: str, package_name: str) -> Iterator[_ManifestItem]:
    """Yield the items with text: the pages of the spine, then the tables of contents that are not in it."""
    elements = list(parse_elements(package, ("item", "itemref", "spine"), ()))
    items = {
        element.attributes.get("id", ""): _manifest_item(element, package_name)
        for element in elements
        if element.name == "item"
    }
    spine = [child for element in elements if element.name == "spine" for child in element.children]
    pages = [items[reference] for child in spine if (reference := child.attributes.get("idref")) in items]
    navigation = [item for item in items.values() if item.is_navigation]
    yield from dict.fromkeys([*pages, *navigation])


def _manifest_item(element: XmlElement, package_name: str) -> _ManifestItem:
    attributes = element.attributes
    path = unquote(urlsplit(attributes.get("href", "")).path)
    media_type = attributes.get("media-type", "")
    is_navigation = (
        media_type == "application/x-dtbncx+xml" or "nav" in attributes.get("properties", "").split()
    )
    return _ManifestItem(normpath(join(dirname(package_name), path)), media_type, is_navigation)


def _read_item(archive: DocumentArchive, item: _ManifestItem) -> list[DocumentPart]:
    if item.member_name in _encrypted_members(archive):
        raise DataError(f"{archive.name} is encrypted (DRM); only its seller can remove that")
    if item.media_type in PAGE_TYPES:
        name = f"{archive.name}: {item.member_name}"
        text, encoding = decode_document(archive.read(item.member_name), name, XML_CHARSET)
        template = read_html(text, xhtml=item.media_type == PAGE_TYPES[0])
    elif item.is_navigation:
        text, encoding = read_xml_member(archive, item.member_name)
        template = read_paragraphs(text, CONTENTS)
    else:
        return []
    return [DocumentPart(item.member_name, template, encoding)] if template.segments else []


def _encrypted_members(archive: DocumentArchive) -> frozenset[str]:
    """Return the members with encrypted content; fonts are often among them, pages only with DRM."""
    if ENCRYPTION not in archive.names:
        return frozenset()
    text, _ = read_xml_member(archive, ENCRYPTION)
    return frozenset(unquote(match[1]) for match in ENCRYPTED_MEMBER.finditer(text))
