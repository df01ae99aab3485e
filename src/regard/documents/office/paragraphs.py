"""Paragraphs of XML parts: their texts, and what stands between them, with positions in the part.

One reader serves WordprocessingML, DrawingML, SpreadsheetML and OpenDocument: a `TextDialect` names the
elements of each.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from regard.documents.office.fields import FieldTracker
from regard.documents.office.runs import (
    RunCode,
    RunFormat,
    RunItem,
    RunSegment,
    RunText,
    TextEdit,
    TextRun,
    build_run_segment,
)
from regard.documents.segments import InlineKind
from regard.documents.web.entities import unescape_entities
from regard.documents.web.html_tokens import MarkupToken, attribute_spans, scan_markup

NAMESPACE = re.compile(r"""\sxmlns(?::([^\s=]+))?\s*=\s*["']([^"']+)["']""")
EMPTY_PROPERTIES = re.compile(r"<([\w:.-]+)\s*(?:/>|>\s*</\1\s*>)")
CDATA_START, CDATA_END = "<![CDATA[", "]]>"


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


SkipPredicate = Callable[[str, str], bool]
"""Whether the text of an element is not translated, by its name and start tag."""
FormatKey = Callable[[TextRun], str]
"""Returns what the format of a run looks like to a reader."""


@dataclass(frozen=True)
class PartTemplate:
    """An XML part whose segments each change several places."""

    document: str
    paragraphs: Sequence[RunSegment]
    fixed_edits: Sequence[TextEdit] = ()
    """Edits that do not depend on a translation."""

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(paragraph.text for paragraph in self.paragraphs)

    def render(self, translations: Sequence[str]) -> str:
        edits = list(self.fixed_edits)
        for paragraph, translation in zip(self.paragraphs, translations, strict=True):
            edits += paragraph.edits(translation)
        written: list[str] = []
        done = 0
        for edit in sorted(edits, key=lambda edit: edit[:2]):
            written += [self.document[done : edit.start], edit.content]
            done = edit.end
        return "".join([*written, self.document[done:]])


def read_paragraphs(
    document: str,
    dialect: TextDialect,
    untranslated: Collection[str] = (),
    is_skipped: SkipPredicate | None = None,
    format_key: FormatKey | None = None,
) -> PartTemplate:
    """Return the template of all paragraphs, except for texts in `untranslated`."""
    run_format = _build_run_format(document, dialect, format_key)
    segments = _ParagraphReader(document, dialect, run_format, is_skipped).read()
    return PartTemplate(document, [segment for segment in segments if segment.text not in untranslated])


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


@dataclass
class _Paragraph:
    """A paragraph that is open, with the items of its texts."""

    start: int
    items: list[RunItem] = field(default_factory=list)
    finished: list[tuple[list[RunItem], int, int]] = field(default_factory=list)
    """The items and the span of each part that a line break ended."""
    run: TextRun | None = None
    nested_runs: int = 0
    """The number of open runs inside this run."""
    inside: "_OpenElement | None" = None

    def end_text(self, end: int, next_start: int) -> None:
        self.finished.append((self.items, self.start, end))
        self.items, self.start = [], next_start


@dataclass
class _OpenElement:
    """An element of a paragraph that is read as a whole: an object, properties, or a text."""

    name: str
    token: MarkupToken
    depth: int = 1
    text: list[str] = field(default_factory=list)


class _ParagraphReader:
    def __init__(
        self, document: str, dialect: TextDialect, run_format: RunFormat, is_skipped: SkipPredicate | None
    ) -> None:
        self._document, self._dialect, self._format = document, dialect, run_format
        self._is_skipped = is_skipped
        self._resolve = NameResolver(document, dialect.namespaces)
        self._paragraphs: list[_Paragraph] = []
        self._skipped: _OpenElement | None = None
        self._containers: list[str] = []
        self._pairs = 0
        self._fields = FieldTracker()

    def read(self) -> Iterator[RunSegment]:
        for token in scan_markup(self._document, html=False):
            name = self._resolve(token.name) if token.name else ""
            if self._skipped is not None:
                self._follow_skipped(self._skipped, token)
            elif self._starts_skipped(name, token):
                self._skipped = _OpenElement(name, token)
            elif name in self._dialect.paragraphs and token.kind != "empty":
                if token.kind == "start":
                    self._paragraphs.append(_Paragraph(token.end))
                elif self._paragraphs:
                    yield from self._finish(self._paragraphs.pop(), token.start)
            elif self._paragraphs:
                self._read_token(self._paragraphs[-1], name, token)

    def _starts_skipped(self, name: str, token: MarkupToken) -> bool:
        if token.kind not in ("start", "empty"):
            return False
        skipped = name in self._dialect.skipped
        if self._is_skipped is not None:
            skipped = self._is_skipped(name, self._document[token.start : token.end]) or skipped
        return skipped and token.kind == "start"

    def _follow_skipped(self, skipped: _OpenElement, token: MarkupToken) -> None:
        skipped.depth += {"start": 1, "end": -1}.get(token.kind, 0)
        if not skipped.depth:
            self._skipped = None
            if self._paragraphs and self._paragraphs[-1].inside is None:
                self._add_object(self._paragraphs[-1], skipped.token.start, token.end, "")

    def _finish(self, paragraph: _Paragraph, end: int) -> Iterator[RunSegment]:
        if (code := self._fields.end_paragraph()) is not None:
            paragraph.items.append(code)
        paragraph.end_text(end, end)
        for items, start, stop in paragraph.finished:
            if (segment := build_run_segment(items, start, stop, self._format)) is not None:
                yield segment

    def _read_token(self, paragraph: _Paragraph, name: str, token: MarkupToken) -> None:
        if paragraph.inside is not None:
            self._read_inside(paragraph, paragraph.inside, token)
        elif not name:
            self._read_bare_text(paragraph, token)
        elif token.kind == "end":
            self._read_end(paragraph, name, token)
        else:
            self._read_start(paragraph, name, token)

    def _read_inside(self, paragraph: _Paragraph, element: _OpenElement, token: MarkupToken) -> None:
        element.depth += {"start": 1, "end": -1}.get(token.kind, 0)
        if not token.name:
            element.text.append(self._character_data(token))
        if not element.depth:
            paragraph.inside = None
            self._read_element(paragraph, element, token.end)

    def _character_data(self, token: MarkupToken) -> str:
        raw = self._document[token.start : token.end]
        if token.kind == "text":
            return unescape_xml(raw)
        return raw.removeprefix(CDATA_START).removesuffix(CDATA_END) if raw.startswith(CDATA_START) else ""

    def _read_bare_text(self, paragraph: _Paragraph, token: MarkupToken) -> None:
        text = "" if self._dialect.texts else self._character_data(token)
        if text:
            self._add_item(paragraph, RunText(token.start, token.end, text, run=paragraph.run))

    def _read_start(self, paragraph: _Paragraph, name: str, token: MarkupToken) -> None:
        dialect = self._dialect
        if name == dialect.run and token.kind == "start" and paragraph.run is None:
            tag = self._document[token.start : token.end]
            paragraph.run = TextRun(token.start, properties="" if dialect.texts else tag)
        elif (
            name == dialect.run
            or name in dialect.containers
            or (name == "w:fldSimple" and token.kind == "start")
        ):
            self._open_container(paragraph, name, token)
        elif token.kind == "start":
            if name in dialect.breaks:
                paragraph.end_text(token.start, token.end)
            paragraph.inside = _OpenElement(name, token)
        else:
            if name in dialect.breaks:
                paragraph.end_text(token.start, token.end)
            self._read_element(paragraph, _OpenElement(name, token), token.end)

    def _open_container(self, paragraph: _Paragraph, name: str, token: MarkupToken) -> None:
        if token.kind == "empty":
            self._add_object(paragraph, token.start, token.end, "")
            return
        tag = self._document[token.start : token.end]
        if name == "w:fldSimple":
            self._fields.begin(token.start)
            self._fields.add_instruction(read_attribute(tag, "instr") or "")
            self._add_field_code(paragraph, self._fields.separate(token.end))
            return
        self._pairs += 1
        paragraph.nested_runs += name == self._dialect.run
        self._containers.append(f"pair{self._pairs}")
        self._add_item(paragraph, RunCode(InlineKind.OPEN, token.start, token.end, self._containers[-1]))

    def _read_end(self, paragraph: _Paragraph, name: str, token: MarkupToken) -> None:
        if name == self._dialect.run and not paragraph.nested_runs:
            if paragraph.run is not None:
                paragraph.run.end = token.end
            paragraph.run = None
        elif name == "w:fldSimple":
            self._add_field_code(paragraph, self._fields.end(token.end))
        elif (name == self._dialect.run or name in self._dialect.containers) and self._containers:
            paragraph.nested_runs -= name == self._dialect.run
            code = RunCode(InlineKind.CLOSE, token.start, token.end, self._containers.pop())
            self._add_item(paragraph, code)

    def _read_element(self, paragraph: _Paragraph, element: _OpenElement, end: int) -> None:
        """Add the item of an element that has ended."""
        dialect, name, start = self._dialect, element.name, element.token.start
        text = "".join(element.text)
        if name in dialect.texts:
            tag = self._document[start : element.token.end]
            self._add_item(paragraph, RunText(start, end, text, tag, paragraph.run))
        elif name in dialect.characters:
            self._add_item(
                paragraph, RunText(start, end, dialect.characters[name], "", paragraph.run, fixed=True)
            )
        elif name == dialect.properties:
            if paragraph.run is not None:
                paragraph.run.properties = self._document[start:end]
        elif name == "w:fldChar":
            self._read_field_character(paragraph, element)
        elif name == "w:instrText":
            self._fields.add_instruction(text)
        elif name not in dialect.ignored and name not in dialect.breaks:
            self._add_object(paragraph, start, end, text if name in dialect.computed else "", name)

    def _read_field_character(self, paragraph: _Paragraph, element: _OpenElement) -> None:
        place = paragraph.run or element.token.start
        match read_attribute(self._document[element.token.start : element.token.end], "fldCharType"):
            case "begin":
                self._fields.begin(place)
            case "separate":
                self._add_field_code(paragraph, self._fields.separate(place))
            case "end":
                self._add_field_code(paragraph, self._fields.end(place))

    def _add_field_code(self, paragraph: _Paragraph, code: RunCode | None) -> None:
        if code is not None:
            paragraph.items.append(code)

    def _add_object(self, paragraph: _Paragraph, start: int, end: int, text: str, name: str = "") -> None:
        kind = InlineKind.SPACE if name in self._dialect.spaces else InlineKind.STANDALONE
        if text.strip():
            kind = InlineKind.PROTECTED
        places = (start, end) if paragraph.run is None else (paragraph.run, paragraph.run)
        self._add_item(paragraph, RunCode(kind, *places, text=text.strip()))

    def _add_item(self, paragraph: _Paragraph, item: RunItem) -> None:
        if not self._fields.hides(item):
            paragraph.items.append(item)


def _build_run_format(document: str, dialect: TextDialect, format_key: FormatKey | None) -> RunFormat:
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
