"""What was found, as the page reads it."""

from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from regard.errors import DataError
from regard.server.checkpoint_cache import ExplorerModel
from regard.trace.packing import pack_array
from regard.trace.probes import ContextComparison, PositionSurvival, sinusoid_tables
from regard.trace.tokens import TokenRenderer
from regard.trace.trace import Trace

EQUAL_COSINE = 1 - 1e-5
"""A cosine from which on two vectors are one, but for rounding."""
TABLE_LAYOUTS = {"paper": "interleaved", "halves": "halves", "tensor2tensor": "t2t"}


def neighbours_payload(
    model: ExplorerModel, word: str, count: int, side: Literal["source", "target"]
) -> dict[str, Any]:
    """The word's own piece, if it is one, and its neighbours."""
    found = model.tracer.nearest_tokens(word, count, side)
    (ids,) = model.tokenizer.tokenize([word.strip()])
    return {
        "piece": "".join(map(TokenRenderer(model.tokenizer).piece, ids)),
        "id": ids[0] if len(ids) == 1 else None,
        "neighbours": [{"id": each.id, "text": each.piece, "cosine": each.cosine} for each in found],
    }


def context_comparison_payload(word: str, comparison: ContextComparison) -> dict[str, Any]:
    """One word in two sentences: after the embedding (layer 0) and after each layer."""
    cosines = dict(zip(comparison.points, comparison.cosines, strict=True))
    ends = [cosines["embed"], *(value for point, value in cosines.items() if point.endswith(".ffn"))]
    return {
        "word": word,
        "embedding_equal": comparison.embedding >= EQUAL_COSINE,
        "embedding": comparison.embedding,
        "layers": [{"layer": layer, "cosine": cosine} for layer, cosine in enumerate(ends)],
        "points": list(comparison.points),
        "cosines": list(comparison.cosines),
        "encoded": comparison.encoded,
        "places": list(comparison.positions),
    }


def position_survival_payload(survival_by_stack: dict[str, PositionSurvival]) -> dict[str, Any]:
    """Of each stack, point by point: the mean over its words, and each word."""
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
    """The tables side by side; the model's own is one of them, or learnt, or none."""
    own = model.config.position
    learned = pack_array(model.tracer.position_table(length), "f32") if own == "learned" else None
    found = {
        TABLE_LAYOUTS[name]: pack_array(table, "f32")
        for name, table in sinusoid_tables(length, width).items()
    }
    return {"own": TABLE_LAYOUTS.get(own, own), "tables": found, "learned": learned}


KERNEL_OFFSETS = (-2, -1, 0, 1, 2)
"""The words that the convolution sees, from each word's own place."""
MIXER_DECIMALS = 6
MixingWeights = Float[np.ndarray, "length length"]


def compare_token_mixers(first: Trace, second: Trace, layer: int, head: int) -> dict[str, Any]:
    """Where the head looks in two sentences, and the fixed weights that come nearest to both.

    Nearest in the sum of squares: the mean of both for a linear layer, whose weights are any matrix; the
    mean along each diagonal for a convolution, whose weights depend on the distance alone.
    """
    sides = [first, second]
    counts = [len(trace.source.tokens) for trace in sides]
    if counts[0] != counts[1]:
        raise DataError(
            f"the sentences have {counts[0]} and {counts[1]} tokens; "
            "a linear layer over words needs equally many, so choose others"
        )
    looks = [trace.attention["encoder"][layer - 1, head - 1].astype(np.float64) for trace in sides]
    linear = (looks[0] + looks[1]) / 2
    kernel = _mean_by_offset(linear)
    convolution = _toeplitz(kernel, len(linear))
    return {
        "tokens": [[token.text for token in trace.source.tokens] for trace in sides],
        "layer": layer,
        "head": head,
        "attention": [_rounded_list(each) for each in looks],
        "linear": _rounded_list(linear),
        "convolution": {"offsets": list(KERNEL_OFFSETS), "kernel": _rounded_list(kernel)},
        "convolved": _rounded_list(convolution),
        "change": float(np.abs(looks[0] - looks[1]).max()),
        "miss": {
            "linear": [float(np.abs(each - linear).max()) for each in looks],
            "convolution": [float(np.abs(each - convolution).max()) for each in looks],
        },
    }


def _mean_by_offset(weights: MixingWeights) -> Float[np.ndarray, " offsets"]:
    """One weight for each distance."""
    within = [offset if abs(offset) < len(weights) else None for offset in KERNEL_OFFSETS]
    return np.array([0.0 if each is None else np.diagonal(weights, each).mean() for each in within])


def _toeplitz(kernel: Float[np.ndarray, " offsets"], length: int) -> MixingWeights:
    places = zip(KERNEL_OFFSETS, kernel, strict=True)
    return np.sum([weight * np.eye(length, k=offset) for offset, weight in places], axis=0)


def _rounded_list(array: np.ndarray) -> list[Any]:
    return array.round(MIXER_DECIMALS).tolist()
