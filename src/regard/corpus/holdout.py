"""Held-out validation set: a random part that shares no sentence with the training data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64

from regard.corpus.dedup import NO_HASH, Hashes, KnownHashes, PairHashes, is_known, iterate_hash_blocks
from regard.data.pairs import Indexes
from regard.data.permutation import permute_indices

ChosenHashes = Int64[np.ndarray, "chosen 2"]
CorpusHashes = Sequence[Int64[np.ndarray, "_ 2"]]
"""Hashes of each corpus."""

CANDIDATES_PER_PAIR = 16
"""Candidates for each held-out pair; those that share fewest sentences with other pairs are taken."""


@dataclass(frozen=True)
class HeldOut:
    """Held-out pairs, and the sentences that must not stay in the training data."""

    pairs: tuple[tuple[int, ...], ...]
    """Sorted indexes in each corpus, counted from 0."""
    source: KnownHashes
    target: KnownHashes

    def shares_sentence(self, hashes: PairHashes) -> Bool[np.ndarray, " pairs"]:
        """Return which pairs have a sentence of a held-out pair, or are held out."""
        return is_known(self.source, hashes[:, 0]) | is_known(self.target, hashes[:, 1])


def hold_out(corpora: CorpusHashes, pairs: int, seed: int) -> HeldOut:
    """Choose random pairs, the same for the same seed, in constant memory.

    Repetitions are common in real corpora. A pair that shares a side with a held-out one must be in
    neither set, or validation would measure memorization. To lose few pairs, the random candidates
    that share least are held out.
    """
    candidates, hashes = _candidates(corpora, CANDIDATES_PER_PAIR * pairs, seed)
    shared = _count_occurrences(hashes[:, 0], 0, corpora) + _count_occurrences(hashes[:, 1], 1, corpora)
    chosen = np.argsort(shared, kind="stable")[:pairs]
    ends = np.cumsum([len(corpus) for corpus in corpora])
    held = np.split(np.sort(candidates[chosen]), np.searchsorted(np.sort(candidates[chosen]), ends[:-1]))
    first_indexes = [0, *ends[:-1].tolist()]
    return HeldOut(
        tuple(tuple((part - first).tolist()) for part, first in zip(held, first_indexes, strict=True)),
        np.unique(hashes[chosen, 0]),
        np.unique(hashes[chosen, 1]),
    )


def _candidates(corpora: CorpusHashes, limit: int, seed: int) -> tuple[Indexes, ChosenHashes]:
    """Return good pairs in random order, counted through all corpora, and their hashes."""
    total = sum(map(len, corpora))
    candidates, hashes, count = [np.zeros(0, np.int64)], [np.zeros((0, 2), np.int64)], 0
    for start in range(0, total, limit):
        indexes = permute_indices(np.arange(start, min(start + limit, total)), total, seed)
        drawn = _hashes_at(corpora, indexes)
        good = drawn[:, 0] != NO_HASH
        candidates.append(indexes[good])
        hashes.append(drawn[good])
        count += int(good.sum())
        if count >= limit:
            break
    return np.concatenate(candidates)[:limit], np.concatenate(hashes)[:limit]


def _hashes_at(corpora: CorpusHashes, indexes: Indexes) -> ChosenHashes:
    hashes, first = np.zeros((len(indexes), 2), np.int64), 0
    for corpus in corpora:
        inside = (indexes >= first) & (indexes < first + len(corpus))
        hashes[inside] = corpus[indexes[inside] - first]
        first += len(corpus)
    return hashes


def _count_occurrences(hashes: Hashes, side: int, corpora: CorpusHashes) -> Int64[np.ndarray, " hashes"]:
    """Return how often each of the sentences occurs on one side of the corpora."""
    known, inverse = np.unique(hashes, return_inverse=True)
    counts = np.zeros(len(known), np.int64)
    for block in _iterate_blocks(corpora):
        column = block[:, side]
        counts += np.bincount(np.searchsorted(known, column[is_known(known, column)]), minlength=len(known))
    return counts[inverse]


def _iterate_blocks(corpora: CorpusHashes) -> Iterator[PairHashes]:
    for corpus in corpora:
        for _, block in iterate_hash_blocks(corpus):
            yield block
