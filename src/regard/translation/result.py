"""Translation: an answer, with all that is known about it."""

import json
import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from regard.inference.alignment import format_pharaoh
from regard.jobs.line_report import LineIssue

TranslationStatus = Literal["whole", "split", "cut", "skipped", "impossible"]


class WordConfidence(NamedTuple):
    """A word of a translation, and how sure the model was of it."""

    text: str
    confidence: float
    """The probability of its least likely piece, given all before it."""


@dataclass(frozen=True, slots=True)
class Translation:
    """One text's translation; of a text that was split, its parts put together."""

    text: str
    """On one line."""
    score: float = 0.0
    """What translations of a text are compared by: log-probability over length penalty; of parts, the sum."""
    log_probability: float = 0.0
    """Of all pieces and the end mark; of parts, the sum."""
    tokens: tuple[str, ...] = ()
    """The pieces it was written in."""
    alternatives: tuple["Translation", ...] = ()
    """The next best, the best first; of a text that was split, none."""
    alignment: tuple[tuple[int, int], ...] | None = None
    """Source word and word of the translation that belong together, counted from 0; None: not asked for."""
    words: tuple[WordConfidence, ...] | None = None
    """Its words with their confidences; None: not asked for."""
    status: TranslationStatus = "whole"
    """What became of the text if it was too long, or if nothing keeps to all that is asked."""
    message: str = ""
    """The same for people; empty if it was whole."""


IMPOSSIBLE_TRANSLATION = Translation(
    "",
    -math.inf,
    -math.inf,
    status="impossible",
    message="no translation was found that keeps to all that is asked",
)


class Continuation(NamedTuple):
    """A way in which a translation could go on."""

    token: str
    """What comes next; empty where the translation could end."""
    probability: float
    """Of that piece, after all before it."""
    translation: Translation
    """The best translation found that goes on so."""


@dataclass(frozen=True)
class RowFormat:
    """What is written of each translation; by default its text alone, on one line."""

    include_alternatives: bool = False
    """The next best too: the number of the source line first, because several lines may belong to it."""
    scores: bool = False
    alignments: bool = False
    confidences: bool = False
    """In JSON only."""
    json: bool = False
    """Everything that is known, as one JSON object, whose keys are the same for every line."""


TEXT_ONLY = RowFormat()


def format_rows(
    row_format: RowFormat, line: int, source: str | None, translation: Translation, issue: LineIssue | None
) -> str:
    """The lines for one source line, each with its newline."""
    if row_format.json:
        said = None if issue is None else {"kind": issue.kind, "said": issue.message}
        object_ = {"line": line, "source": source, **_as_dict(row_format, translation), "trouble": said}
        if row_format.include_alternatives:
            object_["alternatives"] = [_as_dict(row_format, other) for other in translation.alternatives]
        return json.dumps(object_, ensure_ascii=False, allow_nan=False) + "\n"
    shown = (translation, *translation.alternatives) if row_format.include_alternatives else (translation,)
    return "".join(_columns(row_format, line, translation) + "\n" for translation in shown)


def _columns(form: RowFormat, line: int, found: Translation) -> str:
    """Tabs lie between columns and nowhere else."""
    columns = [str(line)] if form.include_alternatives else []
    columns += [f"{found.score:.4f}"] if form.scores else []
    rest = [format_pharaoh(found.alignment or ())] if form.alignments else []
    alone = not columns and not rest
    return "\t".join([*columns, found.text if alone else found.text.replace("\t", " "), *rest])


def _as_dict(form: RowFormat, found: Translation) -> dict[str, Any]:
    known: dict[str, Any] = {
        "translation": found.text,
        "score": _finite(found.score),
        "log_probability": _finite(found.log_probability),
        "tokens": list(found.tokens),
    }
    if form.alignments:
        known["alignment"] = [list(pair) for pair in found.alignment or ()]
    if form.confidences:
        known["words"] = [word._asdict() for word in found.words or ()]
    return known


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None
