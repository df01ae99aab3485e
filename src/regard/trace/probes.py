"""Words as vectors: which lie near one another, and what context makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cosine_similarity

from regard.errors import DataError
from regard.model.position import get_timing_signal_1d, halves_position_table, paper_position_table
from regard.model.transformer import Transformer
from regard.text.tokenizer import BASE_VOCAB_SIZE, Tokenizer
from regard.trace.capture import ForwardCapture, SublayerCapture, capture_forward
from regard.trace.tokens import TokenRenderer


class EmbeddingNeighbour(NamedTuple):
    """A piece, and how near it lies."""

    id: int
    piece: str
    cosine: float


@torch.inference_mode()
def nearest_neighbours(
    table: Float[Tensor, "vocab d_model"], tokenizer: Tokenizer, word: str, count: int = 10
) -> list[EmbeddingNeighbour]:
    """The pieces whose rows point the same way as the word's, the nearest first.

    A word of several pieces is their mean. Marks and single bytes are no words, and are left out.
    """
    ids = _tokenize_word(tokenizer, word)
    near = cosine_similarity(table, table[ids].mean(dim=0)[None], dim=1)
    near[:BASE_VOCAB_SIZE] = near[ids] = -torch.inf
    values, found = near.topk(min(count, int((near > -torch.inf).sum())))
    return [
        EmbeddingNeighbour(id, TokenRenderer(tokenizer).piece(id), value)
        for id, value in zip(found.tolist(), values.tolist(), strict=True)
    ]


@dataclass(frozen=True)
class ContextComparison:
    """One word in two sentences: how alike its vectors are, as cosines."""

    positions: tuple[int, int]
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
def compare_contexts(
    table: Float[Tensor, "vocab d_model"],
    tokenizer: Tokenizer,
    word: str,
    sentences: tuple[Sequence[int], Sequence[int]],
    captures: tuple[ForwardCapture, ForwardCapture],
) -> ContextComparison:
    """The word's vectors side by side, from the embedding up; pieces of a word are averaged."""
    ids = _tokenize_word(tokenizer, word)
    places = (_find_word(ids, sentences[0], word), _find_word(ids, sentences[1], word))

    def alike(one: Tensor, other: Tensor) -> float:
        vectors = [
            each[place : place + len(ids)].mean(dim=0)
            for each, place in zip((one, other), places, strict=True)
        ]
        return float(cosine_similarity(vectors[0], vectors[1], dim=0))

    first, second = captures
    rows = [table[list(sentence)] for sentence in sentences]
    pairs = zip(first.encoder, second.encoder, strict=True)
    return ContextComparison(
        places,
        alike(*rows),
        ("embed", *(each.name for each in first.encoder)),
        (
            alike(first.source_embedded, second.source_embedded),
            *(alike(one.stream, other.stream) for one, other in pairs),
        ),
        alike(first.encoded, second.encoded),
    )


def _tokenize_word(tokenizer: Tokenizer, word: str) -> list[int]:
    (ids,) = tokenizer.tokenize([word.strip()])
    if not ids:
        raise DataError("the word is blank; give one")
    return ids


def _find_word(ids: Sequence[int], sentence: Sequence[int], word: str) -> int:
    starts = range(len(sentence) - len(ids) + 1)
    found = next((at for at in starts if list(sentence[at : at + len(ids)]) == list(ids)), None)
    if found is None:
        raise DataError(f"{word!r} is not in both sentences in the same pieces; write it alike in both")
    return found


def sinusoid_tables(length: int, d_model: int) -> dict[str, Float[np.ndarray, "length d_model"]]:
    """Every sinusoid found under the name of positional encoding."""
    return {
        "paper": paper_position_table(length, d_model).numpy(),
        "tensor2tensor": get_timing_signal_1d(length, d_model)[0].numpy(),
        "halves": halves_position_table(length, d_model).numpy(),
    }


