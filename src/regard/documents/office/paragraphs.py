"""Paragraphs of XML parts: their texts, and what stands between them, with positions in the part.

One reader serves WordprocessingML, DrawingML, SpreadsheetML and OpenDocument: a `TextDialect` names the
elements of each.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from regard.documents.markup_alignment import find_missing_placeholders
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
from regard.documents.office.text_dialect import (
    FormatKey,
    NameResolver,
    TextDialect,
    build_run_format,
    read_attribute,
    unescape_xml,
)
from regard.documents.segments import InlineKind
from regard.documents.template import Slot
from regard.documents.web.html_tokens import MarkupToken, scan_markup

SIMPLE_FIELD, FIELD_CHARACTER, FIELD_INSTRUCTION = "w:fldSimple", "w:fldChar", "w:instrText"
CDATA_START, CDATA_END = "<![CDATA[", "]]>"


SkipPredicate = Callable[[str, str], bool]
"""Whether the text of an element is not translated, by its name and start tag."""


@dataclass(frozen=True)
class PartTemplate:
    """An XML part whose segments each change several places."""

    document: str
    paragraphs: Sequence[RunSegment]
    fixed_edits: Sequence[TextEdit] = ()
    """Edits that do not depend on a translation."""

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The texts and what their translations lack; `render` fills them itself, in several places."""
        return tuple(
            Slot(paragraph.text, str, partial(find_missing_placeholders, paragraph.segment))
            for paragraph in self.paragraphs
        )

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
    run_format = build_run_format(document, dialect, format_key)
    segments = _ParagraphReader(document, dialect, run_format, is_skipped).read()
    return PartTemplate(document, [segment for segment in segments if segment.text not in untranslated])


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
        if name in dialect.breaks:
            paragraph.end_text(token.start, token.end)
        if name == dialect.run and token.kind == "start" and paragraph.run is None:
            tag = self._document[token.start : token.end]
            paragraph.run = TextRun(token.start, properties="" if dialect.texts else tag)
        elif name == dialect.run or name in dialect.containers or name == SIMPLE_FIELD:
            self._open_container(paragraph, name, token)
        elif token.kind == "start":
            paragraph.inside = _OpenElement(name, token)
        else:
            self._read_element(paragraph, _OpenElement(name, token), token.end)

    def _open_container(self, paragraph: _Paragraph, name: str, token: MarkupToken) -> None:
        if token.kind == "empty":
            self._add_object(paragraph, token.start, token.end, "")
            return
        tag = self._document[token.start : token.end]
        if name == SIMPLE_FIELD:
            self._fields.begin(token.start)
            self._fields.add_instruction(read_attribute(tag, "instr") or "")
            self._add_field_code(paragraph, self._fields.separate(token.end))
            return
        self._pairs += 1
        paragraph.nested_runs += name == self._dialect.run
        self._containers.append(f"pair{self._pairs}")
        before = None if name in self._dialect.wrapped else token.start
        after = None if name in self._dialect.wrappers else token.end
        self._add_item(paragraph, RunCode(InlineKind.OPEN, before, after, self._containers[-1]))

    def _read_end(self, paragraph: _Paragraph, name: str, token: MarkupToken) -> None:
        if name == self._dialect.run and not paragraph.nested_runs:
            if paragraph.run is not None:
                paragraph.run.end = token.end
            paragraph.run = None
        elif name == SIMPLE_FIELD:
            self._add_field_code(paragraph, self._fields.end(token.end))
        elif (name == self._dialect.run or name in self._dialect.containers) and self._containers:
            paragraph.nested_runs -= name == self._dialect.run
            before = None if name in self._dialect.wrappers else token.start
            after = None if name in self._dialect.wrapped else token.end
            self._add_item(paragraph, RunCode(InlineKind.CLOSE, before, after, self._containers.pop()))

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
        elif name == FIELD_CHARACTER:
            self._read_field_character(paragraph, element)
        elif name == FIELD_INSTRUCTION:
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
