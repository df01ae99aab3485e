"""Text cut into pieces in several ways, so that epochs differ in more than their order."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.text.segmenting import Sampler
from regard.text.tokenizer import Tokenizer
from regard.text.words import split_words

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
