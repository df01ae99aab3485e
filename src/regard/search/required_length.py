"""The fewest tokens that complete all required phrases, where phrases may share tokens; no torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from jaxtyping import Int

from regard.search.constraints import SEPARATE, TokenIds, WordBoundaries

MAX_ORDERED_PHRASES = 6
"""Phrases of a sentence whose orders are all compared; of more phrases the lengths are added up."""
UNREACHABLE = 1 << 20

Phrases = tuple[tuple[TokenIds, ...], ...]
"""Each phrase as its alternatives; a phrase that stands n times is required n times, without overlap."""


@dataclass(frozen=True)
class CompletionTable:
    """The shortest completions of a sentence's phrases, by the set of phrases that are complete already.

    The shortest sequence that contains several phrases writes them in some order, each overlapping the end
    of the one before it as far as possible. So it follows from the phrases left and the one written last.
    """

    completed: Int[np.ndarray, "sets phrase alternative"]
    """The set that each alternative makes of a set of complete phrases, as bits: it contains others, too."""
    remaining: Int[np.ndarray, "sets phrase alternative"]
    """Tokens still needed after each alternative when a set of phrases is complete."""


@lru_cache(maxsize=4096)
def make_completion_table(phrases: Phrases, word_boundaries: WordBoundaries | None = None) -> CompletionTable:
    """Compute the table of at most `MAX_ORDERED_PHRASES` phrases; absent alternatives are unreachable."""
    width, full = max(map(len, phrases)), (1 << len(phrases)) - 1
    cells = [(j, k) for j, alternatives in enumerate(phrases) for k in range(len(alternatives))]
    completed = np.zeros((full + 1, len(phrases), width), dtype=np.int64)
    remaining = np.full(completed.shape, UNREACHABLE, dtype=np.int64)
    steps = np.full((len(phrases), width) * 2, UNREACHABLE, dtype=np.int64)
    for j, k in cells:
        counts = _count_contained(phrases, phrases[j][k], word_boundaries)
        completed[:, j, k] = [_complete(phrases, done | 1 << j, counts, j) for done in range(full + 1)]
        remaining[full, j, k] = 0
    for (j, k), (i, n) in product(cells, cells):
        overlaps = phrases[i] != phrases[j]  # the second of two equal phrases begins after the first
        steps[j, k, i, n] = _count_added_tokens(phrases[j][k], phrases[i][n], overlaps, word_boundaries)
    phrase, alternative = np.indices(completed.shape[1:])
    for done in range(full - 1, -1, -1):
        if all(done >> first & 1 or not done >> j & 1 for j, first in _repeated_phrases(phrases)):
            is_open = (done >> phrase & 1) == 0
            after = np.where(is_open, remaining[completed[done], phrase, alternative], UNREACHABLE)
            remaining[done] = (steps + after).min(axis=(2, 3))
    return CompletionTable(completed, remaining)


def count_required_tokens(phrases: Phrases, prefix: TokenIds = ()) -> int:
    """Return the fewest tokens of a sequence that begins with a prefix and contains all phrases."""
    if not phrases:
        return len(prefix)
    if len(phrases) > MAX_ORDERED_PHRASES:
        return len(prefix) + sum(min(map(len, alternatives)) for alternatives in phrases)
    table = make_completion_table(phrases)
    done = sum(
        1 << j
        for j, alternatives in enumerate(phrases)
        if _count_occurrences(alternatives, prefix) > phrases[:j].count(alternatives)
    )
    if done == len(table.remaining) - 1:
        return len(prefix)
    lengths = [
        len(tokens)
        - _overlap(prefix, tokens, len(tokens) - 1)
        + table.remaining[table.completed[done, j, k], j, k]
        for j, alternatives in enumerate(phrases)
        for k, tokens in enumerate(alternatives)
        if not done >> j & 1
    ]
    return len(prefix) + int(min(lengths))


def continues_word(last: int, kind: int, word_boundaries: WordBoundaries | None) -> bool:
    """Return whether a token that begins with this kind of character continues the word of token `last`."""
    return word_boundaries is not None and kind != SEPARATE and word_boundaries.ends[last] == kind


def find_repeated_phrase(phrases: Phrases, index: int) -> int | None:
    """Return the index of the last equal phrase before this one."""
    return next((j for j in range(index - 1, -1, -1) if phrases[j] == phrases[index]), None)


def _repeated_phrases(phrases: Phrases) -> list[tuple[int, int]]:
    """Return the index of each phrase that stands before, and that of the one that must be complete first."""
    repeated = ((j, find_repeated_phrase(phrases, j)) for j in range(len(phrases)))
    return [(j, first) for j, first in repeated if first is not None]


def _complete(phrases: Phrases, done: int, counts: Sequence[int], own: int) -> int:
    """Return the set `done` with as many more of each phrase as an alternative of phrase `own` contains."""
    for phrase in dict.fromkeys(phrases):
        copies = [j for j, each in enumerate(phrases) if each == phrase]
        open_copies = [j for j in copies if not done >> j & 1]
        count = counts[copies[0]] - (own in copies)  # one of them is its own
        done |= sum(1 << j for j in open_copies[: max(count, 0)])
    return done


def _count_contained(phrases: Phrases, tokens: TokenIds, word_boundaries: WordBoundaries | None) -> list[int]:
    """Return how often each phrase occurs in `tokens`, not continued by the token after it."""
    return [_count_occurrences(alternatives, tokens, word_boundaries) for alternatives in phrases]


def _count_added_tokens(
    before: TokenIds, tokens: TokenIds, may_overlap: bool, word_boundaries: WordBoundaries | None
) -> int:
    """Return how many tokens write `tokens` after `before`: those that the two do not share.

    Where even the first token would continue the last word of `before`, another token must stand between.
    """
    longest = min(len(before), len(tokens) - 1) if may_overlap else 0
    for overlap in range(longest, -1, -1):
        if before[len(before) - overlap :] == tokens[:overlap] and not _continues(
            before[-1], tokens[overlap], word_boundaries
        ):
            return len(tokens) - overlap
    return len(tokens) + 1


def _continues(last: int, token: int, word_boundaries: WordBoundaries | None) -> bool:
    kind = SEPARATE if word_boundaries is None else word_boundaries.begins[token]
    return continues_word(last, kind, word_boundaries)


def _overlap(text: TokenIds, tokens: TokenIds, longest: int) -> int:
    """Return how many of the first tokens, at most `longest`, the text ends with."""
    return next(n for n in range(min(longest, len(text)), -1, -1) if text[len(text) - n :] == tokens[:n])


def _count_occurrences(
    alternatives: Sequence[TokenIds], text: TokenIds, word_boundaries: WordBoundaries | None = None
) -> int:
    """Count occurrences of any alternative that do not overlap, from the left."""
    count = start = 0
    for end in range(1, len(text) + 1):
        is_word = end == len(text) or not _continues(text[end - 1], text[end], word_boundaries)
        if is_word and any(text[max(end - len(one), start) : end] == one for one in alternatives):
            count, start = count + 1, end
    return count
