"""Attention masks: padding, causality and packed sequences (section 3.2.3)."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor


class PackedSequences(NamedTuple):
    """Layout of sequences that lie end to end in one row, without padding between them."""

    starts: Int[Tensor, " sentences_and_one"]
    """The offset of each sequence, and the total length."""
    positions: Int[Tensor, "1 tokens"]
    """The position of each token in its sequence."""
    max_length: int
    """An upper bound of the sequence lengths."""

    @property
    def is_uniform(self) -> bool:
        """Whether all sequences have `max_length` tokens, so that packing equals padding."""
        return self.positions.shape[1] == (len(self.starts) - 1) * self.max_length

    def sequence_ids(self) -> Int[Tensor, " tokens"]:
        """Return the index of the sequence each token belongs to."""
        lengths = self.starts.diff()
        indexes = torch.arange(len(lengths), device=lengths.device)
        return indexes.repeat_interleave(lengths, output_size=self.positions.shape[1])

    def padded_indices(self) -> Int[Tensor, " tokens"]:
        """Return each token's index in the flattened tensor of padded rows."""
        return self.sequence_ids() * self.max_length + self.positions[0]

    def keep(self) -> Bool[Tensor, "sentences longest"] | None:
        """Return which positions of the padded rows are tokens; None if all are."""
        if self.is_uniform:
            return None
        return torch.arange(self.max_length, device=self.starts.device) < self.starts.diff()[:, None]


class AttentionMask(NamedTuple):
    """Which keys each query may attend to; True in `keep` means that it may.

    Made once per batch and used by every layer. `keep` and `causal` are alternatives because the fused
    kernel takes one or the other: `causal` needs no matrix.
    """

    keep: Bool[Tensor, "#batch #query key"] | None = None
    """None: every query may attend to every key."""
    causal: bool = False
    """Query i may attend to keys 0 to i; for whole sequences, never with `keep`."""
    packed: tuple[PackedSequences, PackedSequences] | None = None
    """Layouts of queries and keys: each sequence attends to itself only; never with `keep`."""

    def to_matrix(self, queries: int, keys: int, device: torch.device) -> Bool[Tensor, "#batch #query key"]:
        """Return the mask as one explicit matrix."""
        self.check(queries, keys)
        if self.keep is not None:
            return self.keep
        keep = torch.ones(1, queries, keys, dtype=torch.bool, device=device)
        if self.packed is not None:
            query, key = self.packed
            keep = (query.sequence_ids()[:, None] == key.sequence_ids())[None]
        return keep.tril() if self.causal else keep

    def check(self, queries: int, keys: int) -> None:
        """Raise on combinations the fused kernel would misread: causal with cached keys, or two masks."""
        if self.causal and (queries != keys or self.keep is not None):
            raise ValueError(
                f"causal is for whole sequences without keep; there are {queries} queries and {keys} keys"
            )
        if self.packed is not None and self.keep is not None:
            raise ValueError("packed sequences take no keep: each attends to itself only")


NO_MASK = AttentionMask()
CAUSAL_MASK = AttentionMask(causal=True)
"""Also for right-padded rows: padding comes after every query that matters."""


def make_padding_mask(keep: Bool[Tensor, "batch key"], causal: bool = False) -> AttentionMask:
    """Return a mask of the padding on either side of each row, optionally causal, too."""
    keep_keys = keep[:, None, :]
    if causal:
        keep_keys = keep_keys & CAUSAL_MASK.to_matrix(keep.shape[1], keep.shape[1], keep.device)
    return AttentionMask(keep_keys)


def make_packed_mask(query: PackedSequences, key: PackedSequences, causal: bool = False) -> AttentionMask:
    """Return a mask under which packed sequences attend to themselves only.

    Causal requires query and key to be the same sequences: within each, row order is sequence order.
    """
    return AttentionMask(causal=causal, packed=(query, key))
