"""Compiling phrases to token constraints, and searching again until no forbidden phrase is in the text.

Required phrases and prefixes are enforced inside the search. A forbidden phrase cannot be: a word has more
tokenizations than the usual ones, and the tokens of a short word also begin longer words, which are allowed.
So the first search is free. If a translation contains a forbidden phrase as whole words, the sentence is
searched again with these tokens forbidden, and with those of the phrase's usual tokenizations.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from regard.inference.engine import UNSATISFIABLE
from regard.search.constraints import NO_CONSTRAINTS, Constraints, TokenIds
from regard.search.hypothesis import Hypothesis
from regard.text.token_spans import map_tokens_to_spans
from regard.text.tokenizer import Tokenizer
from regard.text.unicode import UNSPACED_LETTERS, is_unspaced_script
from regard.translation.options import TranslateOptions

MAX_SEARCHES = 12
"""Searches with ever more forbidden tokens; a hypothesis that still contains a phrase is then dropped."""
WORD_INTERNAL_PUNCTUATION = "'’-"
"""Punctuation after which another word can begin without a space: l'eau."""
OPENING_PUNCTUATION = "(\"“«'"
"""Punctuation between a space and a word."""

SearchSubset = Callable[[Sequence[int], Sequence[Constraints]], list[list[Hypothesis]]]
"""Searches the sentences of these indexes under these constraints."""


class ConstraintCompiler:
    """Turns the phrases of a request into token constraints; those for all texts are tokenized once."""

    def __init__(self, tokenizer: Tokenizer, options: TranslateOptions) -> None:
        self._tokenizer, self._options = tokenizer, options
        self.token_variants = lru_cache(maxsize=None)(self._compute_token_variants)
        self._prefix: TokenIds = tuple(tokenizer.tokenize([options.prefix.strip()])[0])
        self._required = tuple(self.token_variants(phrase) for phrase in options.required)
        usual_tokens = [
            tokens
            for phrase in options.forbidden
            for case in sentence_case_variants(phrase)
            for tokens in self.token_variants(case)
        ]
        self.forbidden_search = ForbiddenPhraseSearch(tokenizer, options.forbidden, usual_tokens)

    @property
    def has_constraints(self) -> bool:
        """Whether any sentence can have constraints."""
        return self._options.has_constraints

    def compile(self, is_first_part: bool) -> Constraints:
        """Return the constraints of one sentence; prefix and required phrases are for a text's first one."""
        return Constraints(self._prefix, self._required) if is_first_part else NO_CONSTRAINTS

    def _compute_token_variants(self, phrase: str) -> tuple[TokenIds, ...]:
        """Return the tokens of a phrase wherever a word can begin: after a space, or after punctuation.

        The tokenizer puts a space before the first word of a sentence, too. Opening punctuation becomes part
        of the variant. Tokens do not cross the border between letters and punctuation, so for punctuation
        inside a word a letter can be put before it and its tokens removed again.
        """
        phrase = phrase.strip()
        is_word = phrase[0].isalnum() and not is_unspaced_script(phrase[0])
        internal = [mark + phrase for mark in WORD_INTERNAL_PUNCTUATION] if is_word else [phrase]
        opened = [mark + phrase for mark in OPENING_PUNCTUATION] if is_word else []
        letter, *rows = self._tokenizer.tokenize(["x", *("x" + text for text in internal), phrase, *opened])
        after_letter, after_space = rows[: len(internal)], rows[len(internal) :]
        return tuple(tuple(row) for row in (*after_space, *(row[len(letter) :] for row in after_letter)))


class ForbiddenPhraseSearch:
    """Searches until no hypothesis contains a forbidden phrase."""

    def __init__(
        self, tokenizer: Tokenizer, phrases: Sequence[str], usual_tokens: Sequence[TokenIds]
    ) -> None:
        """`usual_tokens` are the tokenizations of the phrases wherever a word begins."""
        self._tokenizer, self._usual_tokens = tokenizer, tuple(usual_tokens)
        self._phrases = [
            re.compile(_whole_phrase_pattern(case))
            for phrase in phrases
            for case in sentence_case_variants(phrase)
        ]

    def search(
        self, constraints: Sequence[Constraints], search_subset: SearchSubset
    ) -> list[list[Hypothesis]]:
        """Return hypotheses that contain no forbidden phrase after their prefix."""
        results = search_subset(range(len(constraints)), constraints)
        constraints = list(constraints)
        for _ in range(MAX_SEARCHES if self._phrases else 0):
            rejected = []
            for index, (each, hypotheses) in enumerate(zip(constraints, results, strict=True)):
                violations = {
                    tokens
                    for hypothesis in hypotheses
                    for tokens in self._find_violations(hypothesis.tokens, len(each.prefix))
                }
                if violations:
                    forbidden = dict.fromkeys([*each.forbidden, *self._usual_tokens, *sorted(violations)])
                    constraints[index] = replace(each, forbidden=tuple(forbidden))
                    rejected.append(index)
            if not rejected:
                return results
            new_results = search_subset(rejected, [constraints[index] for index in rejected])
            for index, hypotheses in zip(rejected, new_results, strict=True):
                results[index] = hypotheses
        return [
            self._drop_violations(hypotheses, len(each.prefix))
            for each, hypotheses in zip(constraints, results, strict=True)
        ]

    def _drop_violations(self, hypotheses: Sequence[Hypothesis], prefix_length: int) -> list[Hypothesis]:
        allowed = [each for each in hypotheses if not self._find_violations(each.tokens, prefix_length)]
        return allowed or [UNSATISFIABLE]

    def _find_violations(self, tokens: TokenIds, prefix_length: int) -> list[TokenIds]:
        """Return the tokens of every forbidden phrase in the text that does not end within the prefix."""
        (text,) = self._tokenizer.detokenize([tokens])
        matches = [match.span() for phrase in self._phrases for match in phrase.finditer(text)]
        if not matches:
            return []
        spans = map_tokens_to_spans(self._tokenizer, tokens)
        violations = []
        for start, end in matches:
            inside = [index for index, (first, last) in enumerate(spans) if first < end and last > start]
            if inside and inside[-1] >= prefix_length:
                violations.append(tokens[inside[0] : inside[-1] + 1])
        return violations


def sentence_case_variants(phrase: str) -> tuple[str, ...]:
    """Return the phrase as it is, and as it begins a sentence."""
    phrase = phrase.strip()
    capital = phrase[:1].upper() + phrase[1:]
    return (phrase,) if capital == phrase else (phrase, capital)


def _whole_phrase_pattern(phrase: str) -> str:
    """Return a pattern that does not match inside a longer word, in scripts that write spaces."""
    letter = rf"[^\W_{UNSPACED_LETTERS}]"
    before = f"(?<!{letter})" if phrase[0].isalnum() and not is_unspaced_script(phrase[0]) else ""
    after = f"(?!{letter})" if phrase[-1].isalnum() and not is_unspaced_script(phrase[-1]) else ""
    return before + re.escape(phrase) + after
