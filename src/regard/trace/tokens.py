"""Ids as tokens that can be shown: pieces, places in the text, words."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from regard.text.token_spans import span_of_each, word_of_each
from regard.text.tokenizer import BOS, EOS, MARKS, PAD, SMALLEST, Tokenizer
from regard.trace.schema import Special, Token

SPACE = "▁"
"""A space that can be seen, in a piece."""
BLANK = "␣"
"""How a piece that is nothing but space is read."""
REST = "…"
"""How the rest of a character is read that several bytes spell: the first of them has it."""
_SPECIAL: dict[int, Special] = {PAD: "pad", BOS: "bos", EOS: "eos"}


class Names:
    """How ids are read."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def piece(self, id: int) -> str:
        """As the vocabulary has it, its spaces to be seen."""
        return self._tokenizer.piece(id).replace(" ", SPACE)

    def text(self, id: int) -> str:
        """Without the space before it; on its own, a byte of a character cannot be read."""
        text = self._tokenizer.piece(id).removeprefix(" ")
        return text if text.strip() else BLANK

    def whole(self, ids: Sequence[int]) -> str:
        """Their text on one line, as a translation is."""
        return self._tokenizer.detokenize([ids])[0].replace("\r", " ").replace("\n", " ")


def tokens(tokenizer: Tokenizer, ids: Sequence[int], logprobs: Sequence[float] | None = None) -> list[Token]:
    """One for each id; offsets are into `detokenize(ids)`."""
    names, words, spans = Names(tokenizer), word_of_each(tokenizer, ids), span_of_each(tokenizer, ids)
    found = [
        Token(id, names.piece(id), names.text(id), start, end, word)
        if id >= len(MARKS)
        else Token(id, MARKS[id], MARKS[id], None, None, None, _SPECIAL[id])
        for id, word, (start, end) in zip(ids, words, spans, strict=True)
    ]
    found = _with_spaces_in_words(_with_characters(found, tokenizer.detokenize([ids])[0]))
    if logprobs is None:
        return found
    return [replace(token, logprob=log) for token, log in zip(found, logprobs, strict=True)]


def _with_characters(row: Sequence[Token], whole: str) -> list[Token]:
    """Bytes that spell a character together: the first is read as it, the others as its rest."""
    found = list(row)
    for place, token in enumerate(row):
        character = "" if token.start is None else whole[token.start : token.end]
        if token.id < SMALLEST and character.isprintable() and character.strip() not in ("", "\ufffd"):
            goes_on = place > 0 and (row[place - 1].start, row[place - 1].end) == (token.start, token.end)
            found[place] = replace(token, text=REST if goes_on else character)
    return found


def _with_spaces_in_words(row: Sequence[Token]) -> list[Token]:
    """A space alone before a word begins that word, as it does inside a piece, and stands where it begins."""
    found = list(row)
    for place, (token, after) in enumerate(pairwise(row)):
        if token.piece == SPACE and after.word is not None and not after.piece.startswith(SPACE):
            found[place] = replace(token, start=after.start, end=after.end, word=after.word)
    return found
