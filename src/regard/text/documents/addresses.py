"""Addresses in a text: they are read by whoever translates, and come back as they are."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from regard.text.documents.pieces import Kind, Piece

NOT_IN_ONE = r"\s<>()\[\]{}\"'«»“”"
ADDRESS = re.compile(
    rf"(?:(?:https?|ftp)://|(?<![\w.@/-])www\.(?=[\w-]+\.))[^{NOT_IN_ONE}]*[^{NOT_IN_ONE}.,;:!?…*_~|]"
    r"|(?<![\w.+@/-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])"
)
"""Of a page (https://..., www....) or of mail; the mark that ends the sentence is no part of it."""


def with_addresses(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The same pieces, with the addresses in their texts as what must be kept."""
    for is_text, some in groupby(pieces, key=lambda piece: piece.kind is Kind.TEXT):
        run = list(some)
        text = "".join(piece.text for piece in run) if is_text else ""
        found = [match.span() for match in ADDRESS.finditer(text)]
        yield from _kept(run, found) if found else run


def _kept(run: Sequence[Piece], found: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    """The texts of a run; of what lies at `found`, all together, each is one piece."""

    starts = [start for start, _ in found]

    def address(placed: tuple[int, Piece]) -> int | None:
        start, piece = placed
        at = bisect_right(starts, start) - 1
        return at if at >= 0 and start + len(piece.text) <= found[at][1] else None

    borders = sorted({border for span in found for border in span})
    for which, some in groupby(_at_borders(run, borders), key=address):
        parts = [piece for _, piece in some]
        if which is None:
            yield from parts
        else:
            yield Piece(Kind.KEPT, "".join(each.raw for each in parts), "".join(each.text for each in parts))


def _at_borders(run: Sequence[Piece], borders: Sequence[int]) -> Iterator[tuple[int, Piece]]:
    """Each piece and where it starts, cut wherever an address begins or ends; an entity cannot be."""
    place = 0
    for piece in run:
        end = place + len(piece.text)
        inside = borders[bisect_right(borders, place) : bisect_right(borders, end - 1)]
        cuts = [place, *inside, end] if piece.raw == piece.text else [place, end]
        for left, right in pairwise(cuts):
            whole = (left, right) == (place, end)
            part = piece if whole else Piece(Kind.TEXT, *[piece.raw[left - place : right - place]] * 2)
            yield left, part
        place = end
