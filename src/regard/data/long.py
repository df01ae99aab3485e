"""What becomes of pairs that are longer than the model takes."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple

from regard.data.config import Long
from regard.data.variants import NO_DROPOUT, PieceDropout, Ways, cut
from regard.text.tokenizer import Tokenizer

Rows = list[list[int]]
Numbered = tuple[int, tuple[str, str]]
"""A pair, and the line that it stands on, counted from 1."""
END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
"""After a sign that ends a sentence."""


class Tokenized(NamedTuple):
    """Pairs as ids, none too long."""

    source: Rows
    target: Rows
    lines: list[int]
    """The one that each pair comes from, in however many ways it is cut."""
    long: Counter[str]
    """How many pairs were too long, by what became of them."""


def tokenize_pairs(
    texts: Sequence[Numbered],
    tokenizer: Tokenizer,
    longest: int,
    policy: Long,
    dropout: PieceDropout = NO_DROPOUT,
    first: int = 0,
) -> Tokenized:
    """Ids of both sides, none over `longest`.

    A pair that is cut into pieces in several ways has as many rows on each side, one after the other,
    and is too long if one of them is. `first` is the place of the first text in its corpus.
    """
    lines, pairs = [line for line, _ in texts], [pair for _, pair in texts]
    source, target = (cut(side, tokenizer, dropout, first) for side in zip(*pairs, strict=True))
    fits = [_length(a) <= longest and _length(b) <= longest for a, b in zip(source, target, strict=True)]
    long = [i for i, fit in enumerate(fits) if not fit]
    counts = Counter[str]()
    if long and policy == "cut":
        source, target = ([[row[:longest] for row in ways] for ways in side] for side in (source, target))
        counts["cut"] = len(long)
    elif long:
        source, target = list(compress(source, fits)), list(compress(target, fits))
        lines = list(compress(lines, fits))
        for i in long:
            line, pair = texts[i]
            parts = split_pair(*pair) if policy == "split" else []
            rows = [cut(side, tokenizer, dropout, first + i) for side in zip(*parts, strict=True)]
            if len(parts) < 2 or any(_length(ways) > longest for side in rows for ways in side):
                counts["dropped"] += 1
                continue
            source += rows[0]
            target += rows[1]
            lines += [line] * len(parts)
            counts += Counter({"split": 1, "parts": len(parts)})
    return Tokenized(_flat(source), _flat(target), lines, counts)


def _flat(side: list[Ways]) -> Rows:
    return [row for ways in side for row in ways]


def _length(ways: Ways) -> int:
    return max(map(len, ways))


def split_pair(source: str, target: str) -> list[tuple[str, str]]:
    """Sentence by sentence, if both sides have as many; else the pair as it is."""
    sources, targets = ([part for part in END.split(side) if part] for side in (source, target))
    if len(sources) != len(targets):
        return [(source, target)]
    return list(zip(sources, targets, strict=True))
