"""Texts and their labels as ids: the label is a row of one, so labelled texts are stored as pairs are."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from regard.data.long import Numbered, Tokenized
from regard.data.variants import NO_DROPOUT, PieceDropout, cut
from regard.text.tokenizer import Tokenizer

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
