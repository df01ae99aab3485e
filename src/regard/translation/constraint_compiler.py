"""Phrases that no translation may have: looked for in what was found, which is then searched for again.

A word can be written in more pieces than anybody would cut it into, and the pieces of a short word also
begin longer ones, which nobody forbade. So the first search is free. What a translation has of a phrase, as
whole words, is forbidden to the next one in just these pieces, and in those it would usually have.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from regard.inference.engine import NO_ROOM
from regard.search.constraints import Tokens, Wish
from regard.search.hypothesis import Hypothesis
from regard.text.token_spans import span_of_each
from regard.text.tokenizer import Tokenizer
from regard.text.unicode import spaceless
from regard.translation.options import Asked

SEARCHES = 12
"""At most, with more forbidden each time; what has a phrase even then is not given."""

Translate = Callable[[Sequence[int], Sequence[Wish]], list[list[Hypothesis]]]
"""Searches for the sentences of those numbers, with these wishes."""


class Forbidden:
    """What must not be in a translation, as text."""

    def __init__(self, tokenizer: Tokenizer, phrases: Sequence[str], usual: Sequence[Tokens]) -> None:
        """`usual` are the pieces that the phrases have wherever a word begins."""
        self._tokenizer, self._usual = tokenizer, tuple(usual)
        self._phrases = [re.compile(_standing_alone(case)) for phrase in phrases for case in cases(phrase)]

    def kept_out(self, wishes: Sequence[Wish], translate: Translate) -> list[list[Hypothesis]]:
        """What is found for each wish, without any of the phrases after its forced beginning."""
        found = translate(range(len(wishes)), wishes)
        wishes = list(wishes)
        for _ in range(SEARCHES if self._phrases else 0):
            again = []
            for number, (wish, answer) in enumerate(zip(wishes, found, strict=True)):
                if had := {ids for each in answer for ids in self._had(each.tokens, len(wish.prefix))}:
                    wishes[number] = replace(
                        wish, forbidden=tuple(dict.fromkeys([*wish.forbidden, *self._usual, *sorted(had)]))
                    )
                    again.append(number)
            if not again:
                return found
            for number, answer in zip(again, translate(again, [wishes[n] for n in again]), strict=True):
                found[number] = answer
        return [self._clean(answer, len(wish.prefix)) for wish, answer in zip(wishes, found, strict=True)]

    def _clean(self, answer: Sequence[Hypothesis], after: int) -> list[Hypothesis]:
        return [each for each in answer if not self._had(each.tokens, after)] or [NO_ROOM]

    def _had(self, tokens: Tokens, after: int) -> list[Tokens]:
        """The pieces of each phrase that is there and does not end within the first so many."""
        (text,) = self._tokenizer.detokenize([tokens])
        matches = [match.span() for phrase in self._phrases for match in phrase.finditer(text)]
        if not matches:
            return []
        spans = span_of_each(self._tokenizer, tokens)
        found = []
        for start, end in matches:
            pieces = [k for k, (first, last) in enumerate(spans) if first < end and last > start]
            if pieces and pieces[-1] >= after:
                found.append(tokens[pieces[0] : pieces[-1] + 1])
        return found


def cases(phrase: str) -> tuple[str, ...]:
    """As it is, and as it begins a sentence."""
    phrase = phrase.strip()
    capital = phrase[:1].upper() + phrase[1:]
    return (phrase,) if capital == phrase else (phrase, capital)


def _standing_alone(phrase: str) -> str:
    """Not inside a longer word, in scripts that write spaces."""
    before = r"(?<![^\W_])" if phrase[0].isalnum() and not spaceless(phrase[0]) else ""
    after = r"(?![^\W_])" if phrase[-1].isalnum() and not spaceless(phrase[-1]) else ""
    return before + re.escape(phrase) + after


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
