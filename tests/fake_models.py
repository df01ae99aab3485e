"""Table models: a few lines that satisfy `StepModel`, to test search without a network."""

from typing import NamedTuple

import torch
from torch import Tensor

BOS, EOS = 0, 1
TABLE_ROWS = 997


class TableState(NamedTuple):
    source: Tensor  # one per sentence
    prefix_hash: Tensor  # one per row: a hash of the tokens so far


class TableModel:
    """A random model: the next token's logits depend on the source and on every token so far."""

    def __init__(self, seed, vocab, coarse=False):
        random = torch.Generator().manual_seed(seed)
        self.logits = torch.randn(TABLE_ROWS, vocab, generator=random) * 2
        if coarse:  # many ties
            self.logits = self.logits.round().clamp(-1, 1)
        self.row_counts = []

    def start_decoding(self, sources):
        return TableState(torch.tensor(sources), torch.zeros(len(sources), dtype=torch.long))

    def step(self, state, token):
        self.row_counts.append(len(token))
        prefix_hash = (state.prefix_hash * 31 + token + 1) % TABLE_ROWS
        source = state.source.repeat_interleave(len(token) // len(state.source))
        return self.logits[(source * 57 + prefix_hash) % TABLE_ROWS], TableState(state.source, prefix_hash)

    def expand(self, state, beam):
        return TableState(state.source, state.prefix_hash.repeat_interleave(beam))

    def reorder(self, state, rows):
        return TableState(state.source, state.prefix_hash[rows])

    def select(self, state, sentences):
        by_sentence = state.prefix_hash.unflatten(0, (len(state.source), -1))
        return TableState(state.source[sentences], by_sentence[sentences].flatten())

    def logits_by_prefix(self, source):
        """Return the same model as a function from a prefix to logits, for one sentence."""

        def logits(prefix):
            prefix_hash = 0
            for token in [BOS, *prefix]:
                prefix_hash = (prefix_hash * 31 + token + 1) % TABLE_ROWS
            return self.logits[(source * 57 + prefix_hash) % TABLE_ROWS]

        return logits
