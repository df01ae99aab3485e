"""BLEU by the length of the source: whether long sentences are translated worse than short ones."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.metrics.bleu import bleu

PARTS, FEWEST = 5, 10
"""Groups at most, and sentences in each at least: the BLEU of fewer says little."""


@dataclass(frozen=True)
class ByLength:
    """Group i has the lengths from bins[i] up to, not with, bins[i + 1]."""

    bins: tuple[int, ...]
    bleu: tuple[float, ...]
    pairs: tuple[int, ...]


def bleu_by_length(
    lengths: Sequence[int], hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False
) -> ByLength:
    """The scores of groups of about as many sentences each; sentences of one length stay together."""
    sizes = np.array(lengths, np.int64)
    count = max(1, min(PARTS, len(sizes) // FEWEST))
    cuts = np.unique(np.quantile(sizes, np.arange(count) / count, method="higher"))
    group = np.searchsorted(cuts, sizes, side="right") - 1
    members = [np.flatnonzero(group == place).tolist() for place in range(len(cuts))]
    scores = [
        bleu([hypotheses[i] for i in each], [references[i] for i in each], lowercase).score
        for each in members
    ]
    return ByLength(
        (*cuts.tolist(), int(sizes.max()) + 1),
        tuple(round(score, 2) for score in scores),
        tuple(map(len, members)),
    )
