"""Words as vectors: which lie near one another, and what context makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cosine_similarity

from regard.errors import DataError
from regard.text.tokenizer import SMALLEST, Tokenizer
from regard.trace.capture import Captured
from regard.trace.tokens import Names


class Neighbour(NamedTuple):
    """A piece, and how near it lies."""

    id: int
    piece: str
    cosine: float


@torch.inference_mode()
def neighbours(
    table: Float[Tensor, "vocab d_model"], tokenizer: Tokenizer, word: str, count: int = 10
) -> list[Neighbour]:
    """The pieces whose rows point the same way as the word's, the nearest first.

    A word of several pieces is their mean. Marks and single bytes are no words, and are left out.
    """
    ids = _ids(tokenizer, word)
    near = cosine_similarity(table, table[ids].mean(dim=0)[None], dim=1)
    near[:SMALLEST] = near[ids] = -torch.inf
    values, found = near.topk(min(count, int((near > -torch.inf).sum())))
    return [
        Neighbour(id, Names(tokenizer).piece(id), value)
        for id, value in zip(found.tolist(), values.tolist(), strict=True)
    ]


@dataclass(frozen=True)
class InTwoContexts:
    """One word in two sentences: how alike its vectors are, as cosines."""

    places: tuple[int, int]
    """Its first token in the one and in the other, from 0."""
    embedding: float
    """Of its rows in the table: the same row, so 1."""
    points: tuple[str, ...]
    """embed (with positions), 1.self, 1.ffn, and so on."""
    cosines: tuple[float, ...]
    """After each of these."""
    encoded: float
    """Of what the decoder sees."""


@torch.inference_mode()
def in_two_contexts(
    table: Float[Tensor, "vocab d_model"],
    tokenizer: Tokenizer,
    word: str,
    sentences: tuple[Sequence[int], Sequence[int]],
    captured: tuple[Captured, Captured],
) -> InTwoContexts:
    """The word's vectors side by side, from the embedding up; pieces of a word are averaged."""
    ids = _ids(tokenizer, word)
    places = (_find(ids, sentences[0], word), _find(ids, sentences[1], word))

    def alike(one: Tensor, other: Tensor) -> float:
        vectors = [
            each[place : place + len(ids)].mean(dim=0)
            for each, place in zip((one, other), places, strict=True)
        ]
        return float(cosine_similarity(vectors[0], vectors[1], dim=0))

    first, second = captured
    rows = [table[list(sentence)] for sentence in sentences]
    pairs = zip(first.encoder, second.encoder, strict=True)
    return InTwoContexts(
        places,
        alike(*rows),
        ("embed", *(each.name for each in first.encoder)),
        (
            alike(first.source_embedded, second.source_embedded),
            *(alike(one.stream, other.stream) for one, other in pairs),
        ),
        alike(first.encoded, second.encoded),
    )


def _ids(tokenizer: Tokenizer, word: str) -> list[int]:
    (ids,) = tokenizer.tokenize([word.strip()])
    if not ids:
        raise DataError("the word is blank; give one")
    return ids


def _find(ids: Sequence[int], sentence: Sequence[int], word: str) -> int:
    starts = range(len(sentence) - len(ids) + 1)
    found = next((at for at in starts if list(sentence[at : at + len(ids)]) == list(ids)), None)
    if found is None:
        raise DataError(f"{word!r} is not in both sentences in the same pieces; write it alike in both")
    return found
