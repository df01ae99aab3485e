"""A vocabulary that grows: new pieces for a new corpus, and no old one touched.

New merges come after the old ones, and no new piece is spelled like an old one. So a text is first
cut exactly as it was, and then neighbours may grow together: every new piece stands where a run of
old ones stood, and where no new piece occurs the ids are the old ids.
"""

import heapq
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise

import numpy as np
from tokenizers import Tokenizer as Backend

from regard.text.bpe import BytePairEncoder, pretokenize
from regard.text.tokenizer import BASE_VOCAB_SIZE, Tokenizer

MIN_TOKEN_COUNT = 2
"""What the corpus has less often than this gets no piece of its own."""

COUNTING_CHUNK = 2**16  # texts counted together


def extend_tokenizer(tokenizer: Tokenizer, texts: Iterable[str], new_tokens: int) -> Tokenizer:
    """At most `pieces` new ones: characters that were bytes before, then what the texts repeat most."""
    counts = _count_words(tokenizer, texts)
    letters = _new_characters(BytePairEncoder(tokenizer), counts, max(1, new_tokens // 2))
    wider = _append_tokens(tokenizer, letters, [])
    merges = _learn_merges(BytePairEncoder(wider), counts, new_tokens - len(letters))
    return _append_tokens(wider, [left + right for left, right in merges], merges)


def decompose_new_tokens(old: Tokenizer, new: Tokenizer) -> list[list[int]]:
    """For each piece that only the extended tokenizer has, by its id, the old pieces that it stands for."""
    merges = BytePairEncoder(old)
    return [merges.segment(new.id_to_token(id)) for id in range(old.vocab_size, new.vocab_size)]


def _count_words(tokenizer: Tokenizer, texts: Iterable[str]) -> Counter[str]:
    """How often each word occurs, a chunk of texts at a time."""
    counts, texts = Counter[str](), iter(texts)
    while chunk := list(islice(texts, COUNTING_CHUNK)):
        words = pretokenize(tokenizer, chunk)
        counts.update(dict(zip(words.words, np.bincount(words.word_ids).tolist(), strict=True)))
    return counts


def _new_characters(before: BytePairEncoder, counts: Mapping[str, int], limit: int) -> list[str]:
    """Characters that had to be spelled in bytes, the most frequent first."""
    seen = Counter[str]()
    for word, count in counts.items():
        for letter in word:
            seen[letter] += count
    new = [
        letter for letter, count in seen.items() if count >= MIN_TOKEN_COUNT and letter not in before.vocab
    ]
    return sorted(new, key=lambda letter: (-seen[letter], letter))[:limit]


def _learn_merges(merges: BytePairEncoder, counts: Mapping[str, int], pieces: int) -> list[tuple[str, str]]:
    """Byte-pair encoding as it is learnt from letters, but begun where the old merges end."""
    spelling, known = {id: piece for piece, id in merges.vocab.items()}, set(merges.vocab)
    tally, learnt = _PairCounts([(merges.segment(word), count) for word, count in counts.items()]), []
    while len(learnt) < pieces and (pair := tally.most_frequent()) is not None:
        left, right = spelling[pair[0]], spelling[pair[1]]
        if min(pair) < BASE_VOCAB_SIZE or left + right in known:
            continue  # bytes stay bytes, and an old spelling keeps its old pieces
        learnt.append((left, right))
        known.add(left + right)
        spelling[new := len(spelling)] = left + right
        tally.merge(pair, new)
    return learnt


class _PairCounts:
    """How often two pieces stand side by side in the words of a corpus, kept up as pieces are merged."""

    def __init__(self, words: list[tuple[list[int], int]]) -> None:
        self._words = words
        self._counts = Counter[tuple[int, int]]()
        self._words_with_pair = defaultdict[tuple[int, int], set[int]](set)
        for number in range(len(words)):
            self._count(number, 1)
        self._heap = [(-count, pair) for pair, count in self._counts.items()]
        heapq.heapify(self._heap)

    def most_frequent(self) -> tuple[int, int] | None:
        """The pair seen most often that was not asked for before; the lowest ids where several are."""
        while self._heap:
            negative, pair = heapq.heappop(self._heap)
            if -negative < MIN_TOKEN_COUNT:
                return None
            if self._counts[pair] == -negative:
                return pair
        return None

    def merge(self, pair: tuple[int, int], new: int) -> None:
        """Puts the new piece wherever the two stand side by side."""
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
    found: list[int] = []
    for id in ids:
        if found and (found[-1], id) == pair:
            found[-1] = new
        else:
            found.append(id)
    return found


def _append_tokens(
    tokenizer: Tokenizer, pieces: Sequence[str], merges: Sequence[tuple[str, str]]
) -> Tokenizer:
    """The tokenizer with more pieces after its last one, and more merges after its last one."""
    whole = json.loads(tokenizer.to_json())
    first = tokenizer.vocab_size
    whole["model"]["vocab"] |= {piece: first + place for place, piece in enumerate(pieces)}
    whole["model"]["merges"] += [list(pair) for pair in merges]
    return Tokenizer(Backend.from_str(json.dumps(whole)))
