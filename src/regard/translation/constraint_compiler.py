"""Phrases that no translation may have: looked for in what was found, which is then searched for again.

A word can be written in more pieces than anybody would cut it into, and the pieces of a short word also
begin longer ones, which nobody forbade. So the first search is free. What a translation has of a phrase, as
whole words, is forbidden to the next one in just these pieces, and in those it would usually have.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from regard.inference.engine import UNSATISFIABLE
from regard.search.constraints import Constraints, TokenIds
from regard.search.hypothesis import Hypothesis
from regard.text.token_spans import map_tokens_to_spans
from regard.text.tokenizer import Tokenizer
from regard.text.unicode import UNSPACED_LETTERS, is_unspaced_script
from regard.translation.options import TranslateOptions

MAX_SEARCHES = 12
"""At most, with more forbidden each time; what has a phrase even then is not given."""

SearchSubset = Callable[[Sequence[int], Sequence[Constraints]], list[list[Hypothesis]]]
"""Searches for the sentences of those numbers, with these wishes."""


class ForbiddenPhraseSearch:
    """What must not be in a translation, as text."""

    def __init__(
        self, tokenizer: Tokenizer, phrases: Sequence[str], usual_tokens: Sequence[TokenIds]
    ) -> None:
        """`usual` are the pieces that the phrases have wherever a word begins."""
        self._tokenizer, self._usual = tokenizer, tuple(usual_tokens)
        self._phrases = [
            re.compile(_whole_phrase_pattern(case))
            for phrase in phrases
            for case in sentence_case_variants(phrase)
        ]

    def search(
        self, constraints: Sequence[Constraints], search_subset: SearchSubset
    ) -> list[list[Hypothesis]]:
        """What is found for each wish, without any of the phrases after its forced beginning."""
        found = search_subset(range(len(constraints)), constraints)
        constraints = list(constraints)
        for _ in range(MAX_SEARCHES if self._phrases else 0):
            again = []
            for number, (wish, answer) in enumerate(zip(constraints, found, strict=True)):
                if had := {
                    ids for each in answer for ids in self._find_violations(each.tokens, len(wish.prefix))
                }:
                    constraints[number] = replace(
                        wish, forbidden=tuple(dict.fromkeys([*wish.forbidden, *self._usual, *sorted(had)]))
                    )
                    again.append(number)
            if not again:
                return found
            for number, answer in zip(
                again, search_subset(again, [constraints[n] for n in again]), strict=True
            ):
                found[number] = answer
        return [
            self._drop_violations(answer, len(wish.prefix))
            for wish, answer in zip(constraints, found, strict=True)
        ]

    def _drop_violations(self, answer: Sequence[Hypothesis], after: int) -> list[Hypothesis]:
        return [each for each in answer if not self._find_violations(each.tokens, after)] or [UNSATISFIABLE]

    def _find_violations(self, tokens: TokenIds, after: int) -> list[TokenIds]:
        """The pieces of each phrase that is there and does not end within the first so many."""
        (text,) = self._tokenizer.detokenize([tokens])
        matches = [match.span() for phrase in self._phrases for match in phrase.finditer(text)]
        if not matches:
            return []
        spans = map_tokens_to_spans(self._tokenizer, tokens)
        found = []
        for start, end in matches:
            pieces = [k for k, (first, last) in enumerate(spans) if first < end and last > start]
            if pieces and pieces[-1] >= after:
                found.append(tokens[pieces[0] : pieces[-1] + 1])
        return found


def sentence_case_variants(phrase: str) -> tuple[str, ...]:
    """As it is, and as it begins a sentence."""
    phrase = phrase.strip()
    capital = phrase[:1].upper() + phrase[1:]
    return (phrase,) if capital == phrase else (phrase, capital)


def _whole_phrase_pattern(phrase: str) -> str:
    """Not inside a longer word, in scripts that write spaces."""
    letter = rf"[^\W_{UNSPACED_LETTERS}]"
    before = f"(?<!{letter})" if phrase[0].isalnum() and not is_unspaced_script(phrase[0]) else ""
    after = f"(?!{letter})" if phrase[-1].isalnum() and not is_unspaced_script(phrase[-1]) else ""
    return before + re.escape(phrase) + after


WORD_INTERNAL_PUNCTUATION = "'’-"
"""Signs in the middle of a word, after which another may begin: l'eau."""
OPENING_PUNCTUATION = "(\"“«'"
"""Signs before a word, after a space."""


class ConstraintCompiler:
    """Makes the wish of each sentence; what all have in common is tokenized once."""

    def __init__(self, tokenizer: Tokenizer, options: TranslateOptions) -> None:
        self._tokenizer, self._asked = tokenizer, options
        self._token_variants = lru_cache(maxsize=None)(self._compute_token_variants)
        self._prefix: TokenIds = tuple(tokenizer.tokenize([options.prefix.strip()])[0])
        self._required = tuple(self._token_variants(phrase) for phrase in options.required)
        usual = [
            form
            for phrase in options.forbidden
            for case in sentence_case_variants(phrase)
            for form in self._token_variants(case)
        ]
        self.forbidden_search = ForbiddenPhraseSearch(tokenizer, options.forbidden, usual)

    @property
    def has_constraints(self) -> bool:
        """Whether there can be a wish at all."""
        return self._asked.has_constraints

    def compile(self, text: str, is_first_part: bool) -> Constraints:
        """What is asked for one sentence; prefix and required phrases are for the first of a text."""
        wanted = self._asked.glossary.find_required_targets(text)
        return Constraints(
            prefix=self._prefix if is_first_part else (),
            required=(self._required if is_first_part else ())
            + tuple(
                tuple(form for target in targets for form in self._token_variants(target))
                for targets in wanted
            ),
        )

    def _compute_token_variants(self, phrase: str) -> tuple[TokenIds, ...]:
        """Its pieces wherever a word may begin: after a space, or after a sign, which comes with it.

        A space is also before the first word of a sentence. Pieces do not cross the border between
        letters and signs, so the letter before a sign has pieces of its own and can be taken away.
        """
        phrase = phrase.strip()
        in_words = phrase[0].isalnum() and not is_unspaced_script(phrase[0])
        signs = [sign + phrase for sign in WORD_INTERNAL_PUNCTUATION] if in_words else [phrase]
        opened = [sign + phrase for sign in OPENING_PUNCTUATION] if in_words else []
        letter, *rows = self._tokenizer.tokenize(["x", *("x" + text for text in signs), phrase, *opened])
        glued, spaced = rows[: len(signs)], rows[len(signs) :]
        return tuple(tuple(row) for row in (*spaced, *(row[len(letter) :] for row in glued)))