class PositionSurvival(NamedTuple):
    """How much of the positions is left in what passes through a stack."""

    points: tuple[str, ...]
    cosine: Float[np.ndarray, "points length"]
    """Of the vector and its position's, both less their mean over the sentence."""
    projection: Float[np.ndarray, "points length"]
    """How many times the position's vector is in it; 1 where it was added."""


@torch.inference_mode()
def measure_position_survival(
    table: Float[Tensor, "positions d_model"],
    embedded: Float[Tensor, "length d_model"],
    sublayers: tuple[SublayerCapture, ...],
) -> PositionSurvival:
    """Point by point. Means are taken away because they tell no position from another."""
    own = _centred(table[: len(embedded)].float())
    size = own.norm(dim=1)
    cosine, projection = [], []
    for stream in (embedded, *(each.stream for each in sublayers)):
        vectors = _centred(stream.float())
        shared = (vectors * own).sum(dim=1)
        cosine.append(_safe_ratio(shared, vectors.norm(dim=1) * size))
        projection.append(_safe_ratio(shared, size**2))
    names = ("embed", *(each.name for each in sublayers))
    return PositionSurvival(names, torch.stack(cosine).cpu().numpy(), torch.stack(projection).cpu().numpy())


def _centred(vectors: Float[Tensor, "length d_model"]) -> Float[Tensor, "length d_model"]:
    return vectors - vectors.mean(dim=0)


def _safe_ratio(part: Float[Tensor, " length"], whole: Float[Tensor, " length"]) -> Float[Tensor, " length"]:
    """Nothing of nothing is nothing."""
    return torch.where(whole > 1e-12, part / whole.clamp(min=1e-12), 0.0)


@dataclass(frozen=True)
class WordOrderComparison:
    """One sentence in two orders, as largest differences of any number, each word with itself."""

    token_differences: tuple[float, ...]
    """Of the encoder's vector of each token."""
    mean_difference: float
    """Of the mean of these vectors."""
    probability_difference: float
    """Of the distribution over the first target token: a read-out that sees all words alike."""
    first_tokens: tuple[int, int]
    """The likeliest first token, in the one order and in the other."""
    first_probabilities: tuple[float, float]


def reverse_word_order(words: Sequence[int | None]) -> list[int]:
    """The places of the tokens when the words come in reverse, each word's own tokens in their order.

    Marks, which belong to no word, stay behind all words.
    """
    by_word: dict[int, list[int]] = {}
    for place, word in enumerate(words):
        if word is not None:
            by_word.setdefault(word, []).append(place)
    marks = [place for place, word in enumerate(words) if word is None]
    return [place for word in sorted(by_word, reverse=True) for place in by_word[word]] + marks


@torch.inference_mode()
def compare_word_order(
    model: Transformer, source: Int[Tensor, "1 source"], order: Sequence[int], bos: int
) -> WordOrderComparison:
    """The sentence as it is and with its tokens in that order."""
    keep = torch.ones_like(source, dtype=torch.bool)
    begin = torch.full((1, 1), bos, device=source.device)
    places = torch.tensor(order, device=source.device)
    one, other = (
        capture_forward(model, source, keep, begin),
        capture_forward(model, source[:, places], keep, begin),
    )
    back = torch.empty_like(other.encoded)
    back[places] = other.encoded
    chances = [each.logits[0].float().softmax(dim=0) for each in (one, other)]
    return WordOrderComparison(
        token_differences=tuple(_largest_difference(one.encoded, back).tolist()),
        mean_difference=float(
            _largest_difference(one.encoded.mean(dim=0)[None], other.encoded.mean(dim=0)[None])
        ),
        probability_difference=float((chances[0] - chances[1]).abs().max()),
        first_tokens=(int(chances[0].argmax()), int(chances[1].argmax())),
        first_probabilities=(float(chances[0].max()), float(chances[1].max())),
    )


def _largest_difference(
    one: Float[Tensor, "n d_model"], other: Float[Tensor, "n d_model"]
) -> Float[Tensor, " n"]:
    return (one - other).abs().amax(dim=1)
