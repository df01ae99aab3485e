"""SubRip subtitles: the text of each cue, which keeps its number, its times and its lines."""

import re
from collections.abc import Iterator

from regard.documents.markup_alignment import place_markup
from regard.documents.segments import build_segment, split_inline_tags
from regard.documents.template import (
    Slot,
    SlotSpan,
    Template,
    build_template,
    keep_if_unchanged,
    to_single_line,
)
from regard.errors import DataError

CUE_TIME = re.compile(r"[ \t]*(\d+:)?\d+:\d+[,.]\d+[ \t]*-->[ \t]*(\d+:)?\d+:\d+[,.]\d+.*")
BROKEN_CUE_TIME = re.compile(r"\s*\d+:\d+:\d+[,.\d]*\s*-*->")
"""A time of day to the second and an arrow: nobody says that, so if it is no time, one was meant."""
LOOSE_CUE_TIME = re.compile(r"\s*\d+:\d.*->")
CUE_NUMBER = re.compile(r"\s*\d+\s*")
SPEAKER_CHANGE = re.compile(r"\s*(?:<[^>]*>|\{\\[^}]*\})*\s*[-–—♪♫]")
"""Begins what somebody else says, or a line of a song: a text by itself."""
SUBTITLE_CODE = re.compile(
    r"</?(?:i|b|u|s|font|ruby|rt|c|v)(?:[ .][^<>]*)?>|\{\\[^{}]*\}|\A\s*[-–—]|[♪♫]+", re.IGNORECASE
)
LINE = re.compile(r"[^\n]*\n?")


def read_srt(text: str, name: str) -> Template:
    """One text for each cue, or for each speaker in it."""
    return build_template(
        text,
        [span for block in _speaker_blocks(text, name) if (span := _speaker_span(text, *block)) is not None],
    )


def _speaker_blocks(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Where the lines of a speaker start and end."""
    lines = [match.span() for match in LINE.finditer(text)][:-1]
    words = [text[start:end].rstrip() for start, end in lines]
    timed = False
    begun: int | None = None
    for k, (start, _) in enumerate(lines):
        is_time = CUE_TIME.fullmatch(words[k])
        if _is_broken_time(words, k):
            raise DataError(f"{name} line {k + 1} is no time; write 00:00:01,000 --> 00:00:02,000")
        is_number = k + 1 < len(lines) and CUE_NUMBER.fullmatch(words[k]) and _is_intended_time(words, k + 1)
        if words[k] and not is_time and not is_number and not timed:
            raise DataError(
                f"{name} line {k + 1} has text before the first time; a cue is number, times, text"
            )
        ends = not words[k] or is_time or is_number
        if begun is not None and (ends or SPEAKER_CHANGE.match(words[k])):
            yield begun, start
            begun = None
        if not ends and begun is None:
            begun = start
        timed = timed or bool(is_time)
    if begun is not None:
        yield begun, len(text)


def _is_intended_time(words: list[str], k: int) -> bool:
    return CUE_TIME.fullmatch(words[k]) is not None or _is_broken_time(words, k)


def _is_broken_time(words: list[str], k: int) -> bool:
    """Whether a time was meant that is none. Somebody may say "10:30 -> 11:00": that is one only where a
    time must be, below the number that begins a cue."""
    if CUE_TIME.fullmatch(words[k]):
        return False
    begins = k > 0 and CUE_NUMBER.fullmatch(words[k - 1]) and (k == 1 or not words[k - 2])
    return bool(BROKEN_CUE_TIME.match(words[k]) or (begins and LOOSE_CUE_TIME.match(words[k])))


def _speaker_span(text: str, start: int, end: int) -> SlotSpan | None:
    sentence = build_segment(split_inline_tags(text[start:end], SUBTITLE_CODE))
    if sentence is None:
        return None
    start, end = start + sentence.lead_length, end - sentence.tail_length

    def write(translation: str) -> str:
        return "".join(part.text for part in place_markup(sentence, to_single_line(translation)))

    return SlotSpan(start, end, Slot(sentence.text, keep_if_unchanged(sentence.text, text[start:end], write)))
