"""Subtitle readers (.srt, .vtt): the text of each cue; numbers, times and line structure stay."""

import re
from collections.abc import Iterable, Iterator

from regard.documents.markup_alignment import place_markup, segment_slot
from regard.documents.segments import InlineFragment, InlineKind, build_segment, split_inline_tags
from regard.documents.template import SlotSpan, SlotWriter, Template, build_template, to_single_line
from regard.documents.web.entities import EntityEscaper, split_entities
from regard.errors import DataError

CUE_TIME = re.compile(r"[ \t]*(\d+:)?\d+:\d+[,.]\d+[ \t]*-->[ \t]*(\d+:)?\d+:\d+[,.]\d+.*")
BROKEN_CUE_TIME = re.compile(r"\s*\d+:\d+:\d+[,.\d]*\s*-*->")
"""A time to the second and an arrow: never spoken text, so a malformed cue time."""
LOOSE_CUE_TIME = re.compile(r"\s*\d+:\d.*->")
CUE_NUMBER = re.compile(r"\s*\d+\s*")
SPEAKER_CHANGE = re.compile(r"\s*(?:<[^>]*>|\{\\[^}]*\})*\s*[-–—♪♫]")
"""The start of another speaker's line, or of a song line: a text of its own."""
SUBTITLE_CODE = re.compile(
    r"</?(?:i|b|u|s|font|ruby|rt|c|v)(?:[ .][^<>]*)?>|\{\\[^{}]*\}|\A\s*[-–—]|[♪♫]+", re.IGNORECASE
)
LINE = re.compile(r"[^\n]*\n?")


def read_srt(text: str, name: str) -> Template:
    """Return the template of one text per cue, or per speaker in a cue."""
    return build_template(
        text,
        [span for block in _speaker_blocks(text, name) if (span := _speaker_span(text, *block)) is not None],
    )


def _speaker_blocks(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of the lines of each speaker."""
    lines = [match.span() for match in LINE.finditer(text)][:-1]
    lines_text = [text[start:end].rstrip() for start, end in lines]
    timed = False
    block_start: int | None = None
    for index, (start, _) in enumerate(lines):
        is_time = CUE_TIME.fullmatch(lines_text[index])
        if _is_broken_time(lines_text, index):
            raise DataError(f"{name} line {index + 1} is not a cue time; write 00:00:01,000 --> 00:00:02,000")
        is_number = (
            index + 1 < len(lines)
            and CUE_NUMBER.fullmatch(lines_text[index])
            and _is_intended_time(lines_text, index + 1)
        )
        if lines_text[index] and not is_time and not is_number and not timed:
            raise DataError(
                f"{name} line {index + 1} has text before the first time; a cue is number, times, text"
            )
        ends = not lines_text[index] or is_time or is_number
        if block_start is not None and (ends or SPEAKER_CHANGE.match(lines_text[index])):
            yield block_start, start
            block_start = None
        if not ends and block_start is None:
            block_start = start
        timed = timed or bool(is_time)
    if block_start is not None:
        yield block_start, len(text)


def _is_intended_time(lines_text: list[str], index: int) -> bool:
    return CUE_TIME.fullmatch(lines_text[index]) is not None or _is_broken_time(lines_text, index)


def _is_broken_time(lines_text: list[str], index: int) -> bool:
    """Whether a line is a malformed cue time.

    Spoken text may be "10:30 -> 11:00": that counts as a cue time only below the number of a cue.
    """
    if CUE_TIME.fullmatch(lines_text[index]):
        return False
    begins = (
        index > 0
        and CUE_NUMBER.fullmatch(lines_text[index - 1])
        and (index == 1 or not lines_text[index - 2])
    )
    return bool(
        BROKEN_CUE_TIME.match(lines_text[index]) or (begins and LOOSE_CUE_TIME.match(lines_text[index]))
    )


def _speaker_span(text: str, start: int, end: int) -> SlotSpan | None:
    return _cue_span(text, start, end, split_inline_tags(text[start:end], SUBTITLE_CODE), str)


def _cue_span(
    text: str, start: int, end: int, fragments: Iterable[InlineFragment], escape: SlotWriter
) -> SlotSpan | None:
    segment = build_segment(fragments)
    if segment is None:
        return None
    start, end = start + segment.lead_length, end - segment.tail_length

    def write(translation: str) -> str:
        parts = place_markup(segment, to_single_line(translation))
        return "".join(part.text if part.is_raw else escape(part.text) for part in parts)

    return SlotSpan(start, end, segment_slot(segment, text[start:end], write))


VTT_SIGNATURE = re.compile(r"WEBVTT(?=[ \t\r\n]|\Z)")
VTT_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
VTT_BLOCK = re.compile(r"(?:NOTE|STYLE|REGION)(?=\s|\Z)")
"""The first word of a block that is not a cue."""
VTT_SPEAKER_CHANGE = re.compile(rf"\s*<v[ .\t]|{SPEAKER_CHANGE.pattern}")
VTT_CODE = re.compile(r"</?[A-Za-z][^<>]*>|<\d[\d:.]*>|\A\s*[-–—]|[♪♫]+")
"""A tag (voice, class, language, ruby), a time inside a cue, the dash of a speaker, or music."""


def read_vtt(text: str, name: str) -> Template:
    """Return the template of one text per cue, or per speaker in a cue; comments and styles stay."""
    if not VTT_SIGNATURE.match(text):
        raise DataError(f"{name} line 1 is not WEBVTT, the word with which every .vtt starts")
    escaper = EntityEscaper(text, xml=False)

    def escape(part: str) -> str:
        return escaper(part).replace("-->", "--&gt;")

    spans = (
        _cue_span(text, start, end, _vtt_fragments(text[start:end]), escape)
        for start, end in _vtt_speaker_blocks(text, name)
    )
    return build_template(text, [span for span in spans if span is not None])


def _vtt_speaker_blocks(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of the lines of each speaker, as browsers find the cues."""
    is_cue = is_block = False
    block_start: int | None = None
    for number, line in enumerate(VTT_LINE.finditer(text), 1):
        content = line[0].rstrip()
        is_time = CUE_TIME.fullmatch(content) is not None
        if not content or is_time or VTT_BLOCK.match(content) or number == 1:
            is_block = number == 1 or (bool(content) and not is_time and not is_cue)
        if not is_time and not is_block and ("-->" in content or BROKEN_CUE_TIME.match(content)):
            raise DataError(f"{name} line {number} is not a cue time; write 00:01.000 --> 00:02.000")
        is_text = is_cue and content != "" and not is_time
        if block_start is not None and (not is_text or VTT_SPEAKER_CHANGE.match(content)):
            yield block_start, line.start()
            block_start = None
        if is_text and block_start is None:
            block_start = line.start()
        is_cue = is_time or is_text
    if block_start is not None:
        yield block_start, len(text)


def _vtt_fragments(cue: str) -> Iterator[InlineFragment]:
    for fragment in split_inline_tags(cue, VTT_CODE):
        if fragment.kind is InlineKind.TEXT:
            yield from split_entities(fragment.raw, xml=False)
        else:
            yield fragment
