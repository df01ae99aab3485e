"""Probes of embeddings and positions: nearest neighbours, one word in two contexts, word order."""

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
    """A vocabulary entry and its cosine similarity."""

    id: int
    piece: str
    cosine: float


@torch.inference_mode()
def nearest_neighbours(
    table: Float[Tensor, "vocab d_model"], tokenizer: Tokenizer, word: str, count: int = 10
) -> list[EmbeddingNeighbour]:
    """Return the tokens with the highest cosine similarity to a word's embedding.

    A word of several tokens is their mean. Special tokens and single bytes are left out.
    """
    ids = _tokenize_word(tokenizer, word)
    similarity = cosine_similarity(table, table[ids].mean(dim=0)[None], dim=1)
    similarity[:BASE_VOCAB_SIZE] = similarity[ids] = -torch.inf
    values, neighbours = similarity.topk(min(count, int((similarity > -torch.inf).sum())))
    return [
        EmbeddingNeighbour(id, TokenRenderer(tokenizer).piece(id), value)
        for id, value in zip(neighbours.tolist(), values.tolist(), strict=True)
    ]


@dataclass(frozen=True)
class ContextComparison:
    """One word in two sentences: the cosine similarity of its vectors."""

    positions: tuple[int, int]
    """Index of its first token in each sentence."""
    embedding: float
    """Of its rows in the embedding table: the same row, so 1."""
    points: tuple[str, ...]
    """embed (with positions), 1.self, 1.ffn, ..."""
    cosines: tuple[float, ...]
    """After each of these points."""
    encoded: float
    """Of the encoder's output."""


@torch.inference_mode()
def compare_contexts(
    table: Float[Tensor, "vocab d_model"],
    tokenizer: Tokenizer,
    word: str,
    sentences: tuple[Sequence[int], Sequence[int]],
    captures: tuple[ForwardCapture, ForwardCapture],
) -> ContextComparison:
    """Compare a word's vectors in two sentences, point by point; the tokens of a word are averaged."""
    ids = _tokenize_word(tokenizer, word)
    starts = (_find_word(ids, sentences[0], word), _find_word(ids, sentences[1], word))

    def similarity(one: Tensor, other: Tensor) -> float:
        vectors = [
            each[start : start + len(ids)].mean(dim=0)
            for each, start in zip((one, other), starts, strict=True)
        ]
        return float(cosine_similarity(vectors[0], vectors[1], dim=0))

    first, second = captures
    rows = [table[list(sentence)] for sentence in sentences]
    pairs = zip(first.encoder, second.encoder, strict=True)
    return ContextComparison(
        starts,
        similarity(*rows),
        ("embed", *(each.name for each in first.encoder)),
        (
            similarity(first.source_embedded, second.source_embedded),
            *(similarity(one.stream, other.stream) for one, other in pairs),
        ),
        similarity(first.encoded, second.encoded),
    )


def _tokenize_word(tokenizer: Tokenizer, word: str) -> list[int]:
    (ids,) = tokenizer.tokenize([word.strip()])
    if not ids:
        raise DataError("the word is blank; give one")
    return ids


def _find_word(ids: Sequence[int], sentence: Sequence[int], word: str) -> int:
    starts = range(len(sentence) - len(ids) + 1)
    start = next((i for i in starts if list(sentence[i : i + len(ids)]) == list(ids)), None)
    if start is None:
        raise DataError(
            f"{word!r} is not in both sentences with the same tokens; write it the same way in both"
        )
    return start


def sinusoid_tables(length: int, d_model: int) -> dict[str, Float[np.ndarray, "length d_model"]]:
    """Return the three layouts of the sinusoidal positional encoding that are in use."""
    return {
        "paper": paper_position_table(length, d_model).numpy(),
        "tensor2tensor": get_timing_signal_1d(length, d_model)[0].numpy(),
        "halves": halves_position_table(length, d_model).numpy(),
    }


