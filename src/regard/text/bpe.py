"""A corpus as its distinct words: what is done once per word need not be done once per occurrence."""

import heapq
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64
from tokenizers import Tokenizer as Backend
from tokenizers import models, trainers

from regard.text.tokenizer import BYTE_TOKENS, Tokenizer


@dataclass(frozen=True)
class PretokenizedTexts:
    """Text i is the words `spelled[k]` for k in `at[starts[i]:starts[i + 1]]`, end to end."""

    words: list[str]
    """Each with the space before it, as the tokenizer cuts the text; pieces never cross their borders."""
    word_ids: Int64[np.ndarray, " occurrences"]
    starts: Int64[np.ndarray, " texts_and_one"]


def pretokenize(tokenizer: Tokenizer, texts: Sequence[str]) -> PretokenizedTexts:
    """The texts, in the tokenizer's own spelling, cut where it cuts them before it looks for pieces.

    The library has no call for that which is quick, but it has a model whose pieces are whole
    words; behind the tokenizer's normalizer and borders, its ids are the numbers of the words.
    """
    whole = json.loads(Backend(models.WordLevel({}, unk_token="")).to_str())["model"]
    backend = Backend.from_str(json.dumps({**json.loads(tokenizer.to_json()), "model": whole}))
    trainer = trainers.WordLevelTrainer(vocab_size=2**31, min_frequency=0, show_progress=False)
    backend.train_from_iterator(texts, trainer)
    vocab = backend.get_vocab()
    rows = [encoding.ids for encoding in backend.encode_batch_fast(list(texts))]
    starts = np.zeros(len(rows) + 1, np.int64)
    starts[1:] = np.cumsum([len(row) for row in rows])
    at = np.fromiter((word for row in rows for word in row), np.int64, starts[-1])
    return PretokenizedTexts(sorted(vocab, key=vocab.__getitem__), at, starts)


class BytePairEncoder:
    """The merges of a tokenizer, the one learnt first to be applied first."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        model = json.loads(tokenizer.to_json())["model"]
        self.vocab: dict[str, int] = model["vocab"]
        vocab = self.vocab
        self._merged = {
            (vocab[left], vocab[right]): (rank, vocab[left + right])
            for rank, (left, right) in enumerate(model["merges"])
        }
        self._bytes = [vocab[byte] for byte in BYTE_TOKENS]

    def split_characters(self, word: str) -> list[int]:
        """The word's characters, each as its piece or, where it has none, as its bytes."""
        ids: list[int] = []
        for letter in word:
            if (id := self.vocab.get(letter)) is not None:
                ids.append(id)
            else:
                ids.extend(self._bytes[byte] for byte in letter.encode("utf-8"))
        return ids

    def segment(self, word: str) -> list[int]:
        """The word's pieces, as the library finds them."""
        return self.apply_merges(self.split_characters(word), 0.0, lambda: 1.0)

    def apply_merges(self, symbols: Sequence[int], dropout: float, random: Callable[[], float]) -> list[int]:
        """The symbols after all merges, each of which is passed over with probability `dropout`.

        Provilkov et al. (2020), algorithm 1: before each merge every merge that is possible is
        dropped or not, and the first learnt of the others is applied; none left is the end. Time
        is n log n, as words may be as long as a line.
        """
        ids, end = list(symbols), len(symbols)
        after, before = list(range(1, end + 1)), list(range(-1, end - 1))
        merged = self._merged
        heap: list[tuple[int, int, int, int, int]] = []
        dropped: list[tuple[int, int, int, int, int]] = []

        def offer(left: int, right: int) -> None:
            if found := merged.get((ids[left], ids[right])):
                heapq.heappush(heap, (found[0], left, found[1], ids[left], ids[right]))

        for left in range(end - 1):
            offer(left, left + 1)
        while heap:
            possible = heapq.heappop(heap)
            _, left, new, was_left, was_right = possible
            right = after[left]
            if ids[left] != was_left or right == end or ids[right] != was_right:
                continue  # one of the two has gone into another piece
            if random() < dropout:
                dropped.append(possible)
                continue
            ids[left], ids[right] = new, MERGED_AWAY
            after[left] = right = after[right]
            if right != end:
                before[right] = left
                offer(left, right)
            if before[left] >= 0:
                offer(before[left], left)
            while dropped:
                heapq.heappush(heap, dropped.pop())
        return [id for id in ids if id != MERGED_AWAY]


MERGED_AWAY = -1
"""Stands where a symbol was that is now part of the one before it."""
