"""Wish: what one sentence asks of its translation, beyond how hard to search."""

from dataclasses import dataclass

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class Wish:
    """Holds inside the search: what does not keep to it is never written."""

    prefix: Tokens = ()
    """How the translation begins."""
    required: tuple[tuple[Tokens, ...], ...] = ()
    """Phrases that must occur, each as its alternatives, such as with and without a space before it."""
    forbidden: tuple[Tokens, ...] = ()
    """What must not occur."""


NO_WISH = Wish()
