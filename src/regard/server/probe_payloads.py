"""What was found, as the page reads it."""

from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from regard.errors import DataError
from regard.server.checkpoint_cache import Model
from regard.trace.packing import pack
from regard.trace.probes import InTwoContexts, Survival, tables
from regard.trace.tokens import Names
from regard.trace.trace import Trace

SAME = 1 - 1e-5
"""A cosine from which on two vectors are one, but for rounding."""
LAYOUTS = {"paper": "interleaved", "halves": "halves", "tensor2tensor": "t2t"}


def near(model: Model, word: str, count: int, side: Literal["source", "target"]) -> dict[str, Any]:
    """The word's own piece, if it is one, and its neighbours."""
    found = model.tracer.neighbours(word, count, side)
    (ids,) = model.tokenizer.tokenize([word.strip()])
    return {
        "piece": "".join(map(Names(model.tokenizer).piece, ids)),
        "id": ids[0] if len(ids) == 1 else None,
        "neighbours": [{"id": each.id, "text": each.piece, "cosine": each.cosine} for each in found],
    }


def alike(word: str, found: InTwoContexts) -> dict[str, Any]:
    """One word in two sentences: after the embedding (layer 0) and after each layer."""
    cosines = dict(zip(found.points, found.cosines, strict=True))
    ends = [cosines["embed"], *(value for point, value in cosines.items() if point.endswith(".ffn"))]
    return {
        "word": word,
        "embedding_equal": found.embedding >= SAME,
        "embedding": found.embedding,
        "layers": [{"layer": layer, "cosine": cosine} for layer, cosine in enumerate(ends)],
        "points": list(found.points),
        "cosines": list(found.cosines),
        "encoded": found.encoded,
        "places": list(found.places),
    }


def survived(found: dict[str, Survival]) -> dict[str, Any]:
    """Of each stack, point by point: the mean over its words, and each word."""
    return {
        stack: {
            "points": list(each.points),
            "mean": each.cosine.mean(axis=1).tolist(),
            "cosine": each.cosine.tolist(),
            "projection": each.projection.tolist(),
        }
        for stack, each in found.items()
    }


def positions(model: Model, length: int, width: int) -> dict[str, Any]:
    """The tables side by side; the model's own is one of them, or learnt, or none."""
    own = model.config.position
    learned = pack(model.tracer.positions(length), "f32") if own == "learned" else None
    found = {LAYOUTS[name]: pack(table, "f32") for name, table in tables(length, width).items()}
    return {"own": LAYOUTS.get(own, own), "tables": found, "learned": learned}


OFFSETS = (-2, -1, 0, 1, 2)
"""The words that the convolution sees, from each word's own place."""
DIGITS = 6
Weights = Float[np.ndarray, "length length"]


def mixers(first: Trace, second: Trace, layer: int, head: int) -> dict[str, Any]:
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
    kernel = _kernel(linear)
    convolution = _spread(kernel, len(linear))
    return {
        "tokens": [[token.text for token in trace.source.tokens] for trace in sides],
        "layer": layer,
        "head": head,
        "attention": [_plain(each) for each in looks],
        "linear": _plain(linear),
        "convolution": {"offsets": list(OFFSETS), "kernel": _plain(kernel)},
        "convolved": _plain(convolution),
        "change": float(np.abs(looks[0] - looks[1]).max()),
        "miss": {
            "linear": [float(np.abs(each - linear).max()) for each in looks],
            "convolution": [float(np.abs(each - convolution).max()) for each in looks],
        },
    }


def _kernel(weights: Weights) -> Float[np.ndarray, " offsets"]:
    """One weight for each distance."""
    within = [offset if abs(offset) < len(weights) else None for offset in OFFSETS]
    return np.array([0.0 if each is None else np.diagonal(weights, each).mean() for each in within])


def _spread(kernel: Float[np.ndarray, " offsets"], length: int) -> Weights:
    places = zip(OFFSETS, kernel, strict=True)
    return np.sum([weight * np.eye(length, k=offset) for offset, weight in places], axis=0)


def _plain(array: np.ndarray) -> list[Any]:
    return array.round(DIGITS).tolist()
