"""From phrases to token ids: what a search is to require, and to begin with."""

from functools import lru_cache

from regard.search.wish import Tokens, Wish
from regard.tasks.asked import Asked
from regard.tasks.forbidden import Forbidden, cases
from regard.text.scripts import spaceless
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
        usual = [form for phrase in asked.forbidden for case in cases(phrase) for form in self._forms(case)]
        self.forbidden = Forbidden(tokenizer, asked.forbidden, usual)

    @property
    def any(self) -> bool:
        """Whether there can be a wish at all."""
        return self._asked.wishes

    def of(self, text: str, first: bool) -> Wish:
        """What is asked for one sentence; prefix and required phrases are for the first of a text."""
        wanted = self._asked.glossary.wanted(text)
        return Wish(
            prefix=self._prefix if first else (),
            required=(self._required if first else ())
            + tuple(tuple(form for target in targets for form in self._forms(target)) for targets in wanted),
        )

    def _forms_of(self, phrase: str) -> tuple[Tokens, ...]:
        """Its pieces wherever a word may begin: after a space, or after a sign, which comes with it.

        A space is also before the first word of a sentence. Pieces do not cross the border between
        letters and signs, so the letter before a sign has pieces of its own and can be taken away.
        """
        phrase = phrase.strip()
        in_words = phrase[0].isalnum() and not spaceless(phrase[0])
        signs = [sign + phrase for sign in AFTER_LETTERS] if in_words else [phrase]
        opened = [sign + phrase for sign in OPENING] if in_words else []
        letter, *rows = self._tokenizer.tokenize(["x", *("x" + text for text in signs), phrase, *opened])
        glued, spaced = rows[: len(signs)], rows[len(signs) :]
        return tuple(tuple(row) for row in (*spaced, *(row[len(letter) :] for row in glued)))
