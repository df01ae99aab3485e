"""The structure of a document without its texts, as the readers of others see it."""

import codecs
import csv
import io
import json
import re
import zipfile
from html.parser import HTMLParser
from xml.etree import ElementTree

import yaml
from markdown_it import MarkdownIt
from translate.storage import po, properties, tmx, xliff, xliff2

TIME_LINE = re.compile(r"^.*-->.*$", re.MULTILINE)
TEXT_ATTRIBUTES = {"alt", "title", "placeholder", "aria-label", "content", "value", "label", "lang"}


def describe_structure(content: bytes, suffix: str) -> list:  # noqa: PLR0911
    """Return the parts of a document, in order, that a translation must not change."""
    match suffix:
        case ".json" | ".arb":
            return list(describe_values(json.loads(content.decode("utf-8-sig"))))
        case ".yml" | ".yaml":
            return list(describe_nodes(yaml.compose(content.decode("utf-8-sig"))))
        case ".strings" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return describe_units(content.decode("utf-16").encode(), suffix)
        case ".po" | ".pot" | ".properties" | ".strings" | ".xliff" | ".xlf" | ".tmx":
            return describe_units(content, suffix)
        case ".xml" | ".resx" | ".resw" | ".stringsdict":
            root = ElementTree.fromstring(content)
            return [(element.tag, sorted(element.attrib.items())) for element in root.iter()]
        case ".html" | ".htm":
            return describe_html(content.decode("utf-8", "replace"))
        case ".md" | ".markdown" | ".mdown" | ".mkd":
            tokens = MarkdownIt().enable("table").parse(content.decode("utf-8", "replace"))
            return [(token.type, token.tag, token.level) for token in tokens]
        case ".srt" | ".vtt":
            return TIME_LINE.findall(content.decode("utf-8", "replace"))
        case ".csv":
            return [len(list(csv.reader(io.StringIO(content.decode("utf-8-sig", "replace"), newline=""))))]
        case ".tsv" | ".jsonl":
            return [content.count(b"\n")]
        case _:
            return describe_archive(content)


def describe_values(value: object, path: tuple = ()):
    match value:
        case dict():
            yield path, list(value)
            for key, each in value.items():
                yield from describe_values(each, (*path, key))
        case list():
            for number, each in enumerate(value):
                yield from describe_values(each, (*path, number))
        case str():
            yield path, "text"
        case _:
            yield path, value


def describe_nodes(node, path: tuple = ()):
    match node:
        case yaml.MappingNode():
            for key, value in node.value:
                yield from describe_nodes(value, (*path, key.value))
        case yaml.SequenceNode():
            for number, value in enumerate(node.value):
                yield from describe_nodes(value, (*path, number))
        case None:
            return
        case _:
            yield path, node.tag


def describe_units(content: bytes, suffix: str) -> list:
    classes = {
        ".po": po.pofile,
        ".pot": po.pofile,
        ".properties": properties.javautf8file,
        ".strings": properties.stringsutf8file,
        ".tmx": tmx.tmxfile,
    }
    if suffix in (".xliff", ".xlf"):
        is_second = b"urn:oasis:names:tc:xliff:document:2" in content
        classes[suffix] = xliff2.Xliff2File if is_second else xliff.xlifffile
    store = classes[suffix].parsestring(content)
    if suffix in (".properties", ".strings"):
        return [unit.getid() for unit in store.units]
    return [(unit.getid(), str(unit.source)) for unit in store.units if unit.source]


class TagReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list = []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append((tag, [(k, None if k in TEXT_ATTRIBUTES else v) for k, v in attrs]))

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(f"/{tag}")


def describe_html(text: str) -> list:
    reader = TagReader()
    reader.feed(text)
    reader.close()
    return reader.tags


def describe_archive(content: bytes) -> list:
    """Return the members of an archive, with the elements of those that are XML."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if archive.testzip() is not None:
            raise ValueError("a member does not match its checksum")
        parts: list = []
        for member in archive.infolist():
            parts.append(member.filename)
            data = archive.read(member)
            if data and member.filename.endswith((".xml", ".rels", ".xhtml", ".opf", ".ncx")):
                parts += [element.tag for element in ElementTree.fromstring(data).iter()]
        return parts
