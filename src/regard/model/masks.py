"""Who may look at whom: padded rows or packed sentences, causal or not (section 3.2.3)."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor


class PackedSequences(NamedTuple):
    """Sentences that lie end to end in one row, without padding between them."""

    starts: Int[Tensor, " sentences_and_one"]
    """Where each sentence begins, and where the last one ends."""
    positions: Int[Tensor, "1 tokens"]
    """The position of each token in its sentence."""
    max_length: int
    """No sentence has more tokens."""

    @property
    def is_uniform(self) -> bool:
        """Whether all sentences are of the same length: end to end and in rows is then the same."""
        return self.positions.shape[1] == (len(self.starts) - 1) * self.max_length

    def sequence_ids(self) -> Int[Tensor, " tokens"]:
        """The number of the sentence that each token belongs to."""
        lengths = self.starts.diff()
        each = torch.arange(len(lengths), device=lengths.device)
        return each.repeat_interleave(lengths, output_size=self.positions.shape[1])

    def padded_indices(self) -> Int[Tensor, " tokens"]:
        """Where each token stands once every sentence has a padded row of its own."""
        return self.sequence_ids() * self.max_length + self.positions[0]

    def keep(self) -> Bool[Tensor, "sentences longest"] | None:
        """Which places of those rows are real; None if all are."""
        if self.is_uniform:
            return None
        return torch.arange(self.max_length, device=self.starts.device) < self.starts.diff()[:, None]


class AttentionMask(NamedTuple):
    """What each query may see; True in `keep` means *may be seen*.

    A value of its own, made once per batch and used by every layer. `keep` and `causal` are
    alternatives because the fused kernel takes one or the other: `causal` needs no matrix.
    """

    keep: Bool[Tensor, "#batch #query key"] | None = None
    """None: every key may be seen."""
    causal: bool = False
    """Query i sees keys 0 to i; for whole sequences, never together with `keep`."""
    packed: tuple[PackedSequences, PackedSequences] | None = None
    """Of the queries and of the keys: each sentence sees only its own; never together with `keep`."""

    def to_matrix(self, queries: int, keys: int, device: torch.device) -> Bool[Tensor, "#batch #query key"]:
        """The same as one explicit matrix, for whoever wants to look."""
        self.check(queries, keys)
        if self.keep is not None:
            return self.keep
        seen = torch.ones(1, queries, keys, dtype=torch.bool, device=device)
        if self.packed is not None:
            query, key = self.packed
            seen = (query.sequence_ids()[:, None] == key.sequence_ids())[None]
        return seen.tril() if self.causal else seen

    def check(self, queries: int, keys: int) -> None:
        """Refuses what the fused kernel would take and misread: a past before the queries, or two masks."""
        if self.causal and (queries != keys or self.keep is not None):
            raise ValueError(
                f"causal is for whole sequences without keep; there are {queries} queries and {keys} keys"
            )
        if self.packed is not None and self.keep is not None:
            raise ValueError("packed sentences need no keep: each sees its own")


NO_MASK = AttentionMask()
CAUSAL_MASK = AttentionMask(causal=True)
"""For right-padded rows too: padding comes after every real query, where nobody looks."""


def make_padding_mask(keep: Bool[Tensor, "batch key"], causal: bool = False) -> AttentionMask:
    """Every query of a row sees the row's real keys, padding on whichever side; if causal, no later one."""
    seen = keep[:, None, :]
    return AttentionMask(
        seen & CAUSAL_MASK.to_matrix(keep.shape[1], keep.shape[1], keep.device) if causal else seen
    )


def make_packed_mask(query: PackedSequences, key: PackedSequences, causal: bool = False) -> AttentionMask:
    """Sentences lie end to end in one row and see only themselves.

    Causal asks for query and key to be the same sequence: within a sentence, order in the row
    is order in the sentence.
    """
    return AttentionMask(causal=causal, packed=(query, key))
