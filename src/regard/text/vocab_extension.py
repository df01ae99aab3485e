"""Vocabulary extension: new BPE tokens for a new corpus while the old ones keep their ids.

New merges come after the old ones, and no new token is spelled like an old one. So a text is first
tokenized exactly as before, and then adjacent tokens may be merged: a new token stands where a run of
old ones stood, and where no new token occurs the ids are the old ids.
"""

import heapq
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise

import numpy as np
from tokenizers import Tokenizer as Backend

from regard.text.bpe import BytePairEncoder, pretokenize
from regard.text.tokenizer import BASE_VOCAB_SIZE, MAX_TOKEN_LENGTH, Tokenizer

MIN_TOKEN_COUNT = 2
"""Occurrences in the corpus that a new token needs."""

COUNTING_CHUNK = 2**16
"""Texts whose words are counted at a time."""


def extend_tokenizer(tokenizer: Tokenizer, texts: Iterable[str], new_tokens: int) -> Tokenizer:
    """Add at most `new_tokens`: characters that were bytes before, then the most frequent merges."""
    counts = _count_words(tokenizer, texts)
    characters = _new_characters(BytePairEncoder(tokenizer), counts, max(1, new_tokens // 2))
    extended = _append_tokens(tokenizer, characters, [])
    merges = _learn_merges(BytePairEncoder(extended), counts, new_tokens - len(characters))
    return _append_tokens(extended, [left + right for left, right in merges], merges)


def decompose_new_tokens(old: Tokenizer, new: Tokenizer) -> list[list[int]]:
    """Return for each token that only the extended tokenizer has the old tokens that it replaces."""
    encoder = BytePairEncoder(old)
    return [encoder.segment(new.id_to_token(id)) for id in range(old.vocab_size, new.vocab_size)]


def _count_words(tokenizer: Tokenizer, texts: Iterable[str]) -> Counter[str]:
    counts, texts = Counter[str](), iter(texts)
    while chunk := list(islice(texts, COUNTING_CHUNK)):
        pretokenized = pretokenize(tokenizer, chunk)
        occurrences = np.bincount(pretokenized.word_ids).tolist()
        counts.update(dict(zip(pretokenized.words, occurrences, strict=True)))
    return counts


def _new_characters(encoder: BytePairEncoder, word_counts: Mapping[str, int], limit: int) -> list[str]:
    """Return the characters that had to be spelled in bytes, the most frequent first."""
    counts = Counter[str]()
    for word, count in word_counts.items():
        for character in word:
            counts[character] += count
    new = [
        character
        for character, count in counts.items()
        if count >= MIN_TOKEN_COUNT and character not in encoder.vocab
    ]
    return sorted(new, key=lambda character: (-counts[character], character))[:limit]


def _learn_merges(
    encoder: BytePairEncoder, word_counts: Mapping[str, int], limit: int
) -> list[tuple[str, str]]:
    """Learn byte-pair encoding as from characters, but starting after the old merges."""
    tokens, known = {id: token for token, id in encoder.vocab.items()}, set(encoder.vocab)
    pair_counts = _PairCounts([(encoder.segment(word), count) for word, count in word_counts.items()])
    merges: list[tuple[str, str]] = []
    while len(merges) < limit and (pair := pair_counts.pop_most_frequent()) is not None:
        left, right = tokens[pair[0]], tokens[pair[1]]
        if min(pair) < BASE_VOCAB_SIZE or left + right in known or len(left + right) > MAX_TOKEN_LENGTH:
            continue  # bytes stay bytes, and an old spelling keeps its old tokens
        merges.append((left, right))
        known.add(left + right)
        tokens[new := len(tokens)] = left + right
        pair_counts.merge(pair, new)
    return merges


class _PairCounts:
    """Counts of adjacent tokens in the words of a corpus, updated as tokens are merged."""

    def __init__(self, words: list[tuple[list[int], int]]) -> None:
        self._words = words
        self._counts = Counter[tuple[int, int]]()
        self._words_with_pair = defaultdict[tuple[int, int], set[int]](set)
        for number in range(len(words)):
            self._count(number, 1)
        self._heap = [(-count, pair) for pair, count in self._counts.items()]
        heapq.heapify(self._heap)

    def pop_most_frequent(self) -> tuple[int, int] | None:
        """Return the most frequent pair that was not returned before; of equals the one with lowest ids."""
        while self._heap:
            negative, pair = heapq.heappop(self._heap)
            if -negative < MIN_TOKEN_COUNT:
                return None
            if self._counts[pair] == -negative:
                return pair
        return None

    def merge(self, pair: tuple[int, int], new: int) -> None:
        """Replace every occurrence of the pair by the new token."""
        changed: set[tuple[int, int]] = set()
        for number in self._words_with_pair.pop(pair):
            changed |= self._count(number, -1)
            ids, count = self._words[number]
            self._words[number] = (_replace_pair(ids, pair, new), count)
            changed |= self._count(number, 1)
        for other in changed - {pair}:
            heapq.heappush(self._heap, (-self._counts[other], other))

    def _count(self, number: int, sign: int) -> set[tuple[int, int]]:
        ids, count = self._words[number]
        pairs = list(pairwise(ids))
        for pair in pairs:
            self._counts[pair] += sign * count
            self._words_with_pair[pair].add(number)
        return set(pairs)


def _replace_pair(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    merged: list[int] = []
    for id in ids:
        if merged and (merged[-1], id) == pair:
            merged[-1] = new
        else:
            merged.append(id)
    return merged


def _append_tokens(
    tokenizer: Tokenizer, tokens: Sequence[str], merges: Sequence[tuple[str, str]]
) -> Tokenizer:
    """Return the tokenizer with tokens and merges after its last ones."""
    document = json.loads(tokenizer.to_json())
    first = tokenizer.vocab_size
    document["model"]["vocab"] |= {token: first + place for place, token in enumerate(tokens)}
    document["model"]["merges"] += [list(pair) for pair in merges]
    return Tokenizer(Backend.from_str(json.dumps(document)))
