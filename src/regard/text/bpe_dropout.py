"""BPE dropout (Provilkov et al. 2020): random tokenizations that are the same on every machine.

The library's own dropout cannot be seeded. Here each draw is keyed by seed, variant, text and word, so
it depends neither on the order of the work nor on the chunks of a corpus. A word is segmented once for
each choice, and every occurrence takes one of its word's choices.
"""

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from random import Random

import numpy as np
from jaxtyping import Int32, Int64, UInt64

from regard.text.bpe import BytePairEncoder, PretokenizedTexts, pretokenize
from regard.text.tokenizer import Tokenizer

SEGMENTATIONS_PER_WORD = 8
"""Maximum per variant of a corpus."""


class BPEDropoutSampler:
    """Draws tokenizations; dropout 0 is the tokenizer's own, dropout 1 single characters and bytes."""

    def __init__(self, tokenizer: Tokenizer, dropout: float, seed: int) -> None:
        self._tokenizer = tokenizer
        self._encoder = BytePairEncoder(tokenizer)
        self._dropout = dropout
        self._seed = seed

    def tokenize(self, texts: Sequence[str], variant: int, first_index: int = 0) -> list[list[int]]:
        """Return the ids of each text.

        `first_index` is the place of the first text in its corpus, which may be tokenized in chunks.
        """
        return self.tokenize_words(pretokenize(self._tokenizer, texts), variant, first_index)

    def tokenize_words(self, texts: PretokenizedTexts, variant: int, first_index: int = 0) -> list[list[int]]:
        """Return the ids of each text, given its words."""
        flat, starts = self.sample_flat(texts, variant, first_index)
        ids, ends = flat.tolist(), starts.tolist()
        return [ids[start:end] for start, end in pairwise(ends)]

    def sample_flat(
        self, texts: PretokenizedTexts, variant: int, first_index: int = 0
    ) -> tuple[Int32[np.ndarray, " tokens"], Int64[np.ndarray, " texts_and_one"]]:
        """Return the ids of all texts end to end, and the start of each text."""
        keys = np.array([_hash_word(word) for word in texts.words], np.uint64)
        run_key = _mix_hash(_mix_hash(np.zeros(1, np.uint64), self._seed), variant)
        counts = np.diff(texts.starts)
        text = np.repeat(np.arange(first_index, first_index + len(counts)), counts)
        word_index = np.arange(len(texts.word_ids)) - np.repeat(texts.starts[:-1], counts)
        word_hash = _mix_hash(_mix_hash(_mix_hash(run_key, text), word_index), keys[texts.word_ids])
        choice = (word_hash % np.uint64(SEGMENTATIONS_PER_WORD)).astype(np.int64)
        used, inverse = np.unique(texts.word_ids * SEGMENTATIONS_PER_WORD + choice, return_inverse=True)
        seeds = _mix_hash(
            _mix_hash(run_key, keys[used // SEGMENTATIONS_PER_WORD]), used % SEGMENTATIONS_PER_WORD
        )
        segmentations = [
            self._segment(texts.words[word], seed)
            for word, seed in zip((used // SEGMENTATIONS_PER_WORD).tolist(), seeds.tolist(), strict=True)
        ]
        return _concatenate_choices(segmentations, inverse, texts.starts)

    def _segment(self, word: str, seed: int) -> list[int]:
        return self._encoder.apply_merges(
            self._encoder.split_characters(word), self._dropout, Random(seed).random
        )


def _concatenate_choices(
    segmentations: list[list[int]],
    choices: Int64[np.ndarray, " occurrences"],
    starts: Int64[np.ndarray, " texts_and_one"],
) -> tuple[Int32[np.ndarray, " tokens"], Int64[np.ndarray, " texts_and_one"]]:
    """Return segmentations[k] for each k of `choices`, end to end, and the starts of the texts in tokens."""
    lengths = np.array([len(row) for row in segmentations], np.int64)
    flat = np.fromiter((id for row in segmentations for id in row), np.int32, lengths.sum())
    begins = np.cumsum(lengths) - lengths
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[choices])])
    offsets = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths[choices])
    return flat[np.repeat(begins[choices], lengths[choices]) + offsets], ends[starts]


def _hash_word(word: str) -> int:
    """Hash the spelling; Python's own hash of a string differs from one process to the next."""
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8"), digest_size=8).digest(), "little")


def _mix_hash(
    key: UInt64[np.ndarray, " #draws"], number: int | Int64[np.ndarray, " _"] | UInt64[np.ndarray, " _"]
) -> UInt64[np.ndarray, " draws"]:
    """Return a key in which every bit depends on every bit of both: the steps of splitmix64."""
    key = (key ^ np.asarray(number).astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))
