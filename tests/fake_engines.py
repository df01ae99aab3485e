"""An engine without a model: it says what it hears, so that nothing can change places unseen."""

import math

import numpy as np

from regard.inference.alignment import ForcedDecoding
from regard.search.hypothesis import Hypothesis


class EchoEngine:
    """Satisfies `Engine`; remembers what it was asked."""

    def __init__(self, longest=99):
        self.max_tokens = longest
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
    """Satisfies `Reader`: each piece looks at the one in its own place."""

    def force_decode(self, sources, targets):
        assert len(sources) == len(targets)
        return [
            ForcedDecoding((math.log(0.5),) * (len(target) + 1), np.eye(len(target) + 1, len(source) + 1))
            for source, target in zip(sources, targets, strict=True)
        ]
