"""Token ids as displayable tokens: vocabulary entry, text, span and word."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from regard.text.token_spans import map_tokens_to_spans, map_tokens_to_words
from regard.text.tokenizer import BASE_VOCAB_SIZE, BOS, EOS, PAD, SPECIAL_TOKENS, Tokenizer
from regard.trace.schema import SpecialTokenName, TraceToken

VISIBLE_SPACE = "▁"
"""Stands for a space in a vocabulary entry."""
BLANK_TOKEN = "␣"
"""Text of a token that is only white space."""
CONTINUATION_BYTE = "…"
"""Text of the second and later byte tokens of one character; the first has the character."""
_SPECIAL: dict[int, SpecialTokenName] = {PAD: "pad", BOS: "bos", EOS: "eos"}


class TokenRenderer:
    """Text of single tokens and of sequences."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def piece(self, id: int) -> str:
        """Return the vocabulary entry with visible spaces."""
        return self._tokenizer.id_to_token(id).replace(" ", VISIBLE_SPACE)

    def text(self, id: int) -> str:
        """Return the text without the leading space; a single byte token stays <0xE2>."""
        text = self._tokenizer.id_to_token(id).removeprefix(" ")
        return text if text.strip() else BLANK_TOKEN

    def line(self, ids: Sequence[int]) -> str:
        """Return the detokenized text on one line."""
        return self._tokenizer.detokenize([ids])[0].replace("\r", " ").replace("\n", " ")


def describe_tokens(
    tokenizer: Tokenizer, ids: Sequence[int], logprobs: Sequence[float] | None = None
) -> list[TraceToken]:
    """Return one token per id; offsets refer to `detokenize(ids)`."""
    renderer = TokenRenderer(tokenizer)
    words, spans = map_tokens_to_words(tokenizer, ids), map_tokens_to_spans(tokenizer, ids)
    tokens = [
        TraceToken(id, renderer.piece(id), renderer.text(id), start, end, word)
        if id >= len(SPECIAL_TOKENS)
        else TraceToken(id, SPECIAL_TOKENS[id], SPECIAL_TOKENS[id], None, None, None, _SPECIAL[id])
        for id, word, (start, end) in zip(ids, words, spans, strict=True)
    ]
    tokens = _attach_spaces(_spell_byte_tokens(tokens, tokenizer.detokenize([ids])[0]))
    if logprobs is None:
        return tokens
    return [replace(token, logprob=log) for token, log in zip(tokens, logprobs, strict=True)]


def _spell_byte_tokens(row: Sequence[TraceToken], text: str) -> list[TraceToken]:
    """Give the first byte token of a character that character as text, and the others …."""
    tokens = list(row)
    for index, token in enumerate(row):
        character = "" if token.start is None else text[token.start : token.end]
        if token.id < BASE_VOCAB_SIZE and character.isprintable() and character.strip() not in ("", "\ufffd"):
            continues = index > 0 and (row[index - 1].start, row[index - 1].end) == (token.start, token.end)
            tokens[index] = replace(token, text=CONTINUATION_BYTE if continues else character)
    return tokens


def _attach_spaces(row: Sequence[TraceToken]) -> list[TraceToken]:
    """Assign a lone space token before a word to that word and its span."""
    tokens = list(row)
    for index, (token, after) in enumerate(pairwise(row)):
        if (
            token.piece == VISIBLE_SPACE
            and after.word is not None
            and not after.piece.startswith(VISIBLE_SPACE)
        ):
            tokens[index] = replace(token, start=after.start, end=after.end, word=after.word)
    return tokens
