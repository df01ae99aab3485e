"""Forced decoding of given translations: log-probabilities, perplexity, word confidences and alignments."""

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
"""Padded tokens per batch, on the longer side."""


@dataclass(frozen=True)
class ForcedTranslation:
    """A given translation with the model's probabilities; a JSON record of `--score-references`."""

    tokens: tuple[str, ...]
    log_probabilities: tuple[float, ...]
    """Of each token given those before it, and of the end mark."""
    log_probability: float
    """Their sum."""
    perplexity: float
    """The inverse of the geometric mean of the token probabilities."""
    words: tuple[str, ...]
    confidences: tuple[float, ...]
    """Of each word: the probability of its least probable token."""
    alignment: tuple[tuple[int, int], ...]
    """Pairs (source word, target word), one for each target word, counted from 0."""


def force_decode_texts(
    model: Transformer,
    tokenizer: Tokenizer,
    sources: Sequence[str],
    targets: Sequence[str],
    on_done: Callable[[int], None] | None = None,
) -> list[ForcedTranslation]:
    """Score each pair of texts; `on_done` is called after each batch with its number of pairs."""
    decoder = ForcedDecoder(model)
    sides = [tokenizer.tokenize([text.strip() for text in texts]) for texts in (sources, targets)]
    for name, rows in zip(("source", "translation"), sides, strict=True):
        for number, row in enumerate(rows, start=1):
            if len(row) > decoder.max_tokens:
                raise DataError(
                    f"{name} {number} has {len(row)} tokens and this model takes at most "
                    f"{decoder.max_tokens}; leave that pair out"
                )
    results: dict[int, ForcedTranslation] = {}
    lengths = np.array([max(map(len, pair)) for pair in zip(*sides, strict=True)], np.int64)
    for indexes in bucket_by_length(lengths, FORCE_DECODE_BATCH_TOKENS):
        batch = [[rows[index] for index in indexes] for rows in sides]
        decodings = decoder.force_decode(*batch)
        for index, source, target, decoding in zip(indexes, *batch, decodings, strict=True):
            results[int(index)] = _to_forced_translation(tokenizer, source, target, decoding)
        if on_done is not None:
            on_done(len(indexes))
    return [results[index] for index in range(len(results))]


def _to_forced_translation(
    tokenizer: Tokenizer, source: Sequence[int], target: Sequence[int], decoding: ForcedDecoding
) -> ForcedTranslation:
    words = map_tokens_to_words(tokenizer, target)
    return ForcedTranslation(
        tokens=tuple(map(tokenizer.id_to_token, target)),
        log_probabilities=decoding.log_probabilities,
        log_probability=decoding.log_probability,
        perplexity=decoding.perplexity,
        words=tuple(tokenizer.detokenize([target])[0].split()),
        confidences=word_confidences(decoding, words),
        alignment=align_words(decoding, map_tokens_to_words(tokenizer, source), words),
    )
