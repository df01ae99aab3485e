"""Words and character spans of tokens; a word is text between white space."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise

from regard.text.tokenizer import BYTE_TOKENS, SPECIAL_TOKENS, Tokenizer


def map_tokens_to_words(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int | None]:
    """Return for each token the index of its word in `detokenize(ids).split()`; None for a token of spaces.

    A word may have several tokens, and a character several byte tokens; but no token has letters of
    two words, since the space before a word begins its first token.
    """
    spellings = [_token_bytes(tokenizer, id) for id in ids]
    words: list[int | None] = []  # of each byte
    word, in_word = -1, False
    for character, size in _characters(ids, spellings):
        word += not character.isspace() and not in_word
        in_word = not character.isspace()
        words += [word if in_word else None] * size
    starts = accumulate(map(len, spellings), initial=0)
    return [
        next((word for word in words[start:end] if word is not None), None) for start, end in pairwise(starts)
    ]


def map_tokens_to_spans(tokenizer: Tokenizer, ids: Sequence[int]) -> list[tuple[int, int]]:
    """Return for each token its first character in `detokenize(ids)` and the first after it.

    The space before a word is not counted as part of its token. Byte tokens that spell one character
    all have its span; a special token has an empty span.
    """
    spellings = [_token_bytes(tokenizer, id) for id in ids]
    characters = list(_characters(ids, spellings))
    character_of_byte = [place for place, (_, size) in enumerate(characters) for _ in range(size)]
    leading = bool(characters) and characters[0][0] == " "  # detokenize drops the space of the first word
    spans = []
    for start, end in pairwise(accumulate(map(len, spellings), initial=0)):
        if end > start:
            first, last = character_of_byte[start], character_of_byte[end - 1] + 1
        else:
            first = last = _character_at(character_of_byte, start)
        first += last - first > 1 and characters[first][0] == " "
        spans.append((max(first - leading, 0), max(last - leading, 0)))
    return spans


def _character_at(character_of_byte: Sequence[int], byte: int) -> int:
    if byte < len(character_of_byte):
        return character_of_byte[byte]
    return character_of_byte[-1] + 1 if character_of_byte else 0


def _characters(ids: Sequence[int], spellings: Sequence[bytes]) -> Iterator[tuple[str, int]]:
    """Yield the characters of the text and the number of bytes of each.

    A run of byte tokens that is not UTF-8 yields a replacement character for every byte.
    """
    for is_bytes, run in groupby(zip(ids, spellings, strict=True), lambda each: _is_byte_token(each[0])):
        content = b"".join(part for _, part in run)
        try:
            yield from ((character, len(character.encode())) for character in content.decode("utf-8"))
        except UnicodeDecodeError:
            assert is_bytes
            yield from (("\ufffd", 1) for _ in content)


def _is_byte_token(id: int) -> bool:
    return len(SPECIAL_TOKENS) <= id < len(SPECIAL_TOKENS) + len(BYTE_TOKENS)


def _token_bytes(tokenizer: Tokenizer, id: int) -> bytes:
    if id < len(SPECIAL_TOKENS):
        return b""
    if _is_byte_token(id):
        return bytes([id - len(SPECIAL_TOKENS)])
    return tokenizer.id_to_token(id).encode("utf-8")
