"""Fake engines without a model: translations equal to their sources, diagonal attention."""

import math

import numpy as np

from regard.inference.alignment import ForcedDecoding
from regard.search.hypothesis import Hypothesis


class EchoEngine:
    """An `Engine` that returns its sources, and records batch sizes and constraints."""

    def __init__(self, max_tokens=99):
        self.max_tokens = max_tokens
        self.batches, self.constraints = [], []

    def translate(self, sources, config, constraints=None):
        assert all(0 < len(source) <= self.max_tokens for source in sources)
        self.batches.append(len(sources))
        self.constraints += list(zip(sources, constraints or [], strict=False))
        return [
            [Hypothesis(tuple(source), -1.0 - n, -1.0 - n) for n in range(config.n_best)]
            for source in sources
        ]


class DiagonalForcedDecoder:
    """A forced decoder in which each token attends to the source token at its own position."""

    def force_decode(self, sources, targets):
        assert len(sources) == len(targets)
        return [
            ForcedDecoding((math.log(0.5),) * (len(target) + 1), np.eye(len(target) + 1, len(source) + 1))
            for source, target in zip(sources, targets, strict=True)
        ]
