"""Given translations, read by a model: how likely it holds each, piece by piece and word by word."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.bucketing import bucket_by_length
from regard.errors import DataError
from regard.inference.alignment import ForcedDecoding, align_words, word_confidences
from regard.inference.forced import ForcedDecoder
from regard.model.transformer import Transformer
from regard.text.token_spans import map_tokens_to_words
from regard.text.tokenizer import Tokenizer

FORCE_DECODE_BATCH_TOKENS = 2048
"""Padded tokens of the longer side that are read at a time."""


@dataclass(frozen=True)
class ForcedTranslation:
    """One translation, and what the model thinks of it."""

    pieces: tuple[str, ...]
    log_probabilities: tuple[float, ...]
    """Of each piece after all before it, and of the end."""
    log_probability: float
    """The sum of these."""
    perplexity: float
    """The inverse of their mean probability."""
    words: tuple[str, ...]
    confidences: tuple[float, ...]
    """Of each word: the probability of its least likely piece."""
    alignment: tuple[tuple[int, int], ...]
    """For each word that of the source it was written from, as (source, target) counted from 0."""


def force_decode_texts(
    model: Transformer,
    tokenizer: Tokenizer,
    sources: Sequence[str],
    targets: Sequence[str],
    on_done: Callable[[int], None] | None = None,
) -> list[ForcedTranslation]:
    """One for each pair of texts, in their order; `on_done` is told how many are read after each batch."""
    engine = ForcedDecoder(model)
    pairs = [tokenizer.tokenize([text.strip() for text in texts]) for texts in (sources, targets)]
    for name, rows in zip(("source", "translation"), pairs, strict=True):
        for number, row in enumerate(rows, start=1):
            if len(row) > engine.max_tokens:
                raise DataError(
                    f"{name} {number} has {len(row)} pieces and this model takes at most "
                    f"{engine.max_tokens}; leave that pair out"
                )
    found: dict[int, ForcedTranslation] = {}
    lengths = np.array([max(map(len, pair)) for pair in zip(*pairs, strict=True)], np.int64)
    for batch in bucket_by_length(lengths, FORCE_DECODE_BATCH_TOKENS):
        some = [[rows[i] for i in batch] for rows in pairs]
        for i, source, target, reading in zip(batch, *some, engine.force_decode(*some), strict=True):
            found[int(i)] = _to_forced_translation(tokenizer, source, target, reading)
        if on_done is not None:
            on_done(len(batch))
    return [found[i] for i in range(len(found))]


def _to_forced_translation(
    tokenizer: Tokenizer, source: Sequence[int], target: Sequence[int], reading: ForcedDecoding
) -> ForcedTranslation:
    words = map_tokens_to_words(tokenizer, target)
    return ForcedTranslation(
        pieces=tuple(map(tokenizer.id_to_token, target)),
        log_probabilities=reading.log_probabilities,
        log_probability=reading.log_probability,
        perplexity=reading.perplexity,
        words=tuple(tokenizer.detokenize([target])[0].split()),
        confidences=word_confidences(reading, words),
        alignment=align_words(reading, map_tokens_to_words(tokenizer, source), words),
    )
