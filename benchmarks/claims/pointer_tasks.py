"""Rows in which the answer at each word stands elsewhere: so many words before, or where the word points."""

import torch
from torch import Tensor

from claim_task import Rows
from regard.text.tokenizer import PAD
from synthetic_data import FIRST, symbols

LENGTH, KINDS = 12, 4
WORDS = LENGTH * KINDS
"""A word is a place to point at and a symbol to be asked for."""
VOCAB, ANSWERS = FIRST + WORDS, FIRST + KINDS**2


def away(rows: int, distance: int, seed: int) -> Rows:
    """Which symbol stood so many words before? None is asked for where there is none."""
    source = symbols(rows, LENGTH, WORDS, seed)
    return Rows(source, source, _before(symbol(source), distance))


def pointed(rows: int, seed: int) -> Rows:
    """Which symbol stands where this word points?"""
    source = symbols(rows, LENGTH, WORDS, seed)
    return Rows(source, source, FIRST + symbol(source).gather(1, (source - FIRST) // KINDS))


def both(rows: int, seed: int) -> Rows:
    """Which symbols stood two words before and five words before? One answer for each pair of them."""
    source = symbols(rows, LENGTH, WORDS, seed)
    near, far = (_before(symbol(source), distance) for distance in (2, 5))
    return Rows(source, source, torch.where(far == PAD, PAD, (near - FIRST) * KINDS + far))


def symbol(source: Tensor) -> Tensor:
    return (source - FIRST) % KINDS


def _before(symbols: Tensor, distance: int) -> Tensor:
    answer = torch.full_like(symbols, PAD)
    answer[:, distance:] = FIRST + symbols[:, :-distance]
    return answer
