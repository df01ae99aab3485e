"""Which word each piece belongs to, and where it stands; a word is what stands between white space."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise

from regard.text.tokenizer import BYTE_TOKENS, SPECIAL_TOKENS, Tokenizer


def map_tokens_to_words(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int | None]:
    """For each piece the number of its word in `detokenize(ids).split()`; None for one that is only space.

    A word may be several pieces, and a character several bytes, each a piece of its own; but no
    piece has letters of two words, since the space before a word begins its first piece.
    """
    spelt = [_token_bytes(tokenizer, id) for id in ids]
    word_at: list[int | None] = []  # by byte
    word, inside = -1, False
    for character, size in _characters(ids, spelt):
        word += not character.isspace() and not inside
        inside = not character.isspace()
        word_at += [word if inside else None] * size
    starts = accumulate(map(len, spelt), initial=0)
    return [
        next((at for at in word_at[start:end] if at is not None), None) for start, end in pairwise(starts)
    ]


def map_tokens_to_spans(tokenizer: Tokenizer, ids: Sequence[int]) -> list[tuple[int, int]]:
    """For each piece its first character in `detokenize(ids)`, and the first after it.

    The space before a word is not counted as part of its piece. Pieces that spell one character
    together all have that character; one that spells nothing has none.
    """
    spelt = [_token_bytes(tokenizer, id) for id in ids]
    characters = list(_characters(ids, spelt))
    at = [place for place, (_, size) in enumerate(characters) for _ in range(size)]  # by byte
    lost = bool(characters) and characters[0][0] == " "  # the space before the first word is not in the text
    found = []
    for start, end in pairwise(accumulate(map(len, spelt), initial=0)):
        first, last = (at[start], at[end - 1] + 1) if end > start else (_character_at(at, start),) * 2
        first += last - first > 1 and characters[first][0] == " "
        found.append((max(first - lost, 0), max(last - lost, 0)))
    return found


def _character_at(at: Sequence[int], byte: int) -> int:
    return at[byte] if byte < len(at) else (at[-1] + 1 if at else 0)


def _characters(ids: Sequence[int], spelt: Sequence[bytes]) -> Iterator[tuple[str, int]]:
    """What is written, and how many bytes each character has.

    A run of bytes that spells no text becomes a sign of its own for every byte, a space among them too.
    """
    for spelling, run in groupby(zip(ids, spelt, strict=True), lambda each: _is_byte_token(each[0])):
        content = b"".join(part for _, part in run)
        try:
            yield from ((character, len(character.encode())) for character in content.decode("utf-8"))
        except UnicodeDecodeError:
            assert spelling
            yield from (("\ufffd", 1) for _ in content)


def _is_byte_token(id: int) -> bool:
    return len(SPECIAL_TOKENS) <= id < len(SPECIAL_TOKENS) + len(BYTE_TOKENS)


def _token_bytes(tokenizer: Tokenizer, id: int) -> bytes:
    if id < len(SPECIAL_TOKENS):
        return b""
    if _is_byte_token(id):
        return bytes([id - len(SPECIAL_TOKENS)])
    return tokenizer.id_to_token(id).encode("utf-8")
