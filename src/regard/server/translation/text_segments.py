"""Segments of a text: the lines or sentences that are translated, and the text put together again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regard.documents.template import LayeredTemplate, Template
from regard.documents.web.html import read_html
from regard.documents.web.tagged_text import read_tagged_text
from regard.server.translation.requests import SegmentMode, TextRequest
from regard.text.sentences import join_with_source_spacing, split_sentences


@dataclass(frozen=True)
class SegmentedText:
    """The segments of a text, without surrounding white space; none is blank."""

    segments: tuple[str, ...]
    assemble: Callable[[Sequence[str]], str]
    """Maps one translation for each segment to the translation of the text."""


def split_text(text: str, request: TextRequest) -> SegmentedText:
    """Return the segments of a text as `regard translate` has them for lines or a document."""
    if request.format == "html":
        return _split_template(read_html(text))
    if request.format == "xml":
        return _split_template(read_tagged_text(text, request.xml_tags))
    return _split_lines(text, request.segments)


def _split_lines(text: str, mode: SegmentMode) -> SegmentedText:
    """Split at newlines and nothing else; the carriage returns of Windows are kept."""
    lines = text.split("\n")
    split = split_sentences if mode == "sentences" else _whole_line
    sentences = [split(line) for line in lines]

    def assemble(joined: Sequence[str]) -> str:
        ends = ("\r" if line.endswith("\r") else "" for line in lines)
        return "\n".join(line + end for line, end in zip(joined, ends, strict=True))

    return _segmented(sentences, assemble, keep_source=False)


def _whole_line(line: str) -> list[str]:
    return [line]


def _split_template(template: LayeredTemplate | Template) -> SegmentedText:
    return _segmented([split_sentences(segment) for segment in template.segments], template.render, True)


def _segmented(
    groups: Sequence[Sequence[str]], render: Callable[[Sequence[str]], str], keep_source: bool
) -> SegmentedText:
    """Return the non-blank parts of all groups; with `keep_source`, one without a translation stays."""
    stripped = [[part.strip() for part in group] for group in groups]

    def assemble(translations: Sequence[str]) -> str:
        remaining = iter(translations)
        joined = []
        for group, parts in zip(groups, stripped, strict=True):
            translated = [part and (next(remaining) or (part if keep_source else "")) for part in parts]
            joined.append(join_with_source_spacing(group, translated))
        return render(joined)

    return SegmentedText(tuple(part for group in stripped for part in group if part), assemble)
