"""Models of a few lines, to search without a network."""

from typing import NamedTuple

import torch
from torch import Tensor

BOS, EOS = 0, 1
SLOTS = 997


class Position(NamedTuple):
    source: Tensor  # by sentence
    read: Tensor  # by row: a number that stands for all tokens so far


class Table:
    """A random model: what comes next depends on the sentence and on every token so far."""

    def __init__(self, seed, vocab, coarse=False):
        random = torch.Generator().manual_seed(seed)
        self.logits = torch.randn(SLOTS, vocab, generator=random) * 2
        if coarse:  # many equal scores
            self.logits = self.logits.round().clamp(-1, 1)
        self.rows_seen = []

    def start(self, sources):
        return Position(torch.tensor(sources), torch.zeros(len(sources), dtype=torch.long))

    def step(self, state, token):
        self.rows_seen.append(len(token))
        read = (state.read * 31 + token + 1) % SLOTS
        source = state.source.repeat_interleave(len(token) // len(state.source))
        return self.logits[(source * 57 + read) % SLOTS], Position(state.source, read)

    def expand(self, state, beam):
        return Position(state.source, state.read.repeat_interleave(beam))

    def reorder(self, state, rows):
        return Position(state.source, state.read[rows])

    def select(self, state, sentences):
        by_sentence = state.read.unflatten(0, (len(state.source), -1))
        return Position(state.source[sentences], by_sentence[sentences].flatten())

    def after(self, source):
        """The same model, asked for one sentence by its prefix."""

        def logits(prefix):
            read = 0
            for token in [BOS, *prefix]:
                read = (read * 31 + token + 1) % SLOTS
            return self.logits[(source * 57 + read) % SLOTS]

        return logits
