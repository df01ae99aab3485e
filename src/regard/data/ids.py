"""Token ids of many sentences in one flat array: small, quick to slice, easy to keep on disk."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64, Integer


@dataclass(frozen=True)
class Ids:
    """Sentence i is flat[starts[i]:starts[i + 1]]."""

    flat: Integer[np.ndarray, " tokens"]
    starts: Int64[np.ndarray, " sentences_and_one"]
    sizes: Integer[np.ndarray, " sentences"] | None = None
    """The lengths once more, in few bytes: where all this is mapped from files, they lie on fewer pages."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> Integer[np.ndarray, " length"]:
        return self.flat[self.starts[index] : self.starts[index + 1]]

    @property
    def lengths(self) -> Int64[np.ndarray, " sentences"]:
        return np.diff(self.starts)

    def lengths_of(self, indexes: Int64[np.ndarray, " chosen"]) -> Int64[np.ndarray, " chosen"]:
        """The lengths of those sentences, without a look at the others."""
        if self.sizes is not None:
            return self.sizes[indexes].astype(np.int64)
        return self.starts[indexes + 1] - self.starts[indexes]

    def take(self, indexes: Int64[np.ndarray, " chosen"]) -> "Ids":
        """Those sentences, in that order."""
        return flatten([self[i] for i in indexes.tolist()])


def flatten(rows: Sequence[Sequence[int] | Integer[np.ndarray, " _"]]) -> Ids:
    """Rows of ids, laid end to end."""
    lengths = np.fromiter((len(row) for row in rows), np.int64, len(rows))
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    flat = np.concatenate([np.asarray(row, np.int32) for row in rows]) if rows else np.zeros(0, np.int32)
    return Ids(flat, starts)
