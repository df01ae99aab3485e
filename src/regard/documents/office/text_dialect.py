"""Dialects: which elements of an XML vocabulary are paragraphs, runs and texts, and how runs are spelled."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from regard.documents.office.runs import RunFormat, RunText, TextRun
from regard.documents.web.entities import unescape_entities
from regard.documents.web.html_tokens import attribute_spans

NAMESPACE = re.compile(r"""\sxmlns(?::([^\s=]+))?\s*=\s*["']([^"']+)["']""")
EMPTY_PROPERTIES = re.compile(r"<([\w:.-]+)\s*(?:/>|>\s*</\1\s*>)")


@dataclass(frozen=True)
class TextDialect:
    """The elements of an XML vocabulary, with the prefixes of `namespaces`."""

    namespaces: Mapping[str, str]
    paragraphs: frozenset[str]
    texts: frozenset[str] = frozenset()
    """Elements with text; none if the text stands directly in the paragraph."""
    run: str = ""
    properties: str = ""
    """The element in a run with its format; without text elements, the start tag of a run has it."""
    containers: frozenset[str] = frozenset()
    """Elements around text that move with it."""
    wrappers: frozenset[str] = frozenset()
    """Containers in which a run may not be the first child."""
    wrapped: frozenset[str] = frozenset()
    """Containers beside which no run may stand."""
    breaks: frozenset[str] = frozenset()
    """Elements that end a text."""
    ignored: frozenset[str] = frozenset()
    """Elements in a paragraph that mean nothing to a reader; they do not cut words."""
    skipped: frozenset[str] = frozenset()
    """Elements whose text is not translated, also in paragraphs inside them."""
    computed: frozenset[str] = frozenset()
    """Elements with text that a program fills in, such as page numbers."""
    spaces: frozenset[str] = frozenset()
    """Elements that are white space."""
    characters: Mapping[str, str] = field(default_factory=dict)
    """Elements that are one character."""
    keeps_space: bool = False
    """Whether an element with outer white space must have xml:space="preserve"."""
    noise: re.Pattern[str] | None = None
    """The markup in the properties of a run that a reader does not see."""
    escape_pattern: re.Pattern[str] | None = None
    """Characters that stand for white space."""


FormatKey = Callable[[TextRun], str]
"""Returns what the format of a run looks like to a reader."""


def build_run_format(document: str, dialect: TextDialect, format_key: FormatKey | None) -> RunFormat:
    """Return how this part spells runs: with the prefix that it uses itself."""
    resolve = NameResolver(document, dialect.namespaces)
    names = {resolve(token): token for token in set(re.findall(r"<([A-Za-z_][\w.:-]*)", document))}
    run_name = names.get(dialect.run, dialect.run)
    text_name = next((names[name] for name in sorted(dialect.texts) if name in names), "")

    def visible_properties(run: TextRun) -> str:
        visible = run.properties if dialect.noise is None else dialect.noise.sub("", run.properties)
        return "" if EMPTY_PROPERTIES.fullmatch(visible) else visible

    def write_text(text: RunText, content: str) -> str:
        if not text_name:
            return escape_xml(content)
        tag = (text.tag or f"<{text_name}>").removesuffix("/>").removesuffix(">").rstrip()
        if dialect.keeps_space and content != content.strip() and "xml:space" not in tag:
            tag += ' xml:space="preserve"'
        name = tag[1:].split()[0]
        return f"{tag}>{escape_xml(content)}</{name}>"

    def write_run(run: TextRun | None, content: str) -> str:
        text = write_text(RunText(0, 0, ""), content)
        if run is None:
            return text
        opening = f"<{run_name}>{run.properties}" if dialect.texts else run.properties
        return f"{opening}{text}</{run_name}>"

    return RunFormat(format_key or visible_properties, write_text, write_run, dialect.escape_pattern)


def escape_xml(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape_xml(raw: str) -> str:
    return unescape_entities(raw, xml=True)


def read_attribute(tag: str, local_name: str) -> str | None:
    """Return the value of an attribute, whatever its namespace prefix."""
    for name, (start, end) in attribute_spans(tag).items():
        if name.rpartition(":")[2] == local_name.lower():
            return unescape_xml(tag[start:end])
    return None


class NameResolver:
    """Gives element names the usual prefix of their namespace."""

    def __init__(self, document: str, namespaces: Mapping[str, str]) -> None:
        declared: dict[str, str] = {}
        for match in NAMESPACE.finditer(document):
            declared.setdefault(match[1] or "", namespaces.get(unescape_xml(match[2]), ""))
        self._prefixes = declared
        self._names: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        if name not in self._names:
            prefix, _, local = name.rpartition(":")
            resolved = self._prefixes.get(prefix)
            self._names[name] = f"{resolved}:{local}" if resolved else name
        return self._names[name]
