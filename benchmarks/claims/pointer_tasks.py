"""Tasks whose target at each word is a symbol elsewhere: some words before, or where the word points."""

import torch
from torch import Tensor

from claim_task import PaddedPairs
from regard.text.tokenizer import PAD
from synthetic_data import FIRST_SYMBOL, random_symbols

LENGTH, KINDS = 12, 4
WORDS = LENGTH * KINDS
"""A word encodes a position that it points to and a symbol."""
VOCAB, ANSWERS = FIRST_SYMBOL + WORDS, FIRST_SYMBOL + KINDS**2


def symbol_at_distance(rows: int, distance: int, seed: int) -> PaddedPairs:
    """Return batches whose target is the symbol `distance` words before; none where there is none."""
    source = random_symbols(rows, LENGTH, WORDS, seed)
    return PaddedPairs(source, source, _shifted_answer(word_symbol(source), distance))


def symbol_at_pointer(rows: int, seed: int) -> PaddedPairs:
    """Return batches whose target is the symbol at the position that the word points to."""
    source = random_symbols(rows, LENGTH, WORDS, seed)
    return PaddedPairs(
        source, source, FIRST_SYMBOL + word_symbol(source).gather(1, (source - FIRST_SYMBOL) // KINDS)
    )


def two_symbols_at_distances(rows: int, seed: int) -> PaddedPairs:
    """Return batches whose target is the pair of symbols two and five words before."""
    source = random_symbols(rows, LENGTH, WORDS, seed)
    near, far = (_shifted_answer(word_symbol(source), distance) for distance in (2, 5))
    return PaddedPairs(source, source, torch.where(far == PAD, PAD, (near - FIRST_SYMBOL) * KINDS + far))


def word_symbol(source: Tensor) -> Tensor:
    return (source - FIRST_SYMBOL) % KINDS


def _shifted_answer(symbols: Tensor, distance: int) -> Tensor:
    answer = torch.full_like(symbols, PAD)
    answer[:, distance:] = FIRST_SYMBOL + symbols[:, :-distance]
    return answer
