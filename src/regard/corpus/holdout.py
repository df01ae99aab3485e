"""Which pairs are held out for validation: a random part that shares no sentence with what stays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64

from regard.corpus.dedup import NO_HASH, Hashes, KnownHashes, PairHashes, is_known, iterate_hash_blocks
from regard.data.permutation import permute_indices

PairIndexes = Int64[np.ndarray, " chosen"]
ChosenHashes = Int64[np.ndarray, "chosen 2"]
CorpusHashes = Sequence[Int64[np.ndarray, "_ 2"]]  # corpora of any size

CANDIDATES_PER_PAIR = 16
"""Candidates for each place; those that share fewest sentences with others are taken."""


@dataclass(frozen=True)
class HeldOut:
    """The chosen pairs, and the sentences of which none may stay behind."""

    pairs: tuple[tuple[int, ...], ...]
    """Of each corpus, counted from 0 and in order."""
    source: KnownHashes
    target: KnownHashes

    def shares_sentence(self, hashes: PairHashes) -> Bool[np.ndarray, " pairs"]:
        """Which pairs have a sentence of the held-out part, or are in it."""
        return is_known(self.source, hashes[:, 0]) | is_known(self.target, hashes[:, 1])


def hold_out(corpora: CorpusHashes, pairs: int, seed: int) -> HeldOut:
    """A random part, the same for the same seed, in flat memory.

    Repeats are common in real corpora, and a pair that shares a side with a held-out one must be
    left out of both, or validation would measure memory. To lose few, of some random candidates
    those are held out that share least.
    """
    candidates, hashes = _candidates(corpora, CANDIDATES_PER_PAIR * pairs, seed)
    shared = _count_occurrences(hashes[:, 0], 0, corpora) + _count_occurrences(hashes[:, 1], 1, corpora)
    chosen = np.argsort(shared, kind="stable")[:pairs]
    ends = np.cumsum([len(corpus) for corpus in corpora])
    held = np.split(np.sort(candidates[chosen]), np.searchsorted(np.sort(candidates[chosen]), ends[:-1]))
    firsts = [0, *ends[:-1].tolist()]
    return HeldOut(
        tuple(tuple((part - first).tolist()) for part, first in zip(held, firsts, strict=True)),
        np.unique(hashes[chosen, 0]),
        np.unique(hashes[chosen, 1]),
    )


def _candidates(corpora: CorpusHashes, most: int, seed: int) -> tuple[PairIndexes, ChosenHashes]:
    """Good pairs in random order, counted through all corpora, and their hashes."""
    total = sum(map(len, corpora))
    found, hashes, count = [np.zeros(0, np.int64)], [np.zeros((0, 2), np.int64)], 0
    for start in range(0, total, most):
        indexes = permute_indices(np.arange(start, min(start + most, total)), total, seed)
        theirs = _hashes_at(corpora, indexes)
        good = theirs[:, 0] != NO_HASH
        found.append(indexes[good])
        hashes.append(theirs[good])
        count += int(good.sum())
        if count >= most:
            break
    return np.concatenate(found)[:most], np.concatenate(hashes)[:most]


def _hashes_at(corpora: CorpusHashes, indexes: PairIndexes) -> ChosenHashes:
    found, first = np.zeros((len(indexes), 2), np.int64), 0
    for corpus in corpora:
        here = (indexes >= first) & (indexes < first + len(corpus))
        found[here] = corpus[indexes[here] - first]
        first += len(corpus)
    return found


def _count_occurrences(hashes: Hashes, side: int, corpora: CorpusHashes) -> Int64[np.ndarray, " hashes"]:
    """How often each of the sentences stands on that side."""
    known, inverse = np.unique(hashes, return_inverse=True)
    counts = np.zeros(len(known), np.int64)
    for slab in _iterate_blocks(corpora):
        theirs = slab[:, side]
        counts += np.bincount(np.searchsorted(known, theirs[is_known(known, theirs)]), minlength=len(known))
    return counts[inverse]


def _iterate_blocks(corpora: CorpusHashes) -> Iterator[PairHashes]:
    for corpus in corpora:
        for _, slab in iterate_hash_blocks(corpus):
            yield slab
