"""Ids as tokens that can be shown: pieces, places in the text, words."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from regard.text.token_spans import map_tokens_to_spans, map_tokens_to_words
from regard.text.tokenizer import BASE_VOCAB_SIZE, BOS, EOS, PAD, SPECIAL_TOKENS, Tokenizer
from regard.trace.schema import SpecialTokenName, TraceToken

VISIBLE_SPACE = "▁"
"""A space that can be seen, in a piece."""
BLANK_TOKEN = "␣"
"""How a piece that is nothing but space is read."""
CONTINUATION_BYTE = "…"
"""How the rest of a character is read that several bytes spell: the first of them has it."""
_SPECIAL: dict[int, SpecialTokenName] = {PAD: "pad", BOS: "bos", EOS: "eos"}


class TokenRenderer:
    """How ids are read."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def piece(self, id: int) -> str:
        """As the vocabulary has it, its spaces to be seen."""
        return self._tokenizer.id_to_token(id).replace(" ", VISIBLE_SPACE)

    def text(self, id: int) -> str:
        """Without the space before it; on its own, a byte of a character cannot be read."""
        text = self._tokenizer.id_to_token(id).removeprefix(" ")
        return text if text.strip() else BLANK_TOKEN

    def line(self, ids: Sequence[int]) -> str:
        """Their text on one line, as a translation is."""
        return self._tokenizer.detokenize([ids])[0].replace("\r", " ").replace("\n", " ")


def describe_tokens(
    tokenizer: Tokenizer, ids: Sequence[int], logprobs: Sequence[float] | None = None
) -> list[TraceToken]:
    """One for each id; offsets are into `detokenize(ids)`."""
    names, words, spans = (
        TokenRenderer(tokenizer),
        map_tokens_to_words(tokenizer, ids),
        map_tokens_to_spans(tokenizer, ids),
    )
    found = [
        TraceToken(id, names.piece(id), names.text(id), start, end, word)
        if id >= len(SPECIAL_TOKENS)
        else TraceToken(id, SPECIAL_TOKENS[id], SPECIAL_TOKENS[id], None, None, None, _SPECIAL[id])
        for id, word, (start, end) in zip(ids, words, spans, strict=True)
    ]
    found = _attach_spaces(_spell_byte_tokens(found, tokenizer.detokenize([ids])[0]))
    if logprobs is None:
        return found
    return [replace(token, logprob=log) for token, log in zip(found, logprobs, strict=True)]


def _spell_byte_tokens(row: Sequence[TraceToken], whole: str) -> list[TraceToken]:
    """Bytes that spell a character together: the first is read as it, the others as its rest."""
    found = list(row)
    for place, token in enumerate(row):
        character = "" if token.start is None else whole[token.start : token.end]
        if token.id < BASE_VOCAB_SIZE and character.isprintable() and character.strip() not in ("", "\ufffd"):
            goes_on = place > 0 and (row[place - 1].start, row[place - 1].end) == (token.start, token.end)
            found[place] = replace(token, text=CONTINUATION_BYTE if goes_on else character)
    return found


def _attach_spaces(row: Sequence[TraceToken]) -> list[TraceToken]:
    """A space alone before a word begins that word, as it does inside a piece, and stands where it begins."""
    found = list(row)
    for place, (token, after) in enumerate(pairwise(row)):
        if (
            token.piece == VISIBLE_SPACE
            and after.word is not None
            and not after.piece.startswith(VISIBLE_SPACE)
        ):
            found[place] = replace(token, start=after.start, end=after.end, word=after.word)
    return found
