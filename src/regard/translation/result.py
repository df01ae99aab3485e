"""Translation: the result of one text, and its output as a plain line, columns or JSON."""

import json
import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from regard.inference.alignment import format_pharaoh
from regard.jobs.line_report import LineIssue

TranslationStatus = Literal["whole", "split", "cut", "skipped", "impossible"]


class WordConfidence(NamedTuple):
    """A word of a translation with the model's confidence."""

    text: str
    confidence: float
    """The probability of its least probable token, given all tokens before it."""


@dataclass(frozen=True, slots=True)
class Translation:
    """The translation of one text; if the text was split, its parts merged."""

    text: str
    """On one line."""
    score: float = 0.0
    """Log-probability divided by the length penalty, which hypotheses are ranked by; of parts, the sum."""
    log_probability: float = 0.0
    """Of all tokens and the end mark; of parts, the sum."""
    tokens: tuple[str, ...] = ()
    alternatives: tuple["Translation", ...] = ()
    """The further hypotheses, best first; none for a text that was split."""
    alignment: tuple[tuple[int, int], ...] | None = None
    """Pairs (source word, target word), counted from 0; None: not requested."""
    words: tuple[WordConfidence, ...] | None = None
    """The words with their confidences; None: not requested."""
    status: TranslationStatus = "whole"
    """What was done about a text that was too long, or that no hypothesis satisfied the constraints."""
    message: str = ""
    """The status in words; empty if the text was translated whole."""
    unlike_training: bool | None = None
    """Whether the text is unlike the training text: its translation is less probable than 99 % of those in
    validation. None: the model has no calibration, or the search was constrained."""
    misplaced_terms: tuple[str, ...] = ()
    """Glossary terms that do not stand in place of what they replace, as "phrase -> term"."""


IMPOSSIBLE_TRANSLATION = Translation(
    "",
    -math.inf,
    -math.inf,
    status="impossible",
    message="no translation was found that satisfies all constraints",
)


class Continuation(NamedTuple):
    """One way to continue a partial translation."""

    token: str
    """The next token; empty where the translation could end."""
    probability: float
    """Of that token, given all tokens before it."""
    translation: Translation
    """The best translation found with that token next."""


@dataclass(frozen=True)
class RowFormat:
    """The output format of translations; by default the text alone, one line each."""

    include_alternatives: bool = False
    """Write the alternatives too, each line after the number of its source line."""
    scores: bool = False
    alignments: bool = False
    confidences: bool = False
    """In JSON only."""
    json: bool = False
    """Write one JSON object for each line, with the same keys for every line."""


TEXT_ONLY = RowFormat()


def format_rows(
    row_format: RowFormat, line: int, source: str | None, translation: Translation, issue: LineIssue | None
) -> str:
    """Return the output lines of one source line, each with its newline."""
    if row_format.json:
        entry = {
            "line": line,
            "source": source,
            **_as_dict(row_format, translation),
            "unlike_training": translation.unlike_training,
            "issue": None if issue is None else {"kind": issue.kind, "message": issue.message},
        }
        if row_format.include_alternatives:
            entry["alternatives"] = [_as_dict(row_format, other) for other in translation.alternatives]
        return json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n"
    rows = (translation, *translation.alternatives) if row_format.include_alternatives else (translation,)
    return "".join(_columns(row_format, line, row) + "\n" for row in rows)


def _columns(row_format: RowFormat, line: int, translation: Translation) -> str:
    """Join the columns with tabs; a tab in the text becomes a space if there are other columns."""
    before = [str(line)] if row_format.include_alternatives else []
    before += [f"{translation.score:.4f}"] if row_format.scores else []
    after = [format_pharaoh(translation.alignment or ())] if row_format.alignments else []
    text = translation.text.replace("\t", " ") if before or after else translation.text
    return "\t".join([*before, text, *after])


def _as_dict(row_format: RowFormat, translation: Translation) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "translation": translation.text,
        "score": _finite(translation.score),
        "log_probability": _finite(translation.log_probability),
        "tokens": list(translation.tokens),
    }
    if row_format.alignments:
        entry["alignment"] = [list(pair) for pair in translation.alignment or ()]
    if row_format.confidences:
        entry["words"] = [word._asdict() for word in translation.words or ()]
    return entry


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None
