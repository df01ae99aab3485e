"""Which pairs are held out for validation: a random part that shares no sentence with what stays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64

from regard.corpus.dedup import NONE, Hashes, Known, PairHashes, among, slabs
from regard.data.permutation import permuted

Indexes = Int64[np.ndarray, " chosen"]
Chosen = Int64[np.ndarray, "chosen 2"]
Hashed = Sequence[Int64[np.ndarray, "_ 2"]]  # corpora of any size

WIDE = 16
"""Candidates for each place; those that share fewest sentences with others are taken."""


@dataclass(frozen=True)
class HeldOut:
    """The chosen pairs, and the sentences of which none may stay behind."""

    pairs: tuple[tuple[int, ...], ...]
    """Of each corpus, counted from 0 and in order."""
    source: Known
    target: Known

    def touches(self, hashes: PairHashes) -> Bool[np.ndarray, " pairs"]:
        """Which pairs have a sentence of the held-out part, or are in it."""
        return among(self.source, hashes[:, 0]) | among(self.target, hashes[:, 1])


def hold_out(corpora: Hashed, pairs: int, seed: int) -> HeldOut:
    """A random part, the same for the same seed, in flat memory.

    Repeats are common in real corpora, and a pair that shares a side with a held-out one must be
    left out of both, or validation would measure memory. To lose few, of some random candidates
    those are held out that share least.
    """
    candidates, hashes = _candidates(corpora, WIDE * pairs, seed)
    shared = _occurrences(hashes[:, 0], 0, corpora) + _occurrences(hashes[:, 1], 1, corpora)
    chosen = np.argsort(shared, kind="stable")[:pairs]
    ends = np.cumsum([len(corpus) for corpus in corpora])
    held = np.split(np.sort(candidates[chosen]), np.searchsorted(np.sort(candidates[chosen]), ends[:-1]))
    firsts = [0, *ends[:-1].tolist()]
    return HeldOut(
        tuple(tuple((part - first).tolist()) for part, first in zip(held, firsts, strict=True)),
        np.unique(hashes[chosen, 0]),
        np.unique(hashes[chosen, 1]),
    )


def _candidates(corpora: Hashed, most: int, seed: int) -> tuple[Indexes, Chosen]:
    """Good pairs in random order, counted through all corpora, and their hashes."""
    total = sum(map(len, corpora))
    found, hashes, count = [np.zeros(0, np.int64)], [np.zeros((0, 2), np.int64)], 0
    for start in range(0, total, most):
        indexes = permuted(np.arange(start, min(start + most, total)), total, seed)
        theirs = _at(corpora, indexes)
        good = theirs[:, 0] != NONE
        found.append(indexes[good])
        hashes.append(theirs[good])
        count += int(good.sum())
        if count >= most:
            break
    return np.concatenate(found)[:most], np.concatenate(hashes)[:most]


def _at(corpora: Hashed, indexes: Indexes) -> Chosen:
    found, first = np.zeros((len(indexes), 2), np.int64), 0
    for corpus in corpora:
        here = (indexes >= first) & (indexes < first + len(corpus))
        found[here] = corpus[indexes[here] - first]
        first += len(corpus)
    return found


def _occurrences(hashes: Hashes, side: int, corpora: Hashed) -> Int64[np.ndarray, " hashes"]:
    """How often each of the sentences stands on that side."""
    known, inverse = np.unique(hashes, return_inverse=True)
    counts = np.zeros(len(known), np.int64)
    for slab in _all_slabs(corpora):
        theirs = slab[:, side]
        counts += np.bincount(np.searchsorted(known, theirs[among(known, theirs)]), minlength=len(known))
    return counts[inverse]


def _all_slabs(corpora: Hashed) -> Iterator[PairHashes]:
    for corpus in corpora:
        for _, slab in slabs(corpus):
            yield slab
