"""Sentence patterns: a function that builds a sentence pair, and the choices for each of its slots."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Pattern:
    """Sentences that differ only in the fillers of their slots, numbered from 0 to `size`.

    Any choice for one slot goes with any choice for the others, so a sentence's number, read in the mixed
    radix of the slots' lengths, is the list of its choices. Where two choices depend on each other
    they are made together, in one slot.
    """

    name: str
    weight: float  # relative frequency among the patterns
    slots: tuple[Sequence[Any], ...]
    build: Callable[..., tuple[str, str]]

    @cached_property
    def size(self) -> int:
        """The number of sentences."""
        return math.prod(map(len, self.slots))

    def sentence(self, index: int) -> tuple[str, str]:
        """Return the sentence with this number, in English and in French."""
        chosen: list[Any] = []
        for slot in self.slots:
            index, choice = divmod(index, len(slot))
            chosen.append(slot[choice])
        left, right = self.build(*chosen)
        return left[0].upper() + left[1:], right[0].upper() + right[1:]


def scale_weights(weight: float, patterns: Iterable[Pattern]) -> list[Pattern]:
    """Scale the weights of patterns to the sum `weight`."""
    patterns = list(patterns)
    scale = weight / sum(pattern.weight for pattern in patterns)
    return [Pattern(p.name, p.weight * scale, p.slots, p.build) for p in patterns]
