"""Which word each piece belongs to; a word is what stands between white space."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

from regard.text.tokenizer import BYTES, MARKS, Tokenizer


def word_of_each(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int | None]:
    """For each piece the number of its word in `detokenize(ids).split()`; None for one that is only space.

    A word may be several pieces, and a character several bytes, each a piece of its own; but no
    piece has letters of two words, since the space before a word begins its first piece.
    """
    spelt = [_bytes_of(tokenizer, id) for id in ids]
    text = b"".join(spelt).decode("utf-8", errors="surrogateescape")
    word_at: list[int | None] = []  # by byte
    word, inside = -1, False
    for character in text:
        word += not character.isspace() and not inside
        inside = not character.isspace()
        size = len(character.encode("utf-8", errors="surrogateescape"))
        word_at += [word if inside else None] * size
    starts = accumulate(map(len, spelt), initial=0)
    return [
        next((at for at in word_at[start:end] if at is not None), None) for start, end in pairwise(starts)
    ]


def _bytes_of(tokenizer: Tokenizer, id: int) -> bytes:
    if id < len(MARKS):
        return b""
    if id < len(MARKS) + len(BYTES):
        return bytes([id - len(MARKS)])
    return tokenizer.piece(id).encode("utf-8")
