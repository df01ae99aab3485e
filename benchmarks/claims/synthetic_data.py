"""Training data of the claims: the demo phrasebook, and random sequences to recall, reverse or copy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from claim_task import PaddedPairs
from regard.data.batch import pad_rows
from regard.demo.phrasebook.corpus import PhrasePair, phrasebook
from regard.text.tokenizer import BOS, EOS, SPECIAL_TOKENS, learn_tokenizer

FIRST_SYMBOL = len(SPECIAL_TOKENS)
"""The first id that is not a special token."""


@dataclass(frozen=True)
class PhrasebookBatches:
    """The phrasebook in batches; all sources of a batch have the same length."""

    vocab: int
    train: list[PaddedPairs]
    valid: list[PaddedPairs]

    def training_batch(self, number: int) -> PaddedPairs:
        """Return a training batch by number; every epoch has its own order."""
        epoch, position = divmod(number, len(self.train))
        order = torch.randperm(len(self.train), generator=torch.Generator().manual_seed(epoch))
        return self.train[int(order[position])]


@cache
def phrasebook_batches(pairs: int, vocab_size: int = 600, rows: int = 32) -> PhrasebookBatches:
    """Tokenize and batch a phrasebook with that many training pairs."""
    book = phrasebook(pairs, valid=max(64, pairs // 40), test=0)
    tokenizer = learn_tokenizer([text for pair in book.train for text in pair], vocab_size)

    def batches(pairs: Sequence[PhrasePair]) -> list[PaddedPairs]:
        sources, targets = (tokenizer.tokenize([pair[side] for pair in pairs]) for side in (0, 1))
        by_length: dict[int, list[int]] = {}
        for number, source in enumerate(sources):
            by_length.setdefault(len(source), []).append(number)
        groups = [
            numbers[first : first + rows]
            for numbers in by_length.values()
            for first in range(0, len(numbers), rows)
        ]
        return [_rows([sources[i] for i in group], [targets[i] for i in group]) for group in groups]

    return PhrasebookBatches(tokenizer.vocab_size, batches(book.train), batches(book.valid))


def _rows(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> PaddedPairs:
    return PaddedPairs(
        pad_rows([[*row, EOS] for row in sources]),
        pad_rows([[BOS, *row] for row in targets]),
        pad_rows([[*row, EOS] for row in targets]),
    )


def random_symbols(rows: int, length: int, kinds: int, seed: int) -> Tensor:
    """Return random symbols of `kinds` kinds."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(FIRST_SYMBOL, FIRST_SYMBOL + kinds, (rows, length), generator=generator)


def recall_batch(rows: int, distance: int, kinds: int, seed: int) -> PaddedPairs:
    """Return sequences of `distance` symbols; the target is the first symbol."""
    source = random_symbols(rows, distance, kinds, seed)
    return PaddedPairs(source, torch.full((rows, 1), BOS), source[:, :1])


def reversal_batch(rows: int, length: int, kinds: int, seed: int) -> PaddedPairs:
    """Return sequences whose target is the source reversed."""
    source = random_symbols(rows, length, kinds, seed)
    target = source.flip(1)
    return PaddedPairs(source, torch.cat([torch.full((rows, 1), BOS), target[:, :-1]], dim=1), target)


def copy_batch(rows: int, length: int, kinds: int, seed: int) -> PaddedPairs:
    """Return sequences whose target is the source."""
    source = random_symbols(rows, length, kinds, seed)
    return PaddedPairs(source, torch.cat([torch.full((rows, 1), BOS), source[:, :-1]], dim=1), source)


def seeded_batches(make: Callable[[int], PaddedPairs], seed: int) -> Callable[[int], PaddedPairs]:
    """Return batches by number, each with its own seed above 1,000; validation uses seeds below."""
    return lambda number: make(int(np.random.SeedSequence([seed, number]).generate_state(1)[0]) + 1000)
