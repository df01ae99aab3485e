"""From phrases to token ids: what a search is to require, to forbid and to begin with."""

from functools import lru_cache

from regard.search.wish import Tokens, Wish
from regard.tasks.asked import Asked
from regard.text.tokenizer import Tokenizer

AFTER_LETTERS = "'’-"
"""Signs in the middle of a word, after which another may begin: l'eau."""
OPENING = "(\"“«'"
"""Signs before a word, after a space."""


class Wishes:
    """Makes the wish of each sentence; what all have in common is tokenized once."""

    def __init__(self, tokenizer: Tokenizer, asked: Asked) -> None:
        self._tokenizer, self._asked = tokenizer, asked
        self._forms = lru_cache(maxsize=None)(self._forms_of)
        self._prefix: Tokens = tuple(tokenizer.tokenize([asked.prefix.strip()])[0])
        self._required = tuple(self._forms(phrase) for phrase in asked.required)
        self._forbidden = tuple(
            form for phrase in asked.forbidden for case in _cases(phrase) for form in self._forms(case)
        )

    @property
    def any(self) -> bool:
        """Whether there can be a wish at all."""
        return bool(self._prefix or self._required or self._forbidden or self._asked.glossary.entries)

    def of(self, text: str, first: bool) -> Wish:
        """What is asked for one sentence; the prefix is for the first of a text."""
        wanted = self._asked.glossary.wanted(text)
        return Wish(
            prefix=self._prefix if first else (),
            required=self._required
            + tuple(tuple(form for target in targets for form in self._forms(target)) for targets in wanted),
            forbidden=self._forbidden,
        )

    def _forms_of(self, phrase: str) -> tuple[Tokens, ...]:
        """Its pieces wherever a word may begin: after a space, or after a sign, which comes with it.

        A space is also before the first word of a sentence. Pieces do not cross the border between
        letters and signs, so the letter before a sign has pieces of its own and can be taken away.
        """
        phrase = phrase.strip()
        signs = [sign + phrase for sign in AFTER_LETTERS] if phrase[:1].isalnum() else [phrase]
        opened = [sign + phrase for sign in OPENING] if phrase[:1].isalnum() else []
        letter, *rows = self._tokenizer.tokenize(["x", *("x" + text for text in signs), phrase, *opened])
        glued, spaced = rows[: len(signs)], rows[len(signs) :]
        return tuple(tuple(row) for row in (*spaced, *(row[len(letter) :] for row in glued)))


def _cases(phrase: str) -> tuple[str, ...]:
    """As it is, and as it begins a sentence."""
    capital = phrase[:1].upper() + phrase[1:]
    return (phrase,) if capital == phrase else (phrase, capital)
