"""Wish: what one sentence asks of its translation, beyond how hard to search."""

from dataclasses import dataclass

TokenIds = tuple[int, ...]
SEPARATE, LETTER, DIGIT = range(3)
CHARACTER_KINDS = 3
"""Of characters: those that never make a word longer, and those that do among their like."""


@dataclass(frozen=True)
class WordBoundaries:
    """What kind of character each token begins and ends with, by its id.

    With them a required phrase must stand by itself: "cat" is not in "category".
    """

    begins: tuple[int, ...]
    ends: tuple[int, ...]


@dataclass(frozen=True)
class Constraints:
    """Holds inside the search: what does not keep to it is never written."""

    prefix: TokenIds = ()
    """How the translation begins."""
    required: tuple[tuple[TokenIds, ...], ...] = ()
    """Phrases that must occur, each as its alternatives, such as with and without a space before it."""
    forbidden: tuple[TokenIds, ...] = ()
    """What must not occur."""


NO_CONSTRAINTS = Constraints()
