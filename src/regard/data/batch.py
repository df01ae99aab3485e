"""PairBatch: sentence pairs as tensors, padded to one length per side."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.data.ids import Ids
from regard.text.tokenizer import BOS, EOS, PAD

Row = Sequence[int] | Int[np.ndarray, " _"]


@dataclass(frozen=True)
class PairBatch:
    """What one training step sees; the target stands twice, shifted by one (section 3.1)."""

    source: Int[Tensor, "batch source"]
    """a b c </s>"""
    source_keep: Bool[Tensor, "batch source"]
    target_in: Int[Tensor, "batch target"]
    """<s> x y"""
    target_out: Int[Tensor, "batch target"]
    """x y </s>"""

    @property
    def tokens(self) -> int:
        """Target tokens, the end mark counted, padding not."""
        return int((self.target_out != PAD).sum())

    def to(self, device: torch.device) -> "PairBatch":
        return PairBatch(
            self.source.to(device),
            self.source_keep.to(device),
            self.target_in.to(device),
            self.target_out.to(device),
        )


def pair_batch(source: Ids, target: Ids, indexes: Sequence[int]) -> PairBatch:
    """The pairs at those indexes, as one batch."""
    sources = source_rows([source[i] for i in indexes])
    targets = [target[i] for i in indexes]
    target_in = pad([np.concatenate([[BOS], row]) for row in targets])
    target_out = pad([np.concatenate([row, [EOS]]) for row in targets])
    return PairBatch(sources, sources != PAD, target_in, target_out)


def source_rows(rows: Sequence[Row]) -> Int[Tensor, "batch source"]:
    """Sentences as the encoder reads them: closed by the end mark, padded on the right."""
    return pad([np.concatenate([row, [EOS]]) for row in rows])


def pad(rows: Sequence[Row]) -> Int[Tensor, "batch length"]:
    """Rows of different lengths in one tensor."""
    padded = np.full((len(rows), max(map(len, rows))), PAD, np.int64)
    for line, row in zip(padded, rows, strict=True):
        line[: len(row)] = row
    return torch.from_numpy(padded)
