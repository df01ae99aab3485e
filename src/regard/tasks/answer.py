"""Translation: an answer, with all that is known about it."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

Fate = Literal["whole", "split", "cut", "skipped", "impossible"]


class Word(NamedTuple):
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
    words: tuple[Word, ...] | None = None
    """Its words with their confidences; None: not asked for."""
    fate: Fate = "whole"
    """What became of the text if it was too long, or if nothing keeps to all that is asked."""
    note: str = ""
    """The same for people; empty if it was whole."""


IMPOSSIBLE = Translation(
    "",
    -math.inf,
    -math.inf,
    fate="impossible",
    note="no translation was found that keeps to all that is asked",
)


class Continuation(NamedTuple):
    """A way in which a translation could go on."""

    piece: str
    """What comes next; empty where the translation could end."""
    probability: float
    """Of that piece, after all before it."""
    best: Translation
    """The best translation found that goes on so."""
