"""Ids as tokens that can be shown: pieces, places in the text, words."""

from collections.abc import Sequence
from dataclasses import replace

from regard.text.tokenizer import BOS, EOS, MARKS, PAD, Tokenizer
from regard.text.word_pieces import span_of_each, word_of_each
from regard.trace.parts import Special, Token

SPACE = "▁"
"""A space that can be seen."""
_SPECIAL: dict[int, Special] = {PAD: "pad", BOS: "bos", EOS: "eos"}


class Names:
    """How ids are read."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def piece(self, id: int) -> str:
        """As the vocabulary has it, its spaces to be seen."""
        return self._tokenizer.piece(id).replace(" ", SPACE)

    def text(self, id: int) -> str:
        """Without the space before it; one that is only space is shown as such."""
        return self._tokenizer.piece(id).removeprefix(" ") or SPACE

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
    if logprobs is None:
        return found
    return [replace(token, logprob=log) for token, log in zip(found, logprobs, strict=True)]
