"""What becomes of pairs that are longer than the model takes."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import compress

from regard.data.config import Long
from regard.text.tokenizer import Tokenizer

Rows = list[list[int]]
END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
"""After a sign that ends a sentence."""


def tokenize_pairs(
    texts: Sequence[tuple[str, str]], tokenizer: Tokenizer, longest: int, policy: Long
) -> tuple[Rows, Rows, Counter[str]]:
    """Ids of both sides, none over `longest`; and how many pairs were too long, by what became of them."""
    source, target = (tokenizer.tokenize(side) for side in zip(*texts, strict=True))
    fits = [len(a) <= longest and len(b) <= longest for a, b in zip(source, target, strict=True)]
    if all(fits):
        return source, target, Counter()
    long = [i for i, fit in enumerate(fits) if not fit]
    if policy == "cut":
        for side in (source, target):
            side[:] = [row[:longest] for row in side]
        return source, target, Counter(cut=len(long))
    source, target = list(compress(source, fits)), list(compress(target, fits))
    if policy == "drop":
        return source, target, Counter(dropped=len(long))
    counts = Counter()
    for i in long:
        parts = split_pair(*texts[i])
        rows = [tokenizer.tokenize(side) for side in zip(*parts, strict=True)]
        if len(parts) == 1 or any(len(row) > longest for side in rows for row in side):
            counts["dropped"] += 1
            continue
        source += rows[0]
        target += rows[1]
        counts += Counter({"split": 1, "parts": len(parts)})
    return source, target, counts


def split_pair(source: str, target: str) -> list[tuple[str, str]]:
    """Sentence by sentence, if both sides have as many; else the pair as it is."""
    sources, targets = ([part for part in END.split(side) if part] for side in (source, target))
    if len(sources) != len(targets):
        return [(source, target)]
    return list(zip(sources, targets, strict=True))