class PositionSurvival(NamedTuple):
    """How much of the positional encoding is left in the residual stream of a stack."""

    points: tuple[str, ...]
    cosine: Float[np.ndarray, "points length"]
    """Of vector and position vector, both centred over the sentence."""
    projection: Float[np.ndarray, "points length"]
    """Coefficient of the position vector in the vector; 1 where it was added."""


@torch.inference_mode()
def measure_position_survival(
    table: Float[Tensor, "positions d_model"],
    embedded: Float[Tensor, "length d_model"],
    sublayers: tuple[SublayerCapture, ...],
) -> PositionSurvival:
    """Measure it at every point. Vectors are centred because a common mean distinguishes no positions."""
    encoding = _centred(table[: len(embedded)].float())
    length = encoding.norm(dim=1)
    cosine, projection = [], []
    for stream in (embedded, *(each.stream for each in sublayers)):
        vectors = _centred(stream.float())
        dot = (vectors * encoding).sum(dim=1)
        cosine.append(_safe_ratio(dot, vectors.norm(dim=1) * length))
        projection.append(_safe_ratio(dot, length**2))
    names = ("embed", *(each.name for each in sublayers))
    return PositionSurvival(names, torch.stack(cosine).cpu().numpy(), torch.stack(projection).cpu().numpy())


def _centred(vectors: Float[Tensor, "length d_model"]) -> Float[Tensor, "length d_model"]:
    return vectors - vectors.mean(dim=0)


def _safe_ratio(part: Float[Tensor, " length"], whole: Float[Tensor, " length"]) -> Float[Tensor, " length"]:
    """Return part / whole, and 0 where `whole` is 0."""
    return torch.where(whole > 1e-12, part / whole.clamp(min=1e-12), 0.0)


@dataclass(frozen=True)
class WordOrderComparison:
    """One sentence in two word orders: largest absolute differences of the outputs."""

    token_differences: tuple[float, ...]
    """Of each token's encoder output, compared with the same token in the other order."""
    mean_difference: float
    """Of the mean encoder output."""
    probability_difference: float
    """Of the distribution over the first target token."""
    first_tokens: tuple[int, int]
    """The most probable first token in each order."""
    first_probabilities: tuple[float, float]


def reverse_word_order(words: Sequence[int | None]) -> list[int]:
    """Return token indexes with the words reversed and the tokens inside each word in order.

    Special tokens, which belong to no word, come last.
    """
    by_word: dict[int, list[int]] = {}
    for index, word in enumerate(words):
        if word is not None:
            by_word.setdefault(word, []).append(index)
    specials = [index for index, word in enumerate(words) if word is None]
    return [index for word in sorted(by_word, reverse=True) for index in by_word[word]] + specials


@torch.inference_mode()
def compare_word_order(
    model: Transformer, source: Int[Tensor, "1 source"], order: Sequence[int], bos: int
) -> WordOrderComparison:
    """Compare the model's outputs for a sentence and for its tokens in the given order."""
    keep = torch.ones_like(source, dtype=torch.bool)
    target_in = torch.full((1, 1), bos, device=source.device)
    permutation = torch.tensor(order, device=source.device)
    one, other = (
        capture_forward(model, source, keep, target_in),
        capture_forward(model, source[:, permutation], keep, target_in),
    )
    restored = torch.empty_like(other.encoded)
    restored[permutation] = other.encoded
    probabilities = [each.logits[0].float().softmax(dim=0) for each in (one, other)]
    return WordOrderComparison(
        token_differences=tuple(_largest_difference(one.encoded, restored).tolist()),
        mean_difference=float(
            _largest_difference(one.encoded.mean(dim=0)[None], other.encoded.mean(dim=0)[None])
        ),
        probability_difference=float((probabilities[0] - probabilities[1]).abs().max()),
        first_tokens=(int(probabilities[0].argmax()), int(probabilities[1].argmax())),
        first_probabilities=(float(probabilities[0].max()), float(probabilities[1].max())),
    )


def _largest_difference(
    one: Float[Tensor, "n d_model"], other: Float[Tensor, "n d_model"]
) -> Float[Tensor, " n"]:
    return (one - other).abs().amax(dim=1)
