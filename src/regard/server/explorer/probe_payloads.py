"""JSON payloads of the probes: neighbours, contexts, positions, and attention beside fixed mixers."""

from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from regard.errors import DataError
from regard.server.explorer.checkpoint_cache import ExplorerModel
from regard.trace.packing import pack_array
from regard.trace.probes import ContextComparison, PositionSurvival, sinusoid_tables
from regard.trace.tokens import TokenRenderer
from regard.trace.trace import Trace

EQUAL_COSINE = 1 - 1e-5
"""Cosine from which two vectors count as equal, up to rounding."""
TABLE_LAYOUTS = {"paper": "interleaved", "halves": "halves", "tensor2tensor": "t2t"}


def neighbours_payload(
    model: ExplorerModel, word: str, count: int, side: Literal["source", "target"]
) -> dict[str, Any]:
    """Return the word's tokens, its id if it is one token, and its nearest neighbours."""
    neighbours = model.tracer.nearest_tokens(word, count, side)
    (ids,) = model.tokenizer.tokenize([word.strip()])
    return {
        "piece": "".join(map(TokenRenderer(model.tokenizer).piece, ids)),
        "id": ids[0] if len(ids) == 1 else None,
        "neighbours": [{"id": each.id, "text": each.piece, "cosine": each.cosine} for each in neighbours],
    }


def context_comparison_payload(word: str, comparison: ContextComparison) -> dict[str, Any]:
    """Return the similarity of a word in two sentences, after the embedding (layer 0) and each layer."""
    cosines = dict(zip(comparison.points, comparison.cosines, strict=True))
    layer_cosines = [cosines["embed"], *(value for point, value in cosines.items() if point.endswith(".ffn"))]
    return {
        "word": word,
        "embedding_equal": comparison.embedding >= EQUAL_COSINE,
        "embedding": comparison.embedding,
        "layers": [{"layer": layer, "cosine": cosine} for layer, cosine in enumerate(layer_cosines)],
        "points": list(comparison.points),
        "cosines": list(comparison.cosines),
        "encoded": comparison.encoded,
        "positions": list(comparison.positions),
    }


def position_survival_payload(survival_by_stack: dict[str, PositionSurvival]) -> dict[str, Any]:
    """Return the survival of positions by stack and point: the mean over tokens and each token."""
    return {
        stack: {
            "points": list(each.points),
            "mean": each.cosine.mean(axis=1).tolist(),
            "cosine": each.cosine.tolist(),
            "projection": each.projection.tolist(),
        }
        for stack, each in survival_by_stack.items()
    }


def position_tables_payload(model: ExplorerModel, length: int, width: int) -> dict[str, Any]:
    """Return the sinusoidal tables, the name of the model's own encoding, and its table if it is learned."""
    own = model.config.position
    learned = pack_array(model.tracer.position_table(length), "f32") if own == "learned" else None
    tables = {
        TABLE_LAYOUTS[name]: pack_array(table, "f32")
        for name, table in sinusoid_tables(length, width).items()
    }
    return {"own": TABLE_LAYOUTS.get(own, own), "tables": tables, "learned": learned}


KERNEL_OFFSETS = (-2, -1, 0, 1, 2)
"""Relative positions that the convolution sees."""
MIXER_DECIMALS = 6
MixingWeights = Float[np.ndarray, "length length"]


def compare_token_mixers(first: Trace, second: Trace, layer: int, head: int) -> dict[str, Any]:
    """Return a head's weights on two sentences, and the least-squares fit of fixed weights to both.

    The fit of a linear layer over positions is the mean of both matrices; that of a convolution, whose
    weights depend on the relative position only, the mean along each diagonal.
    """
    sides = [first, second]
    counts = [len(trace.source.tokens) for trace in sides]
    if counts[0] != counts[1]:
        raise DataError(
            f"the sentences have {counts[0]} and {counts[1]} tokens; "
            "a linear layer over tokens needs the same number, so choose others"
        )
    weights = [trace.attention["encoder"][layer - 1, head - 1].astype(np.float64) for trace in sides]
    linear = (weights[0] + weights[1]) / 2
    kernel = _mean_by_offset(linear)
    convolution = _toeplitz(kernel, len(linear))
    return {
        "tokens": [[token.text for token in trace.source.tokens] for trace in sides],
        "layer": layer,
        "head": head,
        "attention": [_rounded_list(each) for each in weights],
        "linear": _rounded_list(linear),
        "convolution": {"offsets": list(KERNEL_OFFSETS), "kernel": _rounded_list(kernel)},
        "convolved": _rounded_list(convolution),
        "change": float(np.abs(weights[0] - weights[1]).max()),
        "max_error": {
            "linear": [float(np.abs(each - linear).max()) for each in weights],
            "convolution": [float(np.abs(each - convolution).max()) for each in weights],
        },
    }


def _mean_by_offset(weights: MixingWeights) -> Float[np.ndarray, " offsets"]:
    """Return one weight per relative position."""
    offsets = [offset if abs(offset) < len(weights) else None for offset in KERNEL_OFFSETS]
    return np.array([0.0 if each is None else np.diagonal(weights, each).mean() for each in offsets])


def _toeplitz(kernel: Float[np.ndarray, " offsets"], length: int) -> MixingWeights:
    pairs = zip(KERNEL_OFFSETS, kernel, strict=True)
    return np.sum([weight * np.eye(length, k=offset) for offset, weight in pairs], axis=0)


def _rounded_list(array: np.ndarray) -> list[Any]:
    return array.round(MIXER_DECIMALS).tolist()
