"""Tokenization of training text: BPE dropout variants, over-long pairs and texts, labels as ids."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple, Protocol, runtime_checkable

from regard.data.config import LongPairPolicy, LongTextPolicy
from regard.text.bpe import pretokenize
from regard.text.bpe_dropout import BPEDropoutSampler
from regard.text.tokenizer import Tokenizer

TokenRows = list[list[int]]
TokenizationVariants = list[list[int]]
"""The ids of one text in each variant."""
NumberedPair = tuple[int, tuple[str, str]]
"""A pair and its line number, counted from 1."""
SENTENCE_BREAK = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
"""The end of a sentence, when a long pair is split."""


@dataclass(frozen=True)
class BPEDropout:
    """Dropout rate, number of tokenizations of each text, and seed."""

    rate: float
    variants: int
    seed: int


NO_BPE_DROPOUT = BPEDropout(0.0, 1, 0)


class TokenizedPairs(NamedTuple):
    """Pairs as ids, none too long; the variants of a pair stand one after the other."""

    source: TokenRows
    target: TokenRows
    line_numbers: list[int]
    """One for each pair, however many variants it has."""
    long_counts: Counter[str]
    """Number of pairs that were too long, by what was done with them."""


@runtime_checkable
class CorpusTokenization(Protocol):
    """Turns the lines of one kind of corpus into ids."""

    @property
    def tokenizer(self) -> Tokenizer: ...

    @property
    def max_length(self) -> int:
        """Tokens of a side at most, <s> and </s> not counted."""
        ...

    @property
    def dropout(self) -> BPEDropout: ...

    @property
    def id_count(self) -> int:
        """Number of different ids on either side."""
        ...

    @property
    def cache_key(self) -> dict[str, Any]:
        """Everything but the text that the ids depend on."""
        ...

    def __call__(self, texts: Sequence[NumberedPair], first_index: int = 0) -> TokenizedPairs:
        """Tokenize lines; `first_index` is the place of the first in its corpus."""
        ...


@dataclass(frozen=True)
class PairTokenization:
    """Tokenizes both sides of sentence pairs.

    A pair has as many rows on each side as there are variants, and is too long if one of them is.
    """

    tokenizer: Tokenizer
    max_length: int
    long_policy: LongPairPolicy
    dropout: BPEDropout = NO_BPE_DROPOUT

    @property
    def id_count(self) -> int:
        return self.tokenizer.vocab_size

    @property
    def cache_key(self) -> dict[str, Any]:
        return {
            "kind": "pairs",
            "tokenizer": self.tokenizer.fingerprint,
            "max_length": self.max_length,
            "long": self.long_policy,
            "dropout": asdict(self.dropout),
        }

    def __call__(self, texts: Sequence[NumberedPair], first_index: int = 0) -> TokenizedPairs:
        lines, pairs = [line for line, _ in texts], [pair for _, pair in texts]
        source, target = (self._tokenize(side, first_index) for side in zip(*pairs, strict=True))
        fits = [self._fits(a) and self._fits(b) for a, b in zip(source, target, strict=True)]
        long = [i for i, fit in enumerate(fits) if not fit]
        counts = Counter[str]()
        if long and self.long_policy == "cut":
            source, target = (
                [[row[: self.max_length] for row in variants] for variants in side]
                for side in (source, target)
            )
            counts["cut"] = len(long)
        elif long:
            source, target = list(compress(source, fits)), list(compress(target, fits))
            lines = list(compress(lines, fits))
            for i in long:
                line, pair = texts[i]
                parts = split_pair_sentences(*pair) if self.long_policy == "split" else []
                sides = [self._tokenize(side, first_index + i) for side in zip(*parts, strict=True)]
                if len(parts) < 2 or not all(self._fits(variants) for side in sides for variants in side):
                    counts["dropped"] += 1
                    continue
                source += sides[0]
                target += sides[1]
                lines += [line] * len(parts)
                counts += Counter({"split": 1, "parts": len(parts)})
        return TokenizedPairs(_flatten_variants(source), _flatten_variants(target), lines, counts)

    def _tokenize(self, texts: Sequence[str], first_index: int) -> list[TokenizationVariants]:
        return tokenize_variants(texts, self.tokenizer, self.dropout, first_index)

    def _fits(self, variants: TokenizationVariants) -> bool:
        return max(map(len, variants)) <= self.max_length


@dataclass(frozen=True)
class LabelledTokenization:
    """Tokenizes texts, and turns their labels into rows of one id, so that they are stored like pairs.

    All labels must be known. A text that is cut keeps its beginning, where most texts state their topic.
    """

    tokenizer: Tokenizer
    labels: tuple[str, ...]
    max_length: int
    long_policy: LongTextPolicy
    dropout: BPEDropout = NO_BPE_DROPOUT

    @property
    def id_count(self) -> int:
        return max(self.tokenizer.vocab_size, len(self.labels))

    @property
    def cache_key(self) -> dict[str, Any]:
        return {
            "kind": "labelled",
            "tokenizer": self.tokenizer.fingerprint,
            "labels": self.labels,
            "max_length": self.max_length,
            "long": self.long_policy,
            "dropout": asdict(self.dropout),
        }

    @cached_property
    def _label_ids(self) -> dict[str, int]:
        return {label: id for id, label in enumerate(self.labels)}

    def __call__(self, texts: Sequence[NumberedPair], first_index: int = 0) -> TokenizedPairs:
        tokenized = tokenize_variants(
            [text for _, (text, _) in texts], self.tokenizer, self.dropout, first_index
        )
        rows = [
            (variants, self._label_ids[label], line)
            for variants, (line, (_, label)) in zip(tokenized, texts, strict=True)
        ]
        fits = [max(map(len, variants)) <= self.max_length for variants in tokenized]
        long = len(fits) - sum(fits)
        if self.long_policy == "drop":
            rows = list(compress(rows, fits))
        outcome = "cut" if self.long_policy == "cut" else "dropped"
        return TokenizedPairs(
            [row[: self.max_length] for variants, *_ in rows for row in variants],
            [[label] for variants, label, _ in rows for _ in variants],
            [line for *_, line in rows],
            Counter({outcome: long} if long else {}),
        )


def tokenize_variants(
    texts: Sequence[str], tokenizer: Tokenizer, dropout: BPEDropout, first_index: int
) -> list[TokenizationVariants]:
    """Return each text in each variant; `first_index` is the place of the first text in its corpus."""
    if dropout == NO_BPE_DROPOUT:
        return [[row] for row in tokenizer.tokenize(texts)]
    pretokenized = pretokenize(tokenizer, texts)
    sampler = BPEDropoutSampler(tokenizer, dropout.rate, dropout.seed)
    variants = [
        sampler.tokenize_words(pretokenized, variant, first_index) for variant in range(dropout.variants)
    ]
    return [list(rows) for rows in zip(*variants, strict=True)]


def split_pair_sentences(source: str, target: str) -> list[tuple[str, str]]:
    """Split a pair into sentences if both sides have the same number; return it unsplit otherwise."""
    sources, targets = ([part for part in SENTENCE_BREAK.split(side) if part] for side in (source, target))
    if len(sources) != len(targets):
        return [(source, target)]
    return list(zip(sources, targets, strict=True))


def _flatten_variants(side: list[TokenizationVariants]) -> TokenRows:
    return [row for variants in side for row in variants]
