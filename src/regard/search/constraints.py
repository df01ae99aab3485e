"""Constraints of one sentence as token ids: prefix, required and forbidden phrases; no torch."""

from dataclasses import dataclass

TokenIds = tuple[int, ...]
SEPARATE, LETTER, DIGIT = range(3)
"""Kinds of characters: letters extend a word of letters, digits a number, separate characters neither."""
CHARACTER_KINDS = 3


@dataclass(frozen=True)
class WordBoundaries:
    """The kind of the first and of the last character of every token, by token id.

    With them a required phrase must be whole words: "cat" does not count in "category".
    """

    begins: tuple[int, ...]
    ends: tuple[int, ...]


@dataclass(frozen=True)
class Constraints:
    """What the translation of one sentence must begin with, contain and avoid; enforced inside the search."""

    prefix: TokenIds = ()
    """The first tokens of the translation."""
    required: tuple[tuple[TokenIds, ...], ...] = ()
    """Phrases that must occur, each as alternatives, such as with and without a space before it."""
    forbidden: tuple[TokenIds, ...] = ()
    """Token sequences that must not occur after the prefix."""


NO_CONSTRAINTS = Constraints()
