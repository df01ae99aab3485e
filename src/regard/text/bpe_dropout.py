"""BPE dropout (Provilkov et al. 2020): the same text in other pieces, drawn alike on every machine.

The library's own dropout cannot be seeded. Here each draw is keyed by what it is for, so it
depends neither on the order of the work nor on how a corpus is cut into parts. Pieces are drawn
once for each distinct word and choice, and every occurrence takes one of its word's choices.
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
"""Segmentations of a word that one variant of a corpus has at most."""


class BPEDropoutSampler:
    """Draws segmentations; dropout 0 is the tokenizer's own, dropout 1 single characters and bytes."""

    def __init__(self, tokenizer: Tokenizer, dropout: float, seed: int) -> None:
        self._tokenizer = tokenizer
        self._merges = BytePairEncoder(tokenizer)
        self._dropout = dropout
        self._seed = seed

    def tokenize(self, texts: Sequence[str], variant: int, first_index: int = 0) -> list[list[int]]:
        """The ids of each text, as `Tokenizer.tokenize` gives them but for the borders of the pieces.

        `first` is the place of the first text in its corpus: a corpus may be done in parts.
        """
        return self.tokenize_words(pretokenize(self._tokenizer, texts), variant, first_index)

    def tokenize_words(self, words: PretokenizedTexts, variant: int, first_index: int = 0) -> list[list[int]]:
        """The same for texts whose words are known already."""
        flat, starts = self.sample_flat(words, variant, first_index)
        ids, ends = flat.tolist(), starts.tolist()
        return [ids[start:end] for start, end in pairwise(ends)]

    def sample_flat(
        self, words: PretokenizedTexts, variant: int, first_index: int = 0
    ) -> tuple[Int32[np.ndarray, " tokens"], Int64[np.ndarray, " texts_and_one"]]:
        """The same as arrays: ids end to end, and where each text starts."""
        keys = np.array([_hash_word(word) for word in words.words], np.uint64)
        run = _mix_hash(_mix_hash(np.zeros(1, np.uint64), self._seed), variant)
        counts = np.diff(words.starts)
        text = np.repeat(np.arange(first_index, first_index + len(counts)), counts)
        place = np.arange(len(words.word_ids)) - np.repeat(words.starts[:-1], counts)
        drawn = _mix_hash(_mix_hash(_mix_hash(run, text), place), keys[words.word_ids])
        choice = (drawn % np.uint64(SEGMENTATIONS_PER_WORD)).astype(np.int64)
        asked, which = np.unique(words.word_ids * SEGMENTATIONS_PER_WORD + choice, return_inverse=True)
        luck = _mix_hash(
            _mix_hash(run, keys[asked // SEGMENTATIONS_PER_WORD]), asked % SEGMENTATIONS_PER_WORD
        )
        pieces = [
            self._segment(words.words[word], key)
            for word, key in zip((asked // SEGMENTATIONS_PER_WORD).tolist(), luck.tolist(), strict=True)
        ]
        return _concatenate_choices(pieces, which, words.starts)

    def _segment(self, word: str, key: int) -> list[int]:
        return self._merges.apply_merges(
            self._merges.split_characters(word), self._dropout, Random(key).random
        )


def _concatenate_choices(
    pieces: list[list[int]], which: Int64[np.ndarray, " occurrences"], starts: Int64[np.ndarray, " borders"]
) -> tuple[Int32[np.ndarray, " tokens"], Int64[np.ndarray, " borders"]]:
    """`pieces[k]` for each k of `which`, end to end, and the borders of the texts counted in pieces."""
    lengths = np.array([len(row) for row in pieces], np.int64)
    flat = np.fromiter((id for row in pieces for id in row), np.int32, lengths.sum())
    begins = np.cumsum(lengths) - lengths
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[which])])
    inside = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths[which])
    return flat[np.repeat(begins[which], lengths[which]) + inside], ends[starts]


def _hash_word(word: str) -> int:
    """Of the spelling alone: Python's own hash of a text differs from one process to the next."""
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8"), digest_size=8).digest(), "little")


def _mix_hash(
    key: UInt64[np.ndarray, " #draws"], number: int | Int64[np.ndarray, " _"] | UInt64[np.ndarray, " _"]
) -> UInt64[np.ndarray, " draws"]:
    """Another key, of which every bit depends on every bit of both: the steps of splitmix64."""
    key = (key ^ np.asarray(number).astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))
