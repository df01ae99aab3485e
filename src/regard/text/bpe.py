"""Byte-pair encoding of single words in Python, and texts as their distinct words.

The `tokenizers` library is faster on whole texts; here merges can be dropped (bpe_dropout) and learned
on top of old ones (vocab_extension).
"""

import heapq
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64
from tokenizers import Tokenizer as Backend
from tokenizers import models, trainers

from regard.text.tokenizer import BYTE_TOKENS, Tokenizer

MERGED_AWAY = -1
"""Stands for a symbol that became part of the one before it."""


class BytePairEncoder:
    """The merges of a tokenizer in the order in which they were learned."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        model = json.loads(tokenizer.to_json())["model"]
        self.vocab: dict[str, int] = model["vocab"]
        vocab = self.vocab
        self._merges = {
            (vocab[left], vocab[right]): (rank, vocab[left + right])
            for rank, (left, right) in enumerate(model["merges"])
        }
        self._bytes = [vocab[byte] for byte in BYTE_TOKENS]

    def split_characters(self, word: str) -> list[int]:
        """Return the word's characters as ids; a character without a token becomes its bytes."""
        ids: list[int] = []
        for character in word:
            if (id := self.vocab.get(character)) is not None:
                ids.append(id)
            else:
                ids.extend(self._bytes[byte] for byte in character.encode("utf-8"))
        return ids

    def segment(self, word: str) -> list[int]:
        """Return the ids of the word's tokens, the same as the library's."""
        return self.apply_merges(self.split_characters(word), 0.0, lambda: 1.0)

    def apply_merges(self, symbols: Sequence[int], dropout: float, random: Callable[[], float]) -> list[int]:
        """Apply the merges to the symbols, each of them dropped with probability `dropout`.

        Provilkov et al. (2020), algorithm 1: before each merge every possible merge is dropped or
        not, and the first learned of the others is applied, until none is left. Takes n log n time,
        as words may be as long as a line.
        """
        ids, end = list(symbols), len(symbols)
        after, before = list(range(1, end + 1)), list(range(-1, end - 1))
        merges = self._merges
        heap: list[tuple[int, int, int, int, int]] = []
        dropped: list[tuple[int, int, int, int, int]] = []

        def push(left: int, right: int) -> None:
            if merge := merges.get((ids[left], ids[right])):
                heapq.heappush(heap, (merge[0], left, merge[1], ids[left], ids[right]))

        for left in range(end - 1):
            push(left, left + 1)
        while heap:
            candidate = heapq.heappop(heap)
            _, left, new, old_left, old_right = candidate
            right = after[left]
            if ids[left] != old_left or right == end or ids[right] != old_right:
                continue  # one of the two was merged into another token
            if random() < dropout:
                dropped.append(candidate)
                continue
            ids[left], ids[right] = new, MERGED_AWAY
            after[left] = right = after[right]
            if right != end:
                before[right] = left
                push(left, right)
            if before[left] >= 0:
                push(before[left], left)
            while dropped:
                heapq.heappush(heap, dropped.pop())
        return [id for id in ids if id != MERGED_AWAY]


@dataclass(frozen=True)
class PretokenizedTexts:
    """Texts as distinct words: text i is words[k] for k in word_ids[starts[i]:starts[i + 1]]."""

    words: list[str]
    """Each with the space before it; tokens never cross word boundaries."""
    word_ids: Int64[np.ndarray, " occurrences"]
    starts: Int64[np.ndarray, " texts_and_one"]


def pretokenize(tokenizer: Tokenizer, texts: Sequence[str]) -> PretokenizedTexts:
    """Normalize the texts and split them into words as the tokenizer does before it applies merges.

    The library has no fast call for this, but a model whose tokens are whole words: behind the
    normalizer and pre-tokenizer of the tokenizer, its ids are the numbers of the words.
    """
    word_model = json.loads(Backend(models.WordLevel({}, unk_token="")).to_str())["model"]
    backend = Backend.from_str(json.dumps({**json.loads(tokenizer.to_json()), "model": word_model}))
    trainer = trainers.WordLevelTrainer(vocab_size=2**31, min_frequency=0, show_progress=False)
    backend.train_from_iterator(texts, trainer)
    vocab = backend.get_vocab()
    rows = [encoding.ids for encoding in backend.encode_batch_fast(list(texts))]
    starts = np.zeros(len(rows) + 1, np.int64)
    starts[1:] = np.cumsum([len(row) for row in rows])
    word_ids = np.fromiter((word for row in rows for word in row), np.int64, starts[-1])
    return PretokenizedTexts(sorted(vocab, key=vocab.__getitem__), word_ids, starts)
