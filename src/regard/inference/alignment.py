"""What a model thinks of a translation that is given to it: by token, and by word."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

WordIndices = Sequence[int | None]
"""The word that each token belongs to; None where it is only space."""


@dataclass(frozen=True)
class ForcedDecoding:
    """A translation as the model reads it along its source."""

    log_probabilities: tuple[float, ...]
    """Of each token after all before it, and of the end mark."""
    attention: Float[np.ndarray, "target source"]
    """How much each token looks at each source token when it is written; both sides with their end mark."""

    @property
    def log_probability(self) -> float:
        """Of all tokens and the end mark."""
        return math.fsum(self.log_probabilities)

    @property
    def perplexity(self) -> float:
        """The number of tokens, all equally likely, among which each would be as hard to guess."""
        return math.exp(-self.log_probability / len(self.log_probabilities))

    @property
    def most_attended(self) -> tuple[int, ...]:
        """The source token that each token looks at most."""
        return tuple(self.attention.argmax(axis=1).tolist())


def pick_alignment_layer(layers: int) -> int:
    """The layer whose heads together look most clearly at the word that is being translated.

    The next to last of three or more, else the last: docs/search.md has the measurements.
    """
    return layers - 2 if layers > 2 else layers - 1


def align_words(
    decoding: ForcedDecoding, source: WordIndices, target: WordIndices
) -> tuple[tuple[int, int], ...]:
    """The source word that each target word was written from, as pairs (source, target).

    It is the word that its first piece looks at most: the others look less clearly, since much of
    a word follows from its beginning. docs/search.md has the measurements.
    """
    looks = np.zeros((len(target), 1 + max((word for word in source if word is not None), default=-1)))
    if not looks.size:
        return ()
    for piece, word in enumerate(source):
        if word is not None:
            looks[:, word] += decoding.attention[: len(target), piece]
    first = {word: piece for piece, word in reversed(list(enumerate(target))) if word is not None}
    return tuple((int(looks[first[word]].argmax()), word) for word in sorted(first))


def format_pharaoh(links: Sequence[tuple[int, int]]) -> str:
    """As tools for word alignments write them: 0-0 1-2."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def word_confidences(decoding: ForcedDecoding, target: WordIndices) -> tuple[float, ...]:
    """How sure the model is of each word: the probability of its least likely piece."""
    least: dict[int, float] = {}
    for word, log in zip(target, decoding.log_probabilities, strict=False):  # the end mark is no word
        if word is not None:
            least[word] = min(log, least.get(word, 0.0))
    return tuple(math.exp(least[word]) for word in sorted(least))
