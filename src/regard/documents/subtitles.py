"""SubRip reader (.srt): the text of each cue; numbers, times and line structure stay."""

import re
from collections.abc import Iterator

from regard.documents.markup_alignment import place_markup, segment_slot
from regard.documents.segments import build_segment, split_inline_tags
from regard.documents.template import SlotSpan, Template, build_template, to_single_line
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
    segment = build_segment(split_inline_tags(text[start:end], SUBTITLE_CODE))
    if segment is None:
        return None
    start, end = start + segment.lead_length, end - segment.tail_length

    def write(translation: str) -> str:
        return "".join(part.text for part in place_markup(segment, to_single_line(translation)))

    return SlotSpan(start, end, segment_slot(segment, text[start:end], write))
