"""Who may look at whom: padded rows or packed segments, causal or not (section 3.2.3)."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor


class Visible(NamedTuple):
    """What each query may see; True in `keep` means *may be seen*.

    A value of its own, made once per batch and used by every layer. The two fields are
    alternatives because the fused kernel takes one or the other: `causal` needs no matrix.
    """

    keep: Bool[Tensor, "#batch #query key"] | None = None
    """None: every key may be seen."""
    causal: bool = False
    """Query i sees keys 0 to i; for whole sequences, never together with `keep`."""

    def matrix(self, queries: int, keys: int, device: torch.device) -> Bool[Tensor, "#batch #query key"]:
        """The same as one explicit matrix, for whoever wants to look."""
        self.check(queries, keys)
        if self.causal:
            return torch.ones(1, queries, keys, dtype=torch.bool, device=device).tril()
        if self.keep is None:
            return torch.ones(1, queries, keys, dtype=torch.bool, device=device)
        return self.keep

    def check(self, queries: int, keys: int) -> None:
        """Refuses what the fused kernel would take and misread: a past before the queries, or both fields."""
        if self.causal and (queries != keys or self.keep is not None):
            raise ValueError(
                f"causal is for whole sequences without keep; there are {queries} queries and {keys} keys"
            )


EVERYTHING = Visible()
CAUSAL = Visible(causal=True)
"""For right-padded rows too: padding comes after every real query, where nobody looks."""


def padded(keep: Bool[Tensor, "batch key"], causal: bool = False) -> Visible:
    """Every query of a row sees the row's real keys, padding on whichever side; if causal, no later one."""
    seen = keep[:, None, :]
    return Visible(seen & CAUSAL.matrix(keep.shape[1], keep.shape[1], keep.device) if causal else seen)


def packed(
    query_segment: Int[Tensor, "batch query"], key_segment: Int[Tensor, "batch key"], causal: bool = False
) -> Visible:
    """Sentences lie end to end in a row and see only themselves; segment 0 is padding.

    Causal asks for query and key to be the same sequence: within a segment, order in the row
    is order in the sentence.
    """
    same = query_segment[:, :, None] == key_segment[:, None, :]
    seen = same & (key_segment != 0)[:, None, :]
    if causal:
        seen = seen & CAUSAL.matrix(query_segment.shape[1], key_segment.shape[1], seen.device)
    return Visible(seen)
