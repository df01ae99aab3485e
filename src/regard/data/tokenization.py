"""What becomes of pairs that are longer than the model takes."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal, NamedTuple

from regard.data.config import Long
from regard.text.bpe import split_words
from regard.text.bpe_dropout import Sampler
from regard.text.tokenizer import Tokenizer

Rows = list[list[int]]
Numbered = tuple[int, tuple[str, str]]
"""A pair, and the line that it stands on, counted from 1."""
END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
"""After a sign that ends a sentence."""


Ways = list[list[int]]
"""One text: its ids in each way."""


@dataclass(frozen=True)
class PieceDropout:
    """How a corpus is cut: with which BPE dropout, in how many ways, by which seed."""

    rate: float
    ways: int
    seed: int


NO_DROPOUT = PieceDropout(0.0, 1, 0)


def cut(texts: Sequence[str], tokenizer: Tokenizer, dropout: PieceDropout, first: int) -> list[Ways]:
    """Each text in each way; `first` is the place of the first text in its corpus, done in parts."""
    if dropout == NO_DROPOUT:
        return [[row] for row in tokenizer.tokenize(texts)]
    words = split_words(tokenizer, texts)
    sampler = Sampler(tokenizer, dropout.rate, dropout.seed)
    variants = [sampler.rows(words, variant, first) for variant in range(dropout.ways)]
    return [list(ways) for ways in zip(*variants, strict=True)]


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


LongText = Literal["cut", "drop"]


def tokenize_labelled(
    texts: Sequence[Numbered],
    tokenizer: Tokenizer,
    labels: Mapping[str, int],
    longest: int,
    policy: LongText,
    dropout: PieceDropout = NO_DROPOUT,
    first: int = 0,
) -> Tokenized:
    """Ids of each text, none over `longest`, and the number of its label; all labels must be known.

    Whoever cuts a text off keeps its beginning, where most say what they are about.
    """
    lines, pairs = [line for line, _ in texts], [pair for _, pair in texts]
    sides = list(zip(cut([text for text, _ in pairs], tokenizer, dropout, first), pairs, lines, strict=True))
    fits = [max(map(len, ways)) <= longest for ways, *_ in sides]
    long = len(fits) - sum(fits)
    if policy == "drop":
        sides = [side for side, fit in zip(sides, fits, strict=True) if fit]
    return Tokenized(
        [row[:longest] for ways, *_ in sides for row in ways],
        [[labels[label]] for ways, (_, label), _ in sides for _ in ways],
        [line for *_, line in sides],
        Counter({"cut" if policy == "cut" else "dropped": long} if long else {}),
    )
