"""Models of a few lines, to search without a network."""

from typing import NamedTuple

import torch
from torch import Tensor

BOS, EOS = 0, 1
TABLE_ROWS = 997


class TableState(NamedTuple):
    source: Tensor  # by sentence
    prefix_hash: Tensor  # by row: a number that stands for all tokens so far


class TableModel:
    """A random model: what comes next depends on the sentence and on every token so far."""

    def __init__(self, seed, vocab, coarse=False):
        random = torch.Generator().manual_seed(seed)
        self.logits = torch.randn(TABLE_ROWS, vocab, generator=random) * 2
        if coarse:  # many equal scores
            self.logits = self.logits.round().clamp(-1, 1)
        self.rows_seen = []

    def start(self, sources):
        return TableState(torch.tensor(sources), torch.zeros(len(sources), dtype=torch.long))

    def step(self, state, token):
        self.rows_seen.append(len(token))
        read = (state.prefix_hash * 31 + token + 1) % TABLE_ROWS
        source = state.source.repeat_interleave(len(token) // len(state.source))
        return self.logits[(source * 57 + read) % TABLE_ROWS], TableState(state.source, read)

    def expand(self, state, beam):
        return TableState(state.source, state.prefix_hash.repeat_interleave(beam))

    def reorder(self, state, rows):
        return TableState(state.source, state.prefix_hash[rows])

    def select(self, state, sentences):
        by_sentence = state.prefix_hash.unflatten(0, (len(state.source), -1))
        return TableState(state.source[sentences], by_sentence[sentences].flatten())

    def logits_by_prefix(self, source):
        """The same model, asked for one sentence by its prefix."""

        def logits(prefix):
            read = 0
            for token in [BOS, *prefix]:
                read = (read * 31 + token + 1) % TABLE_ROWS
            return self.logits[(source * 57 + read) % TABLE_ROWS]

        return logits
