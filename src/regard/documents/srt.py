"""SubRip subtitles: the text of each cue, which keeps its number, its times and its lines."""

import re
from collections.abc import Iterator

from regard.documents.markup_alignment import placed
from regard.documents.segments import marked, tag_pieces
from regard.documents.template import Slot, Span, Template, cut, one_line, unless_same
from regard.errors import DataError

TIME = re.compile(r"[ \t]*(\d+:)?\d+:\d+[,.]\d+[ \t]*-->[ \t]*(\d+:)?\d+:\d+[,.]\d+.*")
BROKEN = re.compile(r"\s*\d+:\d+:\d+[,.\d]*\s*-*->")
"""A time of day to the second and an arrow: nobody says that, so if it is no time, one was meant."""
SOME_TIME = re.compile(r"\s*\d+:\d.*->")
NUMBER = re.compile(r"\s*\d+\s*")
SPEAKER = re.compile(r"\s*(?:<[^>]*>|\{\\[^}]*\})*\s*[-–—♪♫]")
"""Begins what somebody else says, or a line of a song: a text by itself."""
CODE = re.compile(
    r"</?(?:i|b|u|s|font|ruby|rt|c|v)(?:[ .][^<>]*)?>|\{\\[^{}]*\}|\A\s*[-–—]|[♪♫]+", re.IGNORECASE
)
LINE = re.compile(r"[^\n]*\n?")


def read_srt(text: str, name: str) -> Template:
    """One text for each cue, or for each speaker in it."""
    return cut(text, [span for block in _blocks(text, name) if (span := _span(text, *block)) is not None])


def _blocks(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Where the lines of a speaker start and end."""
    lines = [match.span() for match in LINE.finditer(text)][:-1]
    words = [text[start:end].rstrip() for start, end in lines]
    timed = False
    begun: int | None = None
    for k, (start, _) in enumerate(lines):
        is_time = TIME.fullmatch(words[k])
        if _is_broken_time(words, k):
            raise DataError(f"{name} line {k + 1} is no time; write 00:00:01,000 --> 00:00:02,000")
        is_number = k + 1 < len(lines) and NUMBER.fullmatch(words[k]) and _is_meant_as_time(words, k + 1)
        if words[k] and not is_time and not is_number and not timed:
            raise DataError(
                f"{name} line {k + 1} has text before the first time; a cue is number, times, text"
            )
        ends = not words[k] or is_time or is_number
        if begun is not None and (ends or SPEAKER.match(words[k])):
            yield begun, start
            begun = None
        if not ends and begun is None:
            begun = start
        timed = timed or bool(is_time)
    if begun is not None:
        yield begun, len(text)


def _is_meant_as_time(words: list[str], k: int) -> bool:
    return TIME.fullmatch(words[k]) is not None or _is_broken_time(words, k)


def _is_broken_time(words: list[str], k: int) -> bool:
    """Whether a time was meant that is none. Somebody may say "10:30 -> 11:00": that is one only where a
    time must be, below the number that begins a cue."""
    if TIME.fullmatch(words[k]):
        return False
    begins = k > 0 and NUMBER.fullmatch(words[k - 1]) and (k == 1 or not words[k - 2])
    return bool(BROKEN.match(words[k]) or (begins and SOME_TIME.match(words[k])))


def _span(text: str, start: int, end: int) -> Span | None:
    sentence = marked(tag_pieces(text[start:end], CODE))
    if sentence is None:
        return None
    start, end = start + sentence.lead, end - sentence.tail

    def write(translation: str) -> str:
        return "".join(part.text for part in placed(sentence, one_line(translation)))

    return Span(start, end, Slot(sentence.text, unless_same(sentence.text, text[start:end], write)))
