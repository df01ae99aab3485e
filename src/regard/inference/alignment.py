"""Word alignments and word confidences from forced decoding; no torch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

WordIndices = Sequence[int | None]
"""The index of the word each token belongs to; None for a token of white space."""


@dataclass(frozen=True)
class ForcedDecoding:
    """Log-probabilities and attention of one given translation."""

    log_probabilities: tuple[float, ...]
    """Of each token given those before it, and of the end mark."""
    attention: Float[np.ndarray, "target source"]
    """Cross-attention of each target token to each source token; both sides with their end mark."""

    @property
    def log_probability(self) -> float:
        """Of the whole translation, end mark included."""
        return math.fsum(self.log_probabilities)

    @property
    def perplexity(self) -> float:
        """The inverse of the geometric mean of the token probabilities."""
        return math.exp(-self.log_probability / len(self.log_probabilities))

    @property
    def most_attended(self) -> tuple[int, ...]:
        """The source token with the highest attention of each target token."""
        return tuple(self.attention.argmax(axis=1).tolist())


def pick_alignment_layer(layers: int) -> int:
    """Return the decoder layer whose cross-attention gives the best alignments.

    The next to last of three or more, else the last: docs/search.md has the measurements.
    """
    return layers - 2 if layers > 2 else layers - 1


def align_words(
    decoding: ForcedDecoding, source: WordIndices, target: WordIndices
) -> tuple[tuple[int, int], ...]:
    """Return pairs (source word, target word), one for each target word.

    The source word is the one that the first token of the target word attends to most. The other tokens of a
    word attend less clearly, since much of a word follows from its beginning: docs/search.md has the
    measurements.
    """
    weights = np.zeros((len(target), 1 + max((word for word in source if word is not None), default=-1)))
    if not weights.size:
        return ()
    for token, word in enumerate(source):
        if word is not None:
            weights[:, word] += decoding.attention[: len(target), token]
    first = {word: token for token, word in reversed(list(enumerate(target))) if word is not None}
    return tuple((int(weights[first[word]].argmax()), word) for word in sorted(first))


def format_pharaoh(links: Sequence[tuple[int, int]]) -> str:
    """Return the alignment in Pharaoh format: 0-0 1-2."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def word_confidences(decoding: ForcedDecoding, target: WordIndices) -> tuple[float, ...]:
    """Return the confidence of each word: the probability of its least probable token."""
    lowest: dict[int, float] = {}
    for word, log in zip(target, decoding.log_probabilities, strict=False):  # the end mark is no word
        if word is not None:
            lowest[word] = min(log, lowest.get(word, 0.0))
    return tuple(math.exp(lowest[word]) for word in sorted(lowest))
