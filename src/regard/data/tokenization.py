"""What becomes of pairs that are longer than the model takes."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal, NamedTuple

from regard.data.config import LongPairPolicy
from regard.text.bpe import pretokenize
from regard.text.bpe_dropout import BPEDropoutSampler
from regard.text.tokenizer import Tokenizer

TokenRows = list[list[int]]
NumberedPair = tuple[int, tuple[str, str]]
"""A pair, and the line that it stands on, counted from 1."""
SENTENCE_BREAK = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
"""After a sign that ends a sentence."""


TokenizationVariants = list[list[int]]
"""One text: its ids in each way."""


@dataclass(frozen=True)
class BPEDropout:
    """How a corpus is cut: with which BPE dropout, in how many ways, by which seed."""

    rate: float
    variants: int
    seed: int


NO_BPE_DROPOUT = BPEDropout(0.0, 1, 0)


def tokenize_variants(
    texts: Sequence[str], tokenizer: Tokenizer, dropout: BPEDropout, first_index: int
) -> list[TokenizationVariants]:
    """Each text in each way; `first` is the place of the first text in its corpus, done in parts."""
    if dropout == NO_BPE_DROPOUT:
        return [[row] for row in tokenizer.tokenize(texts)]
    words = pretokenize(tokenizer, texts)
    sampler = BPEDropoutSampler(tokenizer, dropout.rate, dropout.seed)
    variants = [sampler.tokenize_words(words, variant, first_index) for variant in range(dropout.variants)]
    return [list(ways) for ways in zip(*variants, strict=True)]


class TokenizedPairs(NamedTuple):
    """Pairs as ids, none too long."""

    source: TokenRows
    target: TokenRows
    line_numbers: list[int]
    """The one that each pair comes from, in however many ways it is cut."""
    long_counts: Counter[str]
    """How many pairs were too long, by what became of them."""


def tokenize_pairs(
    texts: Sequence[NumberedPair],
    tokenizer: Tokenizer,
    max_length: int,
    policy: LongPairPolicy,
    dropout: BPEDropout = NO_BPE_DROPOUT,
    first_index: int = 0,
) -> TokenizedPairs:
    """Ids of both sides, none over `longest`.

    A pair that is cut into pieces in several ways has as many rows on each side, one after the other,
    and is too long if one of them is. `first` is the place of the first text in its corpus.
    """
    lines, pairs = [line for line, _ in texts], [pair for _, pair in texts]
    source, target = (
        tokenize_variants(side, tokenizer, dropout, first_index) for side in zip(*pairs, strict=True)
    )
    fits = [
        _max_length(a) <= max_length and _max_length(b) <= max_length
        for a, b in zip(source, target, strict=True)
    ]
    long = [i for i, fit in enumerate(fits) if not fit]
    counts = Counter[str]()
    if long and policy == "cut":
        source, target = ([[row[:max_length] for row in ways] for ways in side] for side in (source, target))
        counts["cut"] = len(long)
    elif long:
        source, target = list(compress(source, fits)), list(compress(target, fits))
        lines = list(compress(lines, fits))
        for i in long:
            line, pair = texts[i]
            parts = split_pair_sentences(*pair) if policy == "split" else []
            rows = [
                tokenize_variants(side, tokenizer, dropout, first_index + i)
                for side in zip(*parts, strict=True)
            ]
            if len(parts) < 2 or any(_max_length(ways) > max_length for side in rows for ways in side):
                counts["dropped"] += 1
                continue
            source += rows[0]
            target += rows[1]
            lines += [line] * len(parts)
            counts += Counter({"split": 1, "parts": len(parts)})
    return TokenizedPairs(_flatten_variants(source), _flatten_variants(target), lines, counts)


def _flatten_variants(side: list[TokenizationVariants]) -> TokenRows:
    return [row for ways in side for row in ways]


def _max_length(ways: TokenizationVariants) -> int:
    return max(map(len, ways))


def split_pair_sentences(source: str, target: str) -> list[tuple[str, str]]:
    """Sentence by sentence, if both sides have as many; else the pair as it is."""
    sources, targets = ([part for part in SENTENCE_BREAK.split(side) if part] for side in (source, target))
    if len(sources) != len(targets):
        return [(source, target)]
    return list(zip(sources, targets, strict=True))


LongTextPolicy = Literal["cut", "drop"]


def tokenize_labelled_texts(
    texts: Sequence[NumberedPair],
    tokenizer: Tokenizer,
    labels: Mapping[str, int],
    max_length: int,
    policy: LongTextPolicy,
    dropout: BPEDropout = NO_BPE_DROPOUT,
    first_index: int = 0,
) -> TokenizedPairs:
    """Ids of each text, none over `longest`, and the number of its label; all labels must be known.

    Whoever cuts a text off keeps its beginning, where most say what they are about.
    """
    lines, pairs = [line for line, _ in texts], [pair for _, pair in texts]
    sides = list(
        zip(
            tokenize_variants([text for text, _ in pairs], tokenizer, dropout, first_index),
            pairs,
            lines,
            strict=True,
        )
    )
    fits = [max(map(len, ways)) <= max_length for ways, *_ in sides]
    long = len(fits) - sum(fits)
    if policy == "drop":
        sides = [side for side, fit in zip(sides, fits, strict=True) if fit]
    return TokenizedPairs(
        [row[:max_length] for ways, *_ in sides for row in ways],
        [[labels[label]] for ways, (_, label), _ in sides for _ in ways],
        [line for *_, line in sides],
        Counter({"cut" if policy == "cut" else "dropped": long} if long else {}),
    )
